"""Holds the facts that wait to be appended: pending facts and drafts of changes.

Only one append is in flight; facts that arise meanwhile go into the next one (group commit). A pending fact may wait as
long as the last append took, so that calls that end shortly after one another share an append. This halves the number
of appends to a remote git store, and costs no noticeable time with a file. Pending facts come first and are never
dropped. Drafts are valid only for the head that they were made for.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, assert_never

from msgspec import Struct

from reconciler.applying.events import Append, Appended
from reconciler.errors import Message
from reconciler.record.chain import link
from reconciler.record.facts import Answered, Intended, RemovalCancelled, RemovalRequested
from reconciler.values import Instant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.applying.calls import ApplyFact
    from reconciler.applying.events import Context, NotAppended
    from reconciler.model.plan import Change
    from reconciler.record.journal import Reading


_LISTED = 3  # facts named in a summary
_OUTCOME_CONFLICTS = 3  # times `Limits.conflicts`, which only stops new calls: appends of outcomes are tried for longer


class AppendEnd(Enum):
    """The result of an append.

    DURABLE: the appended lines are in the record. MOVED: another run appended first. REPLACED: the record lacks entries
    that this run has read. RETRY: the same lines will be appended again. FAILED: the append failed for good.
    """

    DURABLE = "durable"
    MOVED = "moved"
    REPLACED = "replaced"
    RETRY = "retry"
    FAILED = "failed"


class ChangeDraft(Struct, frozen=True):
    """The facts that carry out a change if the head has not moved.

    `attempt` is the id of the attempt whose intent is among the facts, or "" if there is no intent.
    """

    change: Change
    facts: tuple[ApplyFact, ...]
    attempt: str = ""


class Batch(Struct, frozen=True):
    """An append of the first `pending` facts of the queue, and of `drafts`. It brings the record to `number` lines."""

    effect: Append
    pending: int
    drafts: tuple[ChangeDraft, ...]
    number: int

    def is_in(self, reading: Reading) -> bool:
        """True if the record has this batch at its intended position."""
        return len(reading.lines) >= self.number and reading.lines[self.number - 1].hash == self.effect.last


class AppendQueue:
    """The last known head of the record, and the facts that wait to be appended.

    - `reading` is the record as last read, without the facts appended since.
    - `problem` is the reason why the last append failed, and `conflicts` counts consecutive conflicts.
    - `give_up_at` (steady seconds) is the time at which to stop waiting for the store.
    - `abandoned` is true if nothing more will be appended: the store did not answer in time, or the record is closed.
    - `tried_at` is the earliest time at which the last batch may have reached the record.
    - `took` is the duration of the last append in seconds.
    """

    def __init__(self, reading: Reading, context: Context) -> None:
        self.reading = reading
        self.problem: Message | None = None
        self.give_up_at: float | None = None
        self.abandoned = False
        self.tried_at = Instant(0.0, 0.0)
        self.took = 0.0
        self.conflicts = 0
        self._context = context
        self._head, self._number = reading.record.head, len(reading.lines)
        self._batch: Batch | None = None
        self._retry_at: float | None = None
        self._started = 0.0
        self._failures = 0
        self._pending: list[ApplyFact] = []
        self._failed_pending = 0  # pending facts of an append that failed for good; only new facts make another append
        self._pending_since = 0.0
        self._intents: dict[str, Intended] = {}

    @property
    def idle(self) -> bool:
        """True if drafts may be appended."""
        return self._batch is None and not self.abandoned

    @property
    def busy(self) -> bool:
        """True if facts remain to be appended. Facts whose append has failed for good do not count."""
        return not self.abandoned and (self._batch is not None or self._has_new_pending)

    @property
    def unrecorded(self) -> list[ApplyFact]:
        """Return the pending facts, preceded by the intents of this run whose outcomes are among them.

        The record may have lost these intents. Once the run has finished, these are the facts that could not be
        appended.
        """
        attempts = dict.fromkeys(fact.attempt for fact in self._pending if isinstance(fact, Answered))
        return [*(self._intents[attempt] for attempt in attempts if attempt in self._intents), *self._pending]

    @property
    def wake_at(self) -> float | None:
        """Return the time of the queue's next timeout, in steady seconds, or None if it has none."""
        if not self.busy:
            return None
        if self._batch is None:
            return self._batch_due
        return min((at for at in (self._retry_at, self.give_up_at) if at is not None), default=None)

    def waits_for_batch(self, now: Instant) -> bool:
        """True if pending facts may still wait for other facts. They wait no longer than the last append took."""
        return self.idle and self._has_new_pending and now.steady < self._batch_due

    def add(self, facts: Iterable[ApplyFact], now: Instant) -> None:
        """Add facts to the pending facts."""
        if not self._has_new_pending:
            self._pending_since = now.steady
        self._pending += facts

    def start_append(self, drafts: Sequence[ChangeDraft], now: Instant) -> Append | None:
        """Start the append or the retry that is due, and return its effect, or None if nothing is due.

        `drafts` must be empty unless the queue is idle.
        """
        if self.abandoned:
            return None
        if self._batch is None:
            if not drafts and not self._has_new_pending:
                return None
            self._batch = self._new_batch(drafts)
            self.tried_at = now
        elif self._retry_at is None or now.steady < self._retry_at:
            return None
        self._retry_at = None
        self._started = now.steady
        return self._batch.effect

    def end_append(self, event: Appended | NotAppended, now: Instant) -> tuple[AppendEnd, Batch]:
        """End the append in flight, and return its result and its batch."""
        batch = self._batch
        assert batch is not None  # noqa: S101 - only an append in flight can end
        self.took = now.steady - self._started
        # A lost answer looks like a conflict or a failure, so the record that was read since decides.
        if isinstance(event, Appended) or (event.reading is not None and batch.is_in(event.reading)):
            self._advance(batch)
            return AppendEnd.DURABLE, batch
        self.problem = event.problem
        reading = event.reading
        if reading is None or self._is_unmoved(reading):
            return self._retry_or_fail(batch, now), batch
        self._batch = None
        self.conflicts += 1
        closing = self._closing_problem(reading, event.problem)
        if closing is not None:
            self.problem, self.abandoned = closing, True
            return AppendEnd.FAILED, batch
        continues = reading.record.contains(self._head)
        self._adopt(reading)
        return AppendEnd.MOVED if continues else AppendEnd.REPLACED, batch

    def abandon_overdue(self, now: Instant) -> Batch | None:
        """Give up the append in flight if it is overdue, and return its batch; otherwise return None."""
        batch = self._batch
        if batch is None or self.give_up_at is None or now.steady < self.give_up_at:
            return None
        late = Message("store-timeout", "the store timed out; the pending write may still succeed")
        self.problem = self.problem or late
        self._batch, self.abandoned = None, True
        return batch

    @property
    def _batch_due(self) -> float:
        return self._pending_since + min(self.took, self._context.limits.batch_delay)

    @property
    def _has_new_pending(self) -> bool:
        return len(self._pending) > self._failed_pending

    def _new_batch(self, drafts: Sequence[ChangeDraft]) -> Batch:
        facts = [*self._pending, *(fact for draft in drafts for fact in draft.facts)]
        self._intents.update((fact.attempt, fact) for fact in facts if isinstance(fact, Intended))
        new = link(self._head, self._number, facts)
        effect = Append(self.reading, self._head, self._number + 1, new, self._summary(facts))
        return Batch(effect, len(self._pending), tuple(drafts), self._number + len(facts))

    def _summary(self, facts: Iterable[ApplyFact]) -> str:
        """Return one line that describes a batch, for stores that keep a history."""
        descriptions = [self._describe(fact) for fact in facts]
        more = f" and {len(descriptions) - _LISTED} more" if len(descriptions) > _LISTED else ""
        run = f" ({self._context.by['url']})" if "url" in self._context.by else ""
        return f"{', '.join(descriptions[:_LISTED])}{more}{run}"

    def _describe(self, fact: ApplyFact) -> str:
        known = self.reading.record.attempts.get(fact.attempt)
        address = known.address if known else fact.attempt
        match fact:
            case Intended():
                return f"{fact.what.action} {fact.what.address}"
            case Answered():
                return f"{fact.outcome.value.replace('_', ' ')} {fact.what.address}"
            case RemovalRequested():
                return f"removal requested {address}"
            case RemovalCancelled():
                return f"removal cancelled {address}"
            case _:
                assert_never(fact)

    def _advance(self, batch: Batch) -> None:
        """Make the batch's last line the head. If other runs have appended since, the next append conflicts."""
        self._head, self._number = batch.effect.last, batch.number
        self._batch = None
        del self._pending[: batch.pending]
        self.conflicts = self._failures = self._failed_pending = 0

    def _is_unmoved(self, reading: Reading) -> bool:
        """True if the record and its gates are unchanged, so that the same lines may be appended again.

        A gate can close while the head stays the same, if only the second place has changed.
        """
        return reading.record.head == self._head and reading.standing == self.reading.standing

    def _closing_problem(self, reading: Reading, conflict: Message) -> Message | None:
        """Return the reason why not even outcomes can be appended, or None if they can.

        The reasons are a different record, a closed record, and too many conflicts.
        """
        if reading.record.id != self.reading.record.id:
            return Message("record-replaced", "another record has replaced this one", reading.standing.place)
        if reading.record.closed_to:
            what = f"the record was closed; it continues at {reading.record.closed_to}"
            return Message("record-closed", what, reading.standing.place)
        return conflict if self.conflicts >= _OUTCOME_CONFLICTS * self._context.limits.conflicts else None

    def _adopt(self, reading: Reading) -> None:
        """Continue with a record to which other runs have appended."""
        new = [line.fact for line in reading.lines[self._number :]]
        self._pending = [fact for fact in self._pending if fact not in new]  # a failed append may have arrived
        self._failed_pending = self._failures = 0
        self.reading = reading
        self._head, self._number = reading.record.head, len(reading.lines)

    def _retry_or_fail(self, batch: Batch, now: Instant) -> AppendEnd:
        """Return RETRY or, after several failures, FAILED.

        A retry appends the same lines, so that a first try that arrives late does no harm.
        """
        backoff = self._context.limits.backoff
        self._failures += 1
        if self._failures <= len(backoff):
            self._retry_at = now.steady + backoff[self._failures - 1]
            return AppendEnd.RETRY
        self._batch = None
        self._failed_pending = batch.pending
        return AppendEnd.FAILED
