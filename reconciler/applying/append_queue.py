"""What is still to be appended: pending entries, and drafts of changes.

One append is in flight at a time; what arises meanwhile goes out together in the next (group commit). So that calls
which end shortly after one another share an append, a pending entry may wait for as long as the last append took: with
a store that pushes, this halves the number of appends; with a file, nobody notices. Pending entries come first and are
never given up; drafts are valid only for the head they were made for.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, assert_never

from msgspec import Struct

from reconciler.applying.context import RunContext
from reconciler.applying.events import Append, Appended, AppendFailed, Conflict
from reconciler.applying.writing import ApplyEntry
from reconciler.model.clock import Instant, stamp
from reconciler.model.entry import Bound, Intent, Restored, Retired, Settled
from reconciler.model.plan import Change
from reconciler.state.journal.chain import Journal, link

AppendEnd = Literal["durable", "conflict", "retry", "failed"]
_NAMED = 3  # entries that a note names
_NOT_A_SUCCESSOR = "the journal in the store does not continue the one read before"


class Draft(Struct, frozen=True):
    """The entries that carry out a change, if nothing has changed when they are appended."""

    change: Change
    entries: tuple[ApplyEntry, ...]
    attempt: str = ""


class Batch(Struct, frozen=True):
    """What one append carries: `pending` of the pending entries, and drafts. `head`, `number`: what it leads to."""

    effect: Append
    pending: int
    drafts: tuple[Draft, ...]
    head: str
    number: int


class Idle(Struct, frozen=True):
    """No append is in flight."""


class Appending(Struct, frozen=True):
    """An append has been sent to the store, and has not ended."""

    batch: Batch


class AwaitingRetry(Struct, frozen=True):
    """An append has failed, and the same lines are appended again `at` (steady seconds)."""

    batch: Batch
    at: float


class Abandoned(Struct, frozen=True):
    """Nothing more is appended: the store has not answered in time, or the record was closed."""


State = Idle | Appending | AwaitingRetry | Abandoned


class AppendQueue:
    """The journal's head as last known, and what waits to be appended to it.

    `record` is as last read, without the entries appended since. What the last batch carried may be in the record since
    `first_tried_at`, and not before. `problem` is why the last append failed. `give_up_at` (steady seconds) is when to
    stop waiting for the store. `took` is how many seconds the last append took.
    """

    def __init__(self, journal: Journal, context: RunContext) -> None:
        self.problem = ""
        self.give_up_at: float | None = None
        self.record = journal.record()
        self._head, self._number = journal.head, len(journal.lines)
        self._bound = self.record.account is not None
        self._context = context
        self._state: State = Idle()
        self._pending: list[ApplyEntry] = []
        self._failed_pending = 0
        self._pending_since = 0.0
        self._started = self.first_tried_at = Instant(0.0, 0.0)
        self.took = 0.0
        self._failures = 0
        self._intents: dict[str, Intent] = {}

    @property
    def idle(self) -> bool:
        """Whether drafts may be appended."""
        return isinstance(self._state, Idle)

    @property
    def busy(self) -> bool:
        """Whether something is still to be appended that has not failed for good."""
        match self._state:
            case Idle():
                return self._has_new_pending
            case Appending() | AwaitingRetry():
                return True
            case Abandoned():
                return False
            case _:
                assert_never(self._state)

    @property
    def to_save(self) -> Sequence[ApplyEntry]:
        """The pending entries, after the intents of this run that they belong to: a record may have lost those.

        After the run has finished, they are those that could not be appended.
        """
        outcomes = [entry for entry in self._pending if isinstance(entry, Settled) and entry.attempt in self._intents]
        intents = {outcome.attempt: self._intents[outcome.attempt] for outcome in outcomes}
        return (*intents.values(), *self._pending)

    @property
    def wake_at(self) -> float | None:
        """When, in steady seconds, there is something to do, if the store does not answer until then."""
        match self._state:
            case Idle():
                return self._batch_due if self._has_new_pending else None
            case Appending():
                return self.give_up_at
            case AwaitingRetry(_, at):
                return at if self.give_up_at is None else min(at, self.give_up_at)
            case Abandoned():
                return None
            case _:
                assert_never(self._state)

    def waits_for_batch(self, now: Instant) -> bool:
        """Whether what is pending may still wait for more, no longer than an append takes."""
        return self.idle and self._has_new_pending and now.steady < self._batch_due

    def discontinuity(self, journal: Journal) -> str | None:
        """Why `journal`, just read, is not the record of this run: it was rolled back or replaced. None if it is."""
        return None if journal.contains(self._head, self._number) else _NOT_A_SUCCESSOR

    def add(self, entry: ApplyEntry, now: Instant) -> None:
        """The entry is pending from now on."""
        if not self._has_new_pending:
            self._pending_since = now.steady
        self._pending.append(entry)

    def next_append(self, drafts: Sequence[Draft], now: Instant) -> Append | None:
        """The append to make now, None if there is none, or none yet. `drafts` are empty unless the queue is idle."""
        match self._state:
            case Appending() | Abandoned():
                return None
            case AwaitingRetry(batch, at):
                if now.steady < at:
                    return None
            case Idle():
                if not drafts and not self._has_new_pending:
                    return None
                batch = self._batch(drafts, now)
                self.first_tried_at = now
            case _:
                assert_never(self._state)
        self._state = Appending(batch)
        self._started = now
        return batch.effect

    def conclude(self, event: Appended | Conflict | AppendFailed, now: Instant) -> tuple[AppendEnd, Batch]:
        """How the append in flight has ended, and what it carried."""
        assert isinstance(self._state, Appending)  # noqa: S101 - only an append in flight can end
        batch, self._state = self._state.batch, Idle()
        self.took = now.steady - self._started.steady
        journal = None if isinstance(event, Appended) else event.journal
        # A lost answer of the store looks like a conflict or a failure: what was read since decides.
        if isinstance(event, Appended) or (journal is not None and journal.contains(batch.head, batch.number)):
            return self._durable(batch)
        self.problem = event.detail if isinstance(event, AppendFailed) else _NOT_A_SUCCESSOR
        if journal is None or not self._is_successor(journal):
            return self._failed(batch, now)
        self._adopt(journal)
        if self.record.closed is None:
            return "conflict", batch
        self.problem = f"it was closed, since it is copied to {self.record.closed.to}"
        self._state = Abandoned()
        return "failed", batch

    def abandon_overdue(self, now: Instant) -> Batch | None:
        """The append that is not waited for any longer, if there is one."""
        match self._state:
            case Idle() | Abandoned():
                return None
            case Appending(batch) | AwaitingRetry(batch):
                if self.give_up_at is None or now.steady < self.give_up_at:
                    return None
            case _:
                assert_never(self._state)
        self.problem = self.problem or "the store timed out; the pending write may still succeed"
        self._state = Abandoned()
        return batch

    @property
    def _batch_due(self) -> float:
        return self._pending_since + min(self.took, self._context.limits.batch_delay)

    @property
    def _has_new_pending(self) -> bool:
        return len(self._pending) > self._failed_pending

    def _batch(self, drafts: Sequence[Draft], now: Instant) -> Batch:
        drafted = [entry for draft in drafts for entry in draft.entries]
        entries = [*self._pending, *self._binding(drafted, now), *drafted]
        lines, head = link(self._head, self._number, entries)
        effect = Append(self._head, self._number + 1, lines, self._describe(entries))
        return Batch(effect, len(self._pending), tuple(drafts), head, self._number + len(entries))

    def _binding(self, drafted: Iterable[ApplyEntry], now: Instant) -> list[Bound]:
        """The first create of all binds the record to the account it is made with."""
        if self._bound or not any(isinstance(entry, Intent) for entry in drafted):
            return []
        context = self._context
        return [Bound(at=stamp(now.wall), by=context.by, base_url=self.record.base_url, account=context.account)]

    def _describe(self, entries: Iterable[ApplyEntry]) -> str:
        """One line about a batch, for stores that keep a history of their own."""
        words = []
        for entry in entries:
            match entry:
                case Intent():
                    self._intents[entry.attempt] = entry
                    words.append(f"{entry.action} {entry.address.name}")
                case Settled():
                    words.append(f"{entry.outcome.value.replace('_', ' ')} {self._name(entry.attempt)}")
                case Retired() | Restored():
                    words.append(f"{entry.kind} {self._name(entry.attempt)}")
                case Bound():
                    words.append(entry.kind)
                case _:
                    assert_never(entry)
        more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
        run = f" ({self._context.by['url']})" if "url" in self._context.by else ""
        return f"{self.record.target}: {', '.join(words[:_NAMED])}{more}{run}"

    def _name(self, attempt: str) -> str:
        known = self.record.attempts.get(attempt)
        return known.address.name if known else self._intents[attempt].address.name

    def _durable(self, batch: Batch) -> tuple[AppendEnd, Batch]:
        """The head is now the batch's own, even if others have appended since: the next append will conflict."""
        self._head, self._number = batch.head, batch.number
        self._bound = self._bound or any(draft.attempt for draft in batch.drafts)
        del self._pending[: batch.pending]
        self._failures = self._failed_pending = 0
        return "durable", batch

    def _is_successor(self, journal: Journal) -> bool:
        """Whether the journal continues from the head last known; if not, it was rolled back or replaced."""
        return journal.head != self._head and journal.contains(self._head, self._number)

    def _adopt(self, journal: Journal) -> None:
        """Go on from a journal that others have appended to."""
        new = [entry for entry, _ in journal.lines[self._number :]]
        self._pending = [entry for entry in self._pending if entry not in new]  # a failed append may have arrived
        self._failed_pending = 0
        self.record = journal.record()
        self._head, self._number = journal.head, len(journal.lines)
        self._bound = self.record.account is not None

    def _failed(self, batch: Batch, now: Instant) -> tuple[AppendEnd, Batch]:
        """Retry the very same lines for a while: if the first try arrives after all, it is the same append."""
        backoff = self._context.limits.backoff
        self._failures += 1
        if self._failures <= len(backoff):
            self._state = AwaitingRetry(batch, now.steady + backoff[self._failures - 1])
            return "retry", batch
        self._failed_pending = batch.pending
        return "failed", batch
