"""What must hold after every step, checked where a step could break it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reconciler.model.entry import Intent, Resolved, Settled
from reconciler.model.record import Status
from support.simulation.sim_clocks import SKEW
from support.simulation.sim_service import Existing, Promise, SimService, Violation, routes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reconciler.applying.context import Limits
    from reconciler.applying.protocol import TargetRun
    from reconciler.model.address import TargetName
    from reconciler.model.entry import AnyEntry
    from reconciler.model.outcome import Outcome
    from reconciler.state.journal.chain import Journal
    from support.simulation.sim_clocks import Clocks
    from support.simulation.sim_machine import Machine


@dataclass
class _Attempt:
    """An attempt from its beginning on: when, and how long the clocks of its machine had stood still by then.

    `machine` is its name, and `kept` are the attempts that it knew of then, from its disk; `seen` are those of the
    records it had read when the last call left.
    """

    machine: str

    time: float
    stood_still: float
    kept: frozenset[str]
    seen: frozenset[str] = frozenset()


@dataclass
class Promises:
    """Watches the journals and the service. Times are seconds of the simulation.

    `excused` are attempts of which a person said what is not so, or that were sent by a machine whose clocks stood
    still: no program can know either. `lossy`: some record has lost entries, which only those know who had seen
    them. `given_up` are attempts that were lost for good: a person has accepted that they may be created again.
    """

    service: SimService
    limits: Limits
    time: Callable[[], float]
    intents: dict[str, Intent] = field(default_factory=dict)
    journals: dict[str, Journal] = field(default_factory=dict)
    excused: set[str] = field(default_factory=set)
    lossy: bool = False
    given_up: set[str] = field(default_factory=set)
    _begun: dict[str, _Attempt] = field(default_factory=dict)
    _seen: dict[str, set[str]] = field(default_factory=dict)
    _open: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    _told: set[tuple[str, Outcome]] = field(default_factory=set)
    _resolved: dict[str, float] = field(default_factory=dict)
    _ever_told: set[tuple[str, str]] = field(default_factory=set)
    _lost: set[str] = field(default_factory=set)
    _beyond: dict[str, set[str]] = field(default_factory=dict)
    _on_leave: dict[str, set[str]] = field(default_factory=dict)

    def watch(self, before: Journal, after: Journal, entries: Sequence[AnyEntry]) -> None:
        """A journal has grown."""
        if not after.contains(before.head, len(before.lines)) or len(after.lines) <= len(before.lines):
            raise Violation(Promise.SOUND, "the journal has lost entries")
        self.journals[after.target] = after
        for entry in entries:
            if isinstance(entry, Intent):
                self._intend(entry, after)
                self.given_up.discard(entry.attempt)
            elif isinstance(entry, Settled):
                self._settle(entry)
            elif isinstance(entry, Resolved):
                self._resolved.setdefault(entry.attempt, self.time())
        self._check_recorded(after)

    def lose(self, journal: Journal) -> None:
        """A record was replaced by an older one of itself."""
        self.lossy = True
        self._lost |= self._held(self.journals[journal.target]) if journal.target in self.journals else set()
        self.journals[journal.target] = journal
        for (target, _), still_open in self._open.items():
            if target == journal.target:
                still_open.intersection_update(journal.record().attempts)
        there = {(entry.attempt, entry.outcome) for entry, _ in journal.lines if isinstance(entry, Settled)}
        self._told = {told for told in self._told if self.intents[told[0]].address.target != journal.target} | there

    def give_up(self, target: TargetName) -> None:
        """A person accepts that what the record has lost, and does not hold by now, is lost for good."""
        held = self._held(self.journals[target]) if target in self.journals else set()
        self.given_up |= {one for one in self._lost - held if self.intents[one].address.target == target}

    def see(self, machine: str, journal: Journal) -> None:
        """A machine has read a record: from now on it must not create again what that record holds."""
        self._seen.setdefault(machine, set()).update(journal.record().attempts)

    def begin(self, attempt: str, machine: Machine, time: float) -> None:
        """An attempt gets its id, just before its intent is written."""
        kept = machine.disk.known_to_exist()
        self._begun[attempt] = _Attempt(machine.name, time, machine.clocks.stood_still, kept)

    def may_send(self, attempt: str, time: float, clocks: Clocks) -> None:
        """A call is leaving."""
        if attempt not in self.intents:
            raise Violation(Promise.INTENT_FIRST, f"attempt {attempt} is sent before its intent is durable")
        begun = self._begun[attempt]
        begun.seen = frozenset(self._seen.get(begun.machine, ()))
        since = time - begun.time
        by_its_clock = since - (clocks.stood_still - begun.stood_still)
        if by_its_clock >= self.limits.send_window:
            raise Violation(Promise.IN_TIME, f"attempt {attempt} is sent too late")
        wall = clocks.read(time).wall
        if wall >= self.intents[attempt].send_by:
            raise Violation(Promise.IN_TIME, f"attempt {attempt} is sent too late by the wall clock")
        asleep = clocks.stood_still - begun.stood_still
        if not self.lossy and time - self._resolved.get(attempt, time) > self.limits.freshness + asleep:
            raise Violation(Promise.FRESH, f"attempt {attempt} is sent long after somebody has settled it")
        if since > self.limits.send_window and clocks.behind > SKEW:
            self.excused.add(attempt)

    def commit(self, new: Existing) -> None:
        """The service has created something."""
        for one in self.service.present(new.service):
            if one.attempt != new.attempt and not one.routes.isdisjoint(new.routes):
                self._check_again(one.attempt, new.attempt)
        self._check_recorded(self.journals[self.intents[new.attempt].address.target])

    def end(self, run: TargetRun) -> None:
        """A run has ended: what it came to know of its attempts is durable, or is handed over to be kept, whole."""
        handed_over = {(one.attempt, str(one.outcome)) for one in run.appends.to_save if isinstance(one, Settled)}
        intents = {one.attempt for one in run.appends.to_save if isinstance(one, Intent)}
        if any(attempt not in intents and attempt in self._begun for attempt, _ in handed_over):
            raise Violation(Promise.SAVED, "an outcome is kept without the intent that it belongs to")
        known = self._ever_told | handed_over
        for result in run.results.values():
            if result.attempt is not None and (result.attempt, str(result.outcome)) not in known:
                raise Violation(Promise.SAVED, f"the outcome of {result.attempt} is not recorded, and not kept either")

    def check_found(self) -> None:
        """In the end, whatever was lost meanwhile, everything that exists is in a record."""
        for journal in self.journals.values():
            self._check_recorded(journal, lossy=False)

    @staticmethod
    def _held(journal: Journal) -> set[str]:
        """The attempts of which a record says that they exist, or may."""
        return {one.id for one in journal.record().attempts.values() if one.status is not Status.GONE}

    def _check_again(self, old: str, new: str) -> None:
        """Raises Violation where whoever created a route again could have known of it."""
        if new in self.excused or old in self._on_leave[new]:
            return
        if old in self._begun[new].kept:
            raise Violation(Promise.KEPT, f"a route of {old} was created again by {new}, whose machine knew of it")
        if old in self.excused or old in self._beyond[new] or new in self._beyond[old]:
            return  # given up by who created the other, whichever of the two calls arrives first
        if self.lossy and old not in self._begun[new].seen:
            return
        raise Violation(Promise.ONCE, f"a route of {old} was created again by {new}")

    def _intend(self, intent: Intent, after: Journal) -> None:
        known = self.intents.get(intent.attempt)
        if known is not None:
            if not self.lossy or known != intent:
                raise Violation(Promise.SOUND, f"attempt {intent.attempt} is intended twice")
            return
        self.intents[intent.attempt] = intent
        still_open = self._open.setdefault((intent.address.target, intent.run), set())
        still_open.add(intent.attempt)
        if len(still_open) > self.limits.parallelism:
            raise Violation(Promise.FEW_OPEN, f"run {intent.run} has {len(still_open)} intents open")
        self._on_leave[intent.attempt] = self._asked_away(intent, after)
        self._beyond[intent.attempt] = {one for one in self.given_up if self.intents[one].run != intent.run}

    def _asked_away(self, intent: Intent, after: Journal) -> set[str]:
        """What delivers the same until the operator removes it, as a person asked: the plan says so."""
        routes = routes_of(intent.codes, intent.url)
        return {
            one.id
            for one in after.record().attempts.values()
            if one.status is Status.AWAITING_REMOVAL and one.on_purpose and not routes.isdisjoint(one.routes)
        }

    def _settle(self, entry: Settled) -> None:
        intent = self.intents[entry.attempt]
        self._open[intent.address.target, intent.run].discard(entry.attempt)
        if (entry.attempt, entry.outcome) in self._told:
            raise Violation(Promise.SOUND, f"the outcome of {entry.attempt} is recorded twice")
        self._told.add((entry.attempt, entry.outcome))
        self._ever_told.add((entry.attempt, str(entry.outcome)))

    def _check_recorded(self, journal: Journal, *, lossy: bool | None = None) -> None:
        """What exists is never forgotten: it is pending, unknown, live or awaiting removal."""
        attempts = journal.record().attempts
        lossy = self.lossy if lossy is None else lossy
        for one in self.service.created.values():
            intent = self.intents.get(one.attempt)
            if intent is None:
                raise Violation(Promise.NOT_FORGOTTEN, f"{one.attempt} exists, and no journal knows of it")
            if one.removed or one.attempt in self.excused | self.given_up or intent.address.target != journal.target:
                continue
            if lossy and one.attempt not in attempts:
                continue
            if one.attempt not in attempts or attempts[one.attempt].status is Status.GONE:
                raise Violation(Promise.NOT_FORGOTTEN, f"{one.attempt} exists, and the record takes it for gone")
