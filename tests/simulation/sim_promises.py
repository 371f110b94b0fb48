"""What must hold after every step, checked where a step could break it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_service import Existing, SimService, Violation, routes_of

from reconciler.model.entry import Intent, Settled
from reconciler.model.record import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.applying.protocol import TargetRun
    from reconciler.model.entry import AnyEntry
    from reconciler.model.outcome import Outcome
    from reconciler.state.journal import Journal

SKEW = 7.0
"""Seconds by which the wall clock of a machine may be off, either way: less than half of the margin of an intent."""


class Promises:
    """Watches the journals and the service. Times are true epoch seconds."""

    def __init__(self, service: SimService, parallelism: int) -> None:
        self._service = service
        self._parallelism = parallelism
        self._open: dict[tuple[str, str], set[str]] = {}
        self._told: set[tuple[str, Outcome]] = set()
        self._on_leave: dict[str, set[str]] = {}
        self.intents: dict[str, Intent] = {}
        self.journals: dict[str, Journal] = {}
        self.lied_about: set[str] = set()

    def watch(self, before: Journal, after: Journal, entries: Sequence[AnyEntry]) -> None:
        """A journal has grown."""
        if not after.contains(before.head, len(before.lines)) or len(after.lines) <= len(before.lines):
            raise Violation("the journal has lost entries")
        self.journals[after.target] = after
        for entry in entries:
            if isinstance(entry, Intent):
                self._begin(entry, after)
            elif isinstance(entry, Settled):
                self._settle(entry)
        self._check_recorded(after)

    def may_send(self, attempt: str, at: float) -> None:
        """A call is leaving."""
        if attempt not in self.intents:
            raise Violation(f"attempt {attempt} is sent before its intent is durable")
        if at > self.intents[attempt].send_by + 2 * SKEW:
            raise Violation(f"attempt {attempt} is sent {at - self.intents[attempt].send_by:.0f} s too late")

    def commit(self, new: Existing) -> None:
        """The service has created something."""
        for one in self._service.present(new.service):
            if one.attempt == new.attempt or one.routes.isdisjoint(new.routes):
                continue
            if one.attempt not in self.lied_about and one.attempt not in self._on_leave[new.attempt]:
                raise Violation(f"a route of {one.attempt} was created again by {new.attempt}")
        self._check_recorded(self.journals[self.intents[new.attempt].address.target])

    def end(self, run: TargetRun) -> None:
        """A run has ended: what it came to know of its attempts is durable, or is handed over to be kept."""
        handed_over = {(one.attempt, str(one.outcome)) for one in run.unrecorded if isinstance(one, Settled)}
        known = {(attempt, str(outcome)) for attempt, outcome in self._told} | handed_over
        for result in run.results.values():
            if result.attempt is not None and (result.attempt, str(result.outcome)) not in known:
                raise Violation(f"the outcome of {result.attempt} is not recorded, and not kept either")

    def _begin(self, intent: Intent, after: Journal) -> None:
        if intent.attempt in self.intents:
            raise Violation(f"attempt {intent.attempt} is intended twice")
        self.intents[intent.attempt] = intent
        still_open = self._open.setdefault((intent.address.target, intent.run), set())
        still_open.add(intent.attempt)
        if len(still_open) > self._parallelism:
            raise Violation(f"run {intent.run} has {len(still_open)} intents open")
        self._on_leave[intent.attempt] = self._awaiting_removal(intent, after)

    def _awaiting_removal(self, intent: Intent, after: Journal) -> set[str]:
        """What delivers the same for as long as its removal takes: the plan says so, and a person has approved it."""
        routes = routes_of(intent.codes, intent.url)
        return {
            one.id
            for one in after.record().attempts.values()
            if one.status is Status.AWAITING_REMOVAL and not routes.isdisjoint(one.routes)
        }

    def _settle(self, entry: Settled) -> None:
        intent = self.intents[entry.attempt]
        self._open[intent.address.target, intent.run].discard(entry.attempt)
        if (entry.attempt, entry.outcome) in self._told:
            raise Violation(f"the outcome of {entry.attempt} is recorded twice")
        self._told.add((entry.attempt, entry.outcome))

    def _check_recorded(self, journal: Journal) -> None:
        """What exists is never forgotten: it is pending, unknown, live or awaiting removal."""
        attempts = journal.record().attempts
        for one in self._service.created.values():
            intent = self.intents.get(one.attempt)
            if intent is None:
                raise Violation(f"{one.attempt} exists, and no journal knows of it")
            if one.removed or one.attempt in self.lied_about or intent.address.target != journal.target:
                continue
            if attempts[one.attempt].status is Status.GONE:
                raise Violation(f"{one.attempt} exists, and the record takes it for gone")
