"""What there is at one moment of an exploration, in values that can be copied and compared."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from reconciler.applying.events import Append, Send
from reconciler.applying.work_queue import WorkQueue
from reconciler.model.entry import Intent, Settled
from reconciler.model.outcome import Outcome
from reconciler.model.record import Status
from reconciler.model.result import Done
from support.simulation.sim_service import Promise, Violation, routes_of
from support.simulation.sim_store import grown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.applying.events import Effect
    from reconciler.applying.protocol import TargetRun
    from reconciler.model.address import TargetName
    from reconciler.model.desired import Desired
    from reconciler.model.entry import AnyEntry
    from reconciler.model.plan import Change
    from reconciler.state.journal.chain import Journal


@dataclass(frozen=True)
class Part:
    """One machine's part: it applies `desired` to `target`, as planned on the record that all began with."""

    target: TargetName
    desired: Desired


@dataclass
class Runner:
    """Where one machine stands. `heard` is all that it was ever told, which decides everything it holds."""

    part: Part
    planned: Sequence[Change]
    run: TargetRun | None = None
    pending: list[Effect | Report] = field(default_factory=list)
    steady: float = 0.0
    ids: int = 0
    heard: tuple[object, ...] = ()
    ended: bool = False

    def fork(self) -> Runner:
        return replace(self, run=self.run and fork_run(self.run), pending=list(self.pending))


@dataclass(frozen=True)
class Report:
    """An append of which its machine will hear that it failed, in one of the ways in which that is said."""

    way: str


def fork_run(run: TargetRun) -> TargetRun:
    """A copy that goes its own way; entries, changes and journals are values and shared."""
    twin = copy.copy(run)
    twin.work = WorkQueue()
    twin.work.sends, twin.work.local = run.work.sends.copy(), run.work.local.copy()
    twin.work.results, twin.work.retired = dict(run.work.results), list(run.work.retired)
    twin.appends = copy.copy(run.appends)
    twin.appends._pending = list(run.appends._pending)
    twin.creates = copy.copy(run.creates)
    twin.creates._work, twin.creates._appends = twin.work, twin.appends
    twin.creates._given_up = dict(run.creates._given_up)
    twin.creates._calls = {attempt: copy.copy(call) for attempt, call in run.creates._calls.items()}
    return twin


@dataclass
class State:
    """Everything there is at one moment. `created` maps the attempts that the service has committed to their target."""

    journals: dict[TargetName, Journal]
    runners: list[Runner]
    faults: int
    parallelism: int
    created: dict[str, TargetName] = field(default_factory=dict)

    def fork(self) -> State:
        runners = [one.fork() for one in self.runners]
        return State(dict(self.journals), runners, self.faults, self.parallelism, dict(self.created))

    def key(self) -> tuple[object, ...]:
        """What tells this state from others as far as anything that may still happen goes."""
        heads = tuple(journal.head for journal in self.journals.values())
        runners = tuple((one.heard, tuple(map(_name, one.pending)), one.ended) for one in self.runners)
        return heads, runners, self.faults, frozenset(self.created)

    def open_journals(self) -> dict[TargetName, Journal]:
        return {target: journal for target, journal in self.journals.items() if journal.record().closed is None}

    def saved(self) -> tuple[tuple[TargetName, AnyEntry], ...]:
        """What the runs that have ended could not append, and save to recovery files."""
        runs = ((one.part.target, one.run) for one in self.runners if one.run is not None)
        return tuple((target, entry) for target, run in runs for entry in run.appends.to_save)

    def check_results(self) -> None:
        """Raises Violation if a record does not have what a run has reported as created."""
        for one in self.runners:
            for result in one.run.results.values() if one.run is not None else ():
                attempt = self.journals[one.part.target].record().attempts.get(result.attempt or "")
                if result.outcome is Done.CREATED and (attempt is None or attempt.outcome is not Outcome.CREATED):
                    raise Violation(Promise.SAVED, f"{result.attempt} was created, and that is lost")

    def grow(self, target: TargetName, lines: bytes) -> None:
        """Lines arrive at the store. Raises Violation for ones that break a promise."""
        self.journals[target], _ = grown(self.journals[target], lines)
        self._check_intents(self.journals[target])
        self._check_recorded(target)

    def commit(self, target: TargetName, send: Send) -> None:
        """A call arrives at the service. Raises Violation for one that breaks a promise."""
        if self.journals[target].record().closed is not None:
            raise Violation(Promise.ONCE, "sent after its record was closed: the copy may send it too")
        if send.attempt not in self.journals[target].record().attempts:
            raise Violation(Promise.INTENT_FIRST, "sent before its intent was durable")
        routes = routes_of(send.request.codes, send.request.url)
        for attempt, where in self.created.items():
            if not routes.isdisjoint(self.journals[where].record().attempts[attempt].routes):
                raise Violation(Promise.ONCE, f"{attempt} and {send.attempt} are one route, created twice")
        self.created[send.attempt] = target
        self._check_recorded(target)

    def _check_intents(self, journal: Journal) -> None:
        """Never are more intents of one run open than calls may be in flight, whatever prefix survives."""
        still_open: dict[str, set[str]] = {}
        run_of: dict[str, str] = {}
        for entry, _ in journal.lines:
            if isinstance(entry, Intent):
                run_of[entry.attempt] = entry.run
                still_open.setdefault(entry.run, set()).add(entry.attempt)
                if len(still_open[entry.run]) > self.parallelism:
                    raise Violation(Promise.FEW_OPEN, "too many intents are open")
            elif isinstance(entry, Settled):
                still_open[run_of[entry.attempt]].discard(entry.attempt)

    def _check_recorded(self, target: TargetName) -> None:
        attempts = self.journals[target].record().attempts
        for attempt, where in self.created.items():
            if where == target and attempts[attempt].status is Status.GONE:
                raise Violation(Promise.NOT_FORGOTTEN, f"{attempt} exists, and the record takes it for gone")


def _name(pending: Effect | Report) -> str:
    match pending:
        case Append(head, _, _, note):
            return f"append {note} to {head}"
        case Send(attempt):
            return f"send {attempt}"
        case _:
            return repr(pending)
