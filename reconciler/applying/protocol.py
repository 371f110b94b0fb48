"""The write-ahead protocol of a run, as a state machine without I/O.

It takes events and returns effects (see `events`). Each event comes with its time; randomness, planning and the record
are passed in. A simulation can therefore run, in one thread, the same code that production runs with threads and a
network.

Its invariants:

- A create is sent only after its intent is durable, and only within the window that the intent names.
- The record is read again if some time has passed since the last reading, and before any retry. A call is not sent if
  its attempt is resolved or missing, if another attempt may deliver its route, or while a gate is closed.
- Drafts are appended only to the head that they were made for. After a conflict they are dropped and planned again, and
  a change continues only if its plan is the same. Outcomes stay pending until they are appended, whatever the head is.
- A run that has lost changes to another run waits before its next intents, but never before an outcome.
- Outcomes and intents that arise during an append are appended together afterwards (group commit).
- There are never more open intents than calls that may be in flight, and only one for a target that has not answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from reconciler.applying.append_queue import AppendEnd, AppendQueue
from reconciler.applying.calls import answered
from reconciler.applying.creates import Creates
from reconciler.applying.events import (
    Appended,
    Authorise,
    Authorised,
    CallEnded,
    InterruptAsked,
    NotAppended,
    RereadDone,
    RereadFailed,
    Ticked,
    Unauthorised,
)
from reconciler.applying.work_queue import WorkQueue
from reconciler.errors import Message, ReconcilerError
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.plan import SENDS, Action, Block, Done
from reconciler.model.record import Status
from reconciler.record.facts import Intended

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reconciler.applying.append_queue import Batch, ChangeDraft
    from reconciler.applying.events import Context, Effect, Event
    from reconciler.model.address import Address
    from reconciler.model.plan import Change, Result
    from reconciler.model.record import Record
    from reconciler.record.facts import Answered
    from reconciler.record.journal import Reading
    from reconciler.values import Instant

_CHANGED = "another run changed the record of this address"
_REPLACED = "the record in the store no longer contains what this run has read or written"


class Run:
    """A run of an approved plan. `start` and `handle` return the effects to perform; `finished` is true at the end.

    `work` holds the waiting changes and the results, `creates` the calls, and `appends` the record and the facts to
    append. `failure` is the unexpected error that ended the run, if there was one. `messages` tell a person what the
    results do not show.
    """

    def __init__(self, reading: Reading, context: Context) -> None:
        self.context = context
        self.changes: Sequence[Change] = context.plan.changes
        self.failure = ""
        self.finished = False
        self.messages: list[Message] = []
        self.work = WorkQueue()
        self.appends = AppendQueue(reading, context)
        self.creates = Creates(context, self.work, self.appends)
        self._dropped: dict[str, Intended] = {}  # intents treated as not appended, by attempt
        self._in_doubt: set[str] = set()  # attempts of a last append whose result is unknown
        self._lost_rounds = 0  # conflicts in which another run changed what this run was to do
        self._yield_until: float | None = None

    # What the driver calls

    def start(self, now: Instant) -> list[Effect]:
        """Return the first effects. Changes that differ from the approved ones are skipped."""
        self._queue_unchanged(self.changes)
        authorise: list[Effect] = [Authorise(target) for target in self.work.sends]
        return authorise + self._pump(now)

    def handle(self, event: Event, now: Instant) -> list[Effect]:
        """Handle an event and return the resulting effects."""
        effects: list[Effect] = []
        match event:
            case Authorised(target):
                self.creates.authorised.add(target)
            case Unauthorised(target, problem):
                self.messages.append(problem)
                self.work.drop_sends(target, Done.NOT_SENT, problem.what)
            case Appended() | NotAppended():
                effects = self._on_append(event, now)
            case RereadDone(reading, at):
                effects = self.creates.on_reread(reading, at, now)
            case RereadFailed(problem):
                self.creates.on_reread_failed(f"could not re-read the record before sending: {problem.what}", now)
            case CallEnded():
                self.creates.on_answer(event, now)
            case InterruptAsked():
                self._on_interrupt(now)
            case Ticked():
                pass
            case _:
                assert_never(event)
        return effects + self._pump(now)

    def salvage(self, answers: Iterable[CallEnded], failure: str, now: Instant) -> None:
        """End the run after an unexpected error; the outcomes of its calls are taken from `answers`."""
        self.failure, self.finished = failure, True
        self.creates.salvage(answers, failure, now)
        for change in self.changes:
            if (change.address, change.action) not in self.results:
                self.work.finish(change, Done.SKIPPED, detail=failure)

    @property
    def in_flight(self) -> Mapping[str, Address]:
        """Return the addresses of the attempts whose calls are in flight, by attempt id."""
        return self.creates.in_flight

    @property
    def wake_at(self) -> float | None:
        """Return the time, in steady seconds, by which Ticked must be handled if no other event arrives."""
        times = (self.appends.wake_at, self.creates.wake_at, self._yield_until if self.work else None)
        return min((time for time in times if time is not None), default=None)

    @property
    def results(self) -> Mapping[tuple[Address, Action], Result]:
        """Return the results of the finished changes, by address and action."""
        return self.work.results

    def stray_outcomes(self, record: Record | None, now: Instant) -> list[Answered]:
        """Return outcomes for intents that were treated as not appended but reached the record after all.

        If `record` is None, the intents of a failed last append are assumed to be in the record.
        """
        if record is None:
            late = self._in_doubt
        else:
            known = self._dropped.keys() & record.attempts.keys()
            late = {attempt for attempt in known if record.attempts[attempt].status is Status.PENDING}
        strays = [intent for attempt, intent in self._dropped.items() if attempt in late]
        answer = Answer(Outcome.NOT_SENT, detail="its intent was appended too late")
        return [answered(intent, answer, None, self.context, now) for intent in strays]

    # What events mean

    def _on_append(self, event: Appended | NotAppended, now: Instant) -> list[Effect]:
        if self.appends.abandoned:
            return []
        end, batch = self.appends.end_append(event, now)
        match end:
            case AppendEnd.DURABLE:
                return self._on_durable(batch, event, now)
            case AppendEnd.MOVED:
                self._on_moved(batch, now)
            case AppendEnd.REPLACED:
                self._stop(batch, _REPLACED)
            case AppendEnd.FAILED:
                self._stop_for_store(batch)
            case AppendEnd.RETRY:
                pass
            case _:
                assert_never(end)
        return []

    def _on_durable(self, batch: Batch, event: Appended | NotAppended, now: Instant) -> list[Effect]:
        for draft in batch.drafts:
            if draft.change.action is Action.RESTORE:
                self.work.restored += draft.change.concerns
                self.work.finish(draft.change, Done.RESTORED)
            elif draft.change.action is Action.REMOVE:
                self.work.requested += draft.change.concerns
                self.work.finish(draft.change, Done.REQUESTED)
        attempts = [draft.attempt for draft in batch.drafts if draft.attempt]
        if isinstance(event, NotAppended):  # only the answer was lost: the reading has the batch
            return self.creates.send_first(attempts, now, event.at, event.reading)
        return self.creates.send_first(attempts, now, self.appends.tried_at, None)

    def _on_moved(self, batch: Batch, now: Instant) -> None:
        """Plan again after a conflict, and continue only with the changes that the new plan also contains."""
        if self.appends.conflicts >= self.context.limits.conflicts:
            self._stop(batch, f"{self.appends.conflicts} times in a row, another run appended first")
            return
        self.appends.add(self.stray_outcomes(self.appends.reading.record, now), now)
        waiting = [*self._take_back(batch.drafts), *self.work.take_all()]
        if (stopped := self.creates.stopped) is not None:
            for change in waiting:
                self.work.finish(change, Done.SKIPPED, detail=stopped)
            return
        if self._queue_unchanged(waiting) < len(waiting):
            self._yield(now)

    def _yield(self, now: Instant) -> None:
        """Wait before the next intents: longer after each lost conflict, and longer if the store is slow."""
        limits = self.context.limits
        shortest = max(limits.first_yield, 2 * self.appends.took)
        wait = min(shortest * 2**self._lost_rounds, max(shortest, limits.longest_yield))
        self._lost_rounds += 1
        self._yield_until = now.steady + wait * (0.5 + self.context.jitter() / 2)

    def _queue_unchanged(self, changes: Sequence[Change]) -> int:
        """Queue the changes that a new plan also contains, skip the others, and return the number of queued changes."""
        if not changes:
            return 0
        fresh, gate, reason = self._replan()
        first_gate_open, queued = self.appends.reading.standing.first_gate_open, 0
        for change in changes:
            same = fresh.get(change.digest)
            if change.action is Action.BLOCKED:
                self.work.finish(change, Done.SKIPPED, detail=_why_blocked(change))
            elif gate and (change.action in SENDS or not first_gate_open):
                self.work.finish(change, Done.SKIPPED, detail=gate)
            elif same is None or same.action is not change.action:
                self.work.finish(change, Done.SKIPPED, detail=reason)
            else:
                self.work.add(same)
                queued += 1
        return queued

    def _replan(self) -> tuple[Mapping[str, Change], str, str]:
        """Plan again, and return the planned changes by digest, the closed gate or "", and a reason.

        The reason says why changes that are no longer planned are skipped.
        """
        gate = ", ".join(self.appends.reading.standing.obstacles)
        try:
            plan = self.context.replan(self.appends.reading)
        except ReconcilerError as problem:
            self.messages += problem.messages
            return {}, gate, problem.messages[0].what
        gate = plan.gates[0].what if plan.gates else gate
        return {change.digest: change for change in plan.changes}, gate, _CHANGED

    def _take_back(self, drafts: Iterable[ChangeDraft]) -> list[Change]:
        """Drop drafts that were not appended, and return their changes."""
        drafts = list(drafts)
        self.creates.discard(drafts)
        for draft in drafts:
            self._dropped.update((fact.attempt, fact) for fact in draft.facts if isinstance(fact, Intended))
        return [draft.change for draft in drafts]

    def _stop(self, batch: Batch, reason: str) -> None:
        """Start no further calls; outcomes are still appended."""
        self._in_doubt.update(draft.attempt for draft in batch.drafts)
        for change in self._take_back(batch.drafts):
            self.work.add(change)
        self.work.drop_all(Done.NOT_SENT, reason)

    def _stop_for_store(self, batch: Batch) -> None:
        problem = self.appends.problem
        assert problem is not None  # noqa: S101 - an append has failed
        self.messages.append(problem)
        self._stop(batch, problem.what)

    def _on_interrupt(self, now: Instant) -> None:
        limits = self.context.limits
        self.work.drop_all(Done.SKIPPED, "interrupted")
        wait = 0.0 if self.creates.interrupted else limits.call_grace
        self.appends.give_up_at = now.steady + wait + (limits.store_grace if wait else limits.last_grace)
        self.creates.interrupt(now.steady + wait, now)

    # What to do next

    def _pump(self, now: Instant) -> list[Effect]:
        if self._yield_until is not None and now.steady >= self._yield_until:
            self._yield_until = None
        self.creates.retry_due(now)
        self.creates.give_up_overdue(now)
        abandoned = self.appends.abandon_overdue(now)
        if abandoned is not None:
            self._stop_for_store(abandoned)
        effects = self.creates.reread()
        is_batching = (
            bool(self.creates.in_flight) and not self.creates.interrupted and self.appends.waits_for_batch(now)
        )
        if not is_batching:
            append = self.appends.start_append(self._drafts(now), now)
            effects += [] if append is None else [append]
        self.finished = not (self.work or self.creates or self.appends.busy)
        return effects

    def _drafts(self, now: Instant) -> list[ChangeDraft]:
        """Return the drafts to append now.

        While the run waits after a conflict, it drafts nothing unless it has calls or facts to append.
        """
        yields = self._yield_until is not None and not (self.creates or self.appends.busy)
        if not self.work or not self.appends.idle or yields:
            return []
        local = [self.creates.local_draft(change, now) for change in self.work.take_local()] if self.work.local else []
        return local + self.creates.take_drafts(now)


def _why_blocked(change: Change) -> str | None:
    """Return the reason why a change is blocked. For a closed gate, it is the last reason, which names the gate."""
    last = change.block in (Block.GATE, Block.FOREIGN)
    return change.reasons[-1 if last else 0].what if change.reasons else None
