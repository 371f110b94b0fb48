"""The write-ahead protocol of one target, as a state machine without I/O.

Events in, effects out (`events`). Each event comes with the time; randomness, planning and the record are passed in. So
the code that runs in production, with threads and a network, is the code that a simulation runs in one thread.

Its invariants:

- A create is sent only after its intent is durable, and only within the window that the intent names.
- If some time has passed since the record was read, and before any retry, it is re-read: an attempt that was resolved,
  or that is missing from the record, is not sent.
- Entries are appended to the head they were drafted for. On a conflict the target is planned again, and a change goes
  on only if it comes out the same. An outcome stays pending until it is appended, whatever the head is.
- A run that has lost changes to another one waits before its next intents (`yielding`), never before an outcome.
- The outcomes and the next intents that arise during an append go out together in the next one (group commit).
- No more intents are open than calls may be in flight; only one is until the service has answered.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from reconciler.applying.append_queue import AppendQueue, Batch, Draft
from reconciler.applying.context import RunContext
from reconciler.applying.creates import Creates
from reconciler.applying.events import (
    Answered,
    Appended,
    AppendFailed,
    Authorise,
    Authorised,
    Conflict,
    Effect,
    Event,
    InterruptAsked,
    RereadDone,
    RereadFailed,
    ServiceRecords,
    Ticked,
    Unauthorised,
)
from reconciler.applying.work_queue import WorkQueue
from reconciler.applying.writing import local_entries, not_started
from reconciler.applying.yielding import Yielding
from reconciler.errors import ReconcilerError
from reconciler.model.address import Address
from reconciler.model.clock import Instant
from reconciler.model.plan import Action, Change
from reconciler.model.result import Done, Result
from reconciler.state.journal.chain import Journal

_CHANGED = "another run changed the record of this address"


class TargetRun:
    """One target's part of an apply. `start` and `handle` give effects to perform; `finished` says when to stop.

    `failure` is the unexpected error that has ended it, if one did. `work` has the changes not started yet and the
    results, `creates` the calls, and `appends` the record and what is still to be appended to it.
    """

    def __init__(self, changes: Sequence[Change], journal: Journal, context: RunContext) -> None:
        self.changes = changes
        self.journal = journal
        self.context = context
        self.failure = ""
        self.finished = False
        self.work = WorkQueue()
        self.appends = AppendQueue(journal, context)
        self.creates = Creates(context, self.work, self.appends)
        self._yielding = Yielding()

    def keep_only(self, fresh: Sequence[Change]) -> None:
        """Before the start: skip the changes that do not come out the same on the record as it is now."""
        self.changes = self.work.unchanged(fresh, self.changes, _CHANGED)

    # What the driver calls

    def start(self, now: Instant) -> list[Effect]:
        for change in self.changes:
            self.work.add(change)
        effects: list[Effect] = [Authorise()] if self.work.sends else []
        return effects + self._pump(now)

    def handle(self, event: Event, now: Instant) -> list[Effect]:
        effects: list[Effect] = []
        match event:
            case Authorised():
                self.creates.authorised = True
            case Unauthorised(detail):
                self.work.drop_sends(Done.NOT_SENT, detail)
            case Appended() | Conflict() | AppendFailed():
                effects = self._on_append(event, now)
            case RereadDone():
                effects = self.creates.on_reread(event, now)
            case RereadFailed(detail):
                self.creates.on_failed_reread(f"could not re-read the record before sending: {detail}", now)
            case Answered():
                self.creates.on_answer(event, now)
            case InterruptAsked():
                self._on_interrupt(now)
            case Ticked():
                pass
            case _:
                assert_never(event)
        return effects + self._pump(now)

    def salvage(self, answers: Iterable[Answered], failure: str, now: Instant) -> None:
        """End the run after an unexpected error, with the outcomes of its calls as far as `answers` show them."""
        self.failure, self.finished = failure, True
        self.creates.salvage(answers, failure, now)
        for change in self.changes:
            if (change.address, change.action) not in self.results:
                self.work.conclude(change, Done.SKIPPED, detail=failure)

    @property
    def in_flight(self) -> set[str]:
        """The attempts whose calls have not ended."""
        return self.creates.in_flight

    @property
    def calls_left(self) -> int:
        """How many calls may still have to be sent, as far as is known; none before they may be."""
        return self.creates.left

    @property
    def wake_at(self) -> float | None:
        """When, in steady seconds, to handle Ticked at the latest, if no other event comes."""
        times = (self.appends.wake_at, self.creates.wake_at, self._yielding.until if self.work else None)
        return min((time for time in times if time is not None), default=None)

    @property
    def results(self) -> Mapping[tuple[Address, Action], Result]:
        """The results of the changes that are over, by address and action."""
        return self.work.results

    # What events mean

    def _on_append(self, event: Appended | Conflict | AppendFailed, now: Instant) -> list[Effect]:
        end, batch = self.appends.conclude(event, now)
        match end:
            case "durable":
                return self._on_durable(batch.drafts, now)
            case "conflict":
                assert not isinstance(event, Appended)  # noqa: S101 - only a journal that was read shows a conflict
                self._plan_again(batch, event.same_service, now)
            case "failed":
                self._stop_for_store(batch)
            case "retry":
                pass
            case _:
                assert_never(end)
        return []

    def _on_durable(self, drafts: Iterable[Draft], now: Instant) -> list[Effect]:
        attempts = []
        for draft in drafts:
            match draft.change.action:
                case Action.RESTORE:
                    self.work.conclude(draft.change, Done.RESTORED)
                case Action.RETIRE:
                    self.work.retired += draft.change.concerns
                    self.work.conclude(draft.change, Done.RETIRED)
                case Action.CREATE | Action.EXTEND | Action.REPLACE:
                    attempts.append(draft.attempt)
                case Action.BLOCKED:
                    raise ValueError(draft.change.action)
                case _:
                    assert_never(draft.change.action)
        return self.creates.send_first(attempts, now)

    def _plan_again(self, batch: Batch, same_service: ServiceRecords, now: Instant) -> None:
        """After a conflict: go on only with what comes out the same on the record as it is now."""
        waiting = [*(draft.change for draft in batch.drafts), *self.work.take_all()]
        self.creates.discard(batch.drafts)
        fresh: Sequence[Change] = ()
        reason = "interrupted" if self.creates.interrupted else same_service.problem
        if waiting and reason is None:
            try:
                fresh = self.context.replan(self.appends.record, same_service.records)
            except ReconcilerError as problem:
                reason = str(problem)
        unchanged = self.work.unchanged(fresh, waiting, reason or _CHANGED)
        for change in unchanged:
            self.work.add(change)
        if len(unchanged) < len(waiting):
            self._yielding = self._yielding.after_loss(self.appends.took, self.context, now)

    def _stop_for_store(self, batch: Batch) -> None:
        """The store cannot be written: start nothing more."""
        detail = not_started(self.appends.problem)
        self.creates.discard(batch.drafts)
        for draft in batch.drafts:
            self.work.add(draft.change)
        self.work.drop_sends(Done.NOT_SENT, detail)
        self.work.drop_local(detail)

    def _on_interrupt(self, now: Instant) -> None:
        self.work.drop_sends(Done.SKIPPED, "interrupted")
        self.work.drop_local("interrupted")
        limits, give_up_at = self.context.limits, now.steady
        if self.creates.interrupted:
            self.appends.give_up_at = give_up_at + limits.parting
        else:
            give_up_at += limits.grace
            self.appends.give_up_at = give_up_at + limits.closing
        self.creates.interrupt(give_up_at, now)

    # What to do next

    def _pump(self, now: Instant) -> list[Effect]:
        self._yielding = self._yielding.at(now)
        effects = self.creates.retry_due(now)
        self.creates.give_up_overdue(now)
        abandoned = self.appends.abandon_overdue(now)
        if abandoned is not None:
            self._stop_for_store(abandoned)
        effects += self.creates.reread()
        if not self._waits_for_batch(now):
            effects += self._append(now)
        self.finished = not (self.work or self.creates or self.appends.busy)
        return effects

    def _waits_for_batch(self, now: Instant) -> bool:
        """Whether the next append waits for calls in flight, whose outcomes it could carry too."""
        return bool(self.in_flight) and not self.creates.interrupted and self.appends.waits_for_batch(now)

    def _append(self, now: Instant) -> list[Effect]:
        """The append to make now: what is pending, and the next drafts."""
        may_draft = self.appends.idle and not self._yields
        drafts = [*self._draft_local(now), *self.creates.drafts(now)] if may_draft else []
        append = self.appends.next_append(drafts, now)
        return [] if append is None else [append]

    @property
    def _yields(self) -> bool:
        """Whether the next intents wait for another run; what is to be recorded takes them along."""
        return self._yielding.until is not None and not (self.creates or self.appends.busy)

    def _draft_local(self, now: Instant) -> list[Draft]:
        """The local changes that can be made now. Where there are none, it takes no longer with each create to come."""
        if not self.work.local:
            return []
        unfinished = {change.address for change in self.work.sends} | self.creates.addresses
        ready = self.work.take_ready(unfinished)
        return [Draft(change, local_entries(change, self.context, now)) for change in ready]
