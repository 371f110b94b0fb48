"""Every order in which the steps of a few runs can happen, with a number of faults at any of them.

A step is whatever another run could notice: a read of the record, an append that arrives, a call that arrives, a report
of a failed append (which reads). What only the run itself notices happens at once. States that are alike in all that
can still matter are explored once; the orders that lead through them are counted all the same.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from reconciler.applying.context import Limits, RunContext
from reconciler.applying.events import (
    Answered,
    Append,
    Appended,
    AppendFailed,
    Conflict,
    Reread,
    RereadDone,
    Send,
    Ticked,
)
from reconciler.applying.protocol import TargetRun
from reconciler.model.entry import Bound, Closed, Opened, Resolved
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.unrecorded import followable
from support.simulation.sim_runs import Runs
from support.simulation.sim_service import Promise, Violation
from support.simulation.sim_state import Part, Report, Runner, State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from reconciler.applying.events import Effect, Event
    from reconciler.model.address import TargetName
    from reconciler.model.entry import AnyEntry
    from reconciler.state.journal.chain import Journal

    Step = partial[None]

AT = "2027-01-15T08:00:00Z"
BY = {"user": "operator"}


class Explorer(Runs):
    """Explores every order. `states` counts those that differ; `explore` gives the number of whole orders."""

    def __init__(
        self,
        journals: Mapping[TargetName, Journal],
        parts: Sequence[Part],
        *,
        faults: int,
        parallelism: int,
        people: bool = False,
        copies: bool = False,
    ) -> None:
        self.states = 0
        self.ends = 0
        self._people = people
        self._copies = copies
        self._limits = Limits(parallelism=parallelism)
        self._orders: dict[object, int] = {}
        self._rested: set[object] = set()
        self._state = State(dict(journals), [], faults, parallelism)
        self._state.runners = [
            Runner(part, self._plan(part, self._state.journals[part.target].record())) for part in parts
        ]

    def explore(self) -> int:
        """The number of orders. Raises Violation for one that breaks a promise."""
        return self._explore(self._state)

    def _explore(self, state: State) -> int:
        key = state.key()
        if key not in self._orders:
            self.states += 1
            steps = list(self._steps(state))
            if not steps:
                self._check_rest(state)
            self._orders[key] = sum(self._explore(self._after(state, step)) for step in steps) or 1
        return self._orders[key]

    def _after(self, state: State, step: Step) -> State:
        self._state = state.fork()
        step()
        return self._state

    # What can happen next

    def _steps(self, state: State) -> Iterator[Step]:
        for number, runner in enumerate(state.runners):
            if runner.ended:
                continue
            if runner.run is None:
                yield partial(self._begin, number)
            for index, pending in enumerate(runner.pending):
                yield from self._outcomes(number, index, pending, faulty=state.faults > 0)
            if runner.run is not None and not runner.pending:
                yield partial(self._tick, number)
        if state.faults and any(not runner.ended for runner in state.runners):
            yield from (partial(self._bystand, target) for target in state.open_journals())
            yield from self._words_of_people(state)

    def _words_of_people(self, state: State) -> Iterator[Step]:
        """A person settles an attempt whose call is over, as the operator says: no run has it in hand.

        Or closes a record to copy it elsewhere, once all of its calls are over.
        """
        in_hand = {attempt for one in state.runners if one.run is not None for attempt in one.run.creates._calls}
        for target, journal in state.open_journals().items():
            unresolved = {one.id for one in journal.record().unresolved}
            if self._people:
                yield from (partial(self._speak, target, one) for one in sorted(unresolved - in_hand))
            if self._copies and not unresolved & in_hand:
                yield partial(self._close, target)

    def _outcomes(self, number: int, index: int, pending: Effect | Report, *, faulty: bool) -> Iterator[Step]:
        """How a pending effect can go, and the faults that can befall it."""
        match pending:
            case Append():
                yield partial(self._append, number, index, pending)
                for way in ("moved", "failed", "unreadable") if faulty else ():
                    yield partial(self._append_in_vain, number, index, pending, way, arrives=True)
                    yield partial(self._append_in_vain, number, index, pending, way, arrives=False)
            case Send():
                yield partial(self._send, number, index, pending, Outcome.CREATED, commits=True)
                if faulty:
                    yield partial(self._send, number, index, pending, Outcome.UNKNOWN, commits=True, fault=True)
                    yield partial(self._send, number, index, pending, Outcome.UNKNOWN, commits=False, fault=True)
                    yield partial(self._send, number, index, pending, Outcome.NOT_SENT, commits=False, fault=True)
            case Reread():
                yield partial(self._look, number, index)
            case Report(way):
                yield partial(self._report, number, index, way)
        if faulty:
            yield partial(self._crash, number, index, done=False)
            yield partial(self._crash, number, index, done=True)

    # Steps; each changes the state that is explored next

    def _begin(self, number: int) -> None:
        runner = self._state.runners[number]
        part = runner.part
        journal = self._state.journals[part.target]
        if journal.record().closed is not None:  # as every command, it refuses that
            runner.ended = True
            return
        context = RunContext(
            limits=self._limits,
            by=BY,
            run=f"r{number}.{runner.ids}",
            account="account",
            new_id=partial(self._new_id, number),
            replan=partial(self._plan_again, part),
            jitter=lambda: 1.0,
            shares_service=len(self._state.journals) > 1,
        )
        runner.run = TargetRun(runner.planned, journal, context)
        runner.run.keep_only(self._plan(part, journal.record()))
        runner.heard = (*runner.heard, "begin", tuple(one.head for one in self._state.journals.values()))
        self._take(runner, runner.run.start(self._now(runner)))

    def _append(self, number: int, index: int, effect: Append) -> None:
        runner = self._state.runners[number]
        del runner.pending[index]
        if self._arrives(runner, effect):
            self._hear(runner, Appended())
        else:
            target = runner.part.target
            self._hear(runner, Conflict(self._state.journals[target], self._same_service_records(target)))

    def _append_in_vain(self, number: int, index: int, effect: Append, way: str, *, arrives: bool) -> None:
        self._state.faults -= 1
        runner = self._state.runners[number]
        del runner.pending[index]
        if arrives:
            self._arrives(runner, effect)
        runner.pending.append(Report(way))

    def _report(self, number: int, index: int, way: str) -> None:
        runner = self._state.runners[number]
        del runner.pending[index]
        journal = self._state.journals[runner.part.target]
        same_service = self._same_service_records(runner.part.target)
        reports: dict[str, Event] = {
            "moved": Conflict(journal, same_service),
            "failed": AppendFailed("", journal, same_service),
            "unreadable": AppendFailed(""),
        }
        self._hear(runner, reports[way])

    def _look(self, number: int, index: int) -> None:
        runner = self._state.runners[number]
        del runner.pending[index]
        target = runner.part.target
        self._hear(
            runner, RereadDone(self._state.journals[target], self._now(runner), self._same_service_records(target))
        )

    def _send(
        self, number: int, index: int, send: Send, outcome: Outcome, *, commits: bool, fault: bool = False
    ) -> None:
        self._state.faults -= fault
        runner = self._state.runners[number]
        del runner.pending[index]
        if commits:
            self._state.commit(runner.part.target, send)
        self._hear(runner, Answered(send.attempt, Answer(outcome)))

    def _crash(self, number: int, index: int, *, done: bool) -> None:
        """The machine dies just before or after one of its steps, and begins anew, with a plan of its own."""
        self._state.faults -= 1
        runner = self._state.runners[number]
        effect = runner.pending[index]
        if done and isinstance(effect, Append):
            self._arrives(runner, effect)
        elif done and isinstance(effect, Send):
            self._state.commit(runner.part.target, effect)
        planned = self._plan(runner.part, self._state.journals[runner.part.target].record())
        self._state.runners[number] = Runner(runner.part, planned, ids=runner.ids + 100, heard=(*runner.heard, "crash"))

    def _tick(self, number: int) -> None:
        runner = self._state.runners[number]
        if runner.run is None or runner.run.wake_at is None:
            raise Violation(Promise.AT_REST, "a run waits for nothing")
        runner.steady = runner.run.wake_at
        self._hear(runner, Ticked())

    def _bystand(self, target: TargetName) -> None:
        """Somebody appends something that changes nothing."""
        self._state.faults -= 1
        self._record_all(target, [Bound(at=AT, by=BY, base_url=self._state.journals[target].record().base_url)])

    def _speak(self, target: TargetName, attempt: str) -> None:
        self._state.faults -= 1
        created = attempt in self._state.created
        self._record_all(target, [Resolved(at=AT, by=BY, attempt=attempt, created=created)])

    def _close(self, target: TargetName) -> None:
        self._state.faults -= 1
        self._record_all(target, [Closed(at=AT, by=BY, source="here", to="there")])

    # At rest

    def _check_rest(self, state: State) -> None:
        """Once a person has settled all truthfully, applies without faults leave nothing to do."""
        self.ends += 1
        saved = state.saved()
        key = tuple(journal.head for journal in state.journals.values()), frozenset(state.created), repr(saved)
        if key in self._rested:
            return
        self._rested.add(key)
        self._state = state.fork()
        self._continue_elsewhere(saved)
        for _ in range(4):
            self._resolve()
            idle = [not self._apply(number) for number in range(len(state.runners))]
            if all(idle):
                return
        raise Violation(Promise.AT_REST, "it does not come to rest")

    def _continue_elsewhere(self, saved: Sequence[tuple[TargetName, AnyEntry]]) -> None:
        """The copy of a closed record is opened, and what runs could not append any more is recovered into it."""
        for target, journal in self._state.journals.items():
            opened = [] if journal.record().closed is None else [Opened(at=AT, by=BY, place="there")]
            recorded = [entry for entry, _ in journal.lines]
            entries = (entry for name, entry in saved if name == target and entry not in recorded)
            can, cannot = followable(journal.record(), entries)
            if cannot:
                raise Violation(Promise.SAVED, f"what was saved cannot be recovered: {cannot}")
            if opened or can:
                self._record_all(target, [*opened, *can])
        self._state.check_results()

    def _resolve(self) -> None:
        for target, journal in self._state.journals.items():
            entries = [
                Resolved(at=AT, by=BY, attempt=one.id, created=one.id in self._state.created)
                for one in journal.record().attempts.values()
                if one.unresolved
            ]
            if entries:
                self._record_all(target, entries)

    def _apply(self, number: int) -> bool:
        """Apply without faults; whether there was anything to do."""
        old = self._state.runners[number]
        planned = self._plan(old.part, self._state.journals[old.part.target].record())
        self._state.runners[number] = Runner(old.part, planned, ids=old.ids + 1000)
        self._state.faults = 0
        while not self._state.runners[number].ended:
            steps = [step for step in self._steps(self._state) if step.args[0] == number]
            steps[0]()
        return any(change.block is None for change in planned)
