"""Runs of the protocol in a state that can be copied: what they hear, what they ask of the outside, what arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.applying.events import (
    Answered,
    Appended,
    AppendFailed,
    Authorise,
    Authorised,
    Conflict,
    RereadDone,
    ServiceRecords,
)
from reconciler.model.clock import Instant
from reconciler.state.journal.chain import link
from reconciler.state.journal.closing import refuse_closed
from support.simulation.sim_configs import changes_of_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.applying.events import Append, Effect, Event
    from reconciler.model.address import TargetName
    from reconciler.model.entry import AnyEntry
    from reconciler.model.plan import Change
    from reconciler.model.record import Record
    from support.simulation.sim_state import Part, Runner, State

WALL = 1_800_000_000.0


class Runs:
    """What happens to the runs of `_state`, the state that is looked at just now."""

    _state: State

    # What steps are made of

    def _hear(self, runner: Runner, event: Event) -> None:
        assert runner.run is not None
        heard = [type(event).__name__, getattr(event, "attempt", ""), runner.steady]
        if isinstance(event, Conflict | AppendFailed | RereadDone):
            heard += [event.journal and event.journal.head, self._heads_beside(runner.part.target)]
        elif isinstance(event, Appended):
            heard.append(self._heads_beside(runner.part.target))
        elif isinstance(event, Answered):
            heard.append(event.answer.outcome)
        runner.heard = (*runner.heard, tuple(heard))
        self._take(runner, runner.run.handle(event, self._now(runner)))

    def _take(self, runner: Runner, effects: Sequence[Effect]) -> None:
        """The effects are pending; a token is at hand at once."""
        assert runner.run is not None
        runner.pending += (effect for effect in effects if not isinstance(effect, Authorise))
        if any(isinstance(effect, Authorise) for effect in effects):
            self._hear(runner, Authorised())
        runner.ended = runner.run.finished

    def _arrives(self, runner: Runner, effect: Append) -> bool:
        if self._state.journals[runner.part.target].head != effect.head:
            return False
        self._state.grow(runner.part.target, effect.lines)
        return True

    def _record_all(self, target: TargetName, entries: Sequence[AnyEntry]) -> None:
        journal = self._state.journals[target]
        self._state.grow(target, link(journal.head, len(journal.lines), entries)[0])

    # What runs ask of the outside

    def _plan(self, part: Part, record: Record) -> Sequence[Change]:
        records = {name: journal.record() for name, journal in self._state.journals.items()}
        return changes_of_target(part.target, part.desired, {**records, part.target: record})

    def _plan_again(self, part: Part, record: Record, same_service: Sequence[Record]) -> Sequence[Change]:
        refuse_closed(record, "here")
        records = {**{other.target: other for other in same_service}, part.target: record}
        return changes_of_target(part.target, part.desired, records)

    def _same_service_records(self, target: TargetName) -> ServiceRecords:
        return ServiceRecords(tuple(self._records_beside(target)))

    def _records_beside(self, target: TargetName) -> list[Record]:
        return [journal.record() for name, journal in self._state.journals.items() if name != target]

    def _heads_beside(self, target: TargetName) -> tuple[str, ...]:
        return tuple(record.head for record in self._records_beside(target))

    def _new_id(self, number: int) -> str:
        runner = self._state.runners[number]
        runner.ids += 1
        return f"m{number}a{runner.ids}"

    def _now(self, runner: Runner) -> Instant:
        return Instant(WALL, runner.steady)
