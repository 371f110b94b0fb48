"""What is still to be appended: outcomes that are owed, and entries that are proposed.

One append is under way at a time; what gathers meanwhile goes out together in the next. So that calls which end one
shortly after the other share an append, what is owed may wait for as long as the last append took: where an append is a
push, that halves their number, and where it is a write to a file, nobody notices. Owed entries come first and are never
given up; proposals hold only for the head they were made for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from reconciler.applying.events import Append, Appended, AppendFailed, Moved
from reconciler.model.clock import Instant, stamp
from reconciler.model.entry import Bound, Intent, Restored, Retired, Settled
from reconciler.state.journal.chain import link

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.applying.terms import Terms
    from reconciler.model.entry import AnyEntry
    from reconciler.model.plan import Change
    from reconciler.model.record import Record
    from reconciler.state.journal.chain import Journal

Verdict = Literal["durable", "moved", "again", "failed"]
_NAMED = 3  # entries that a note names
_NOT_A_SUCCESSOR = "what is in the store now does not go on from what was read of it before"


@dataclass(frozen=True, slots=True)
class Proposal:
    """Entries that carry out a change, if nothing has changed by the time they are appended."""

    change: Change
    entries: tuple[AnyEntry, ...]
    attempt: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """What one append carries: `owed` of the owed entries, and proposals. `head`, `number`: what it leads to."""

    effect: Append
    owed: int
    proposals: tuple[Proposal, ...]
    head: str
    number: int


class Ledger:
    """The journal's head as last known, and what waits to be appended to it.

    `problem` is why the last append failed. `give_up_at` (steady seconds) is when to stop waiting for the store.
    """

    def __init__(self, journal: Journal, terms: Terms) -> None:
        self.problem = ""
        self.give_up_at: float | None = None
        self._record = journal.record()
        self._head, self._number = journal.head, len(journal.lines)
        self._bound = self._record.account is not None
        self._terms = terms
        self._owed: list[AnyEntry] = []
        self._owed_in_vain = 0
        self._owed_since = 0.0
        self._begun = self._first_tried = Instant(0.0, 0.0)
        self._took = 0.0
        self._proposals: list[Proposal] = []
        self._under_way: Batch | None = None
        self._again: Batch | None = None
        self._retry_at: float | None = None
        self._failures = 0
        self._intents: dict[str, Intent] = {}

    @property
    def record(self) -> Record:
        """The record as last read; the entries appended since are not in it."""
        return self._record

    @property
    def begun(self) -> Instant:
        """When the last append was first tried: what it carried may be in the record since then, and not before."""
        return self._first_tried

    @property
    def idle(self) -> bool:
        """Whether something new may be proposed."""
        return self._under_way is None and self._again is None

    @property
    def busy(self) -> bool:
        """Whether something is still to be appended, with a prospect of success."""
        return not self.idle or bool(self._proposals) or self._owes_something_new

    @property
    def owed(self) -> Sequence[AnyEntry]:
        """The entries that are owed and, as far as is known, not durable."""
        return tuple(self._owed)

    @property
    def to_keep(self) -> Sequence[AnyEntry]:
        """What is owed, each outcome after the intent of this run that it belongs to: a record may have lost that."""
        lost = {entry.attempt: self._intents[entry.attempt] for entry in self._owed_outcomes}
        return tuple(lost.values()) + tuple(self._owed)

    @property
    def wake_at(self) -> float | None:
        """When, in steady seconds, there is something to do, if nothing is heard of the store until then."""
        gathered_at = self._gathered_at if self.idle and self._owes_something_new else None
        times = (self._retry_at, None if self.idle else self.give_up_at, gathered_at)
        return min((time for time in times if time is not None), default=None)

    def gathers(self, now: Instant) -> bool:
        """Whether what is owed may still wait for more to come, no longer than an append takes."""
        return self.idle and self._owes_something_new and now.steady < self._gathered_at

    def break_in(self, journal: Journal) -> str | None:
        """What keeps `journal`, read just now, from being the record of this run: it was rolled back, or replaced."""
        return None if journal.contains(self._head, self._number) else _NOT_A_SUCCESSOR

    def owe(self, entry: AnyEntry, now: Instant) -> None:
        if not self._owes_something_new:
            self._owed_since = now.steady
        self._owed.append(entry)

    def propose(self, proposal: Proposal) -> None:
        self._proposals.append(proposal)

    def next_append(self, now: Instant) -> Append | None:
        """The append to make now, None where there is none to make, or none yet."""
        if self._under_way is not None or (self._retry_at is not None and now.steady < self._retry_at):
            return None
        if self._again is not None:
            self._under_way, self._again, self._retry_at = self._again, None, None
        elif self._proposals or self._owes_something_new:
            self._under_way = self._batch(now)
            self._first_tried = now
        self._begun = now
        return None if self._under_way is None else self._under_way.effect

    def conclude(self, event: Appended | Moved | AppendFailed, now: Instant) -> tuple[Verdict, Batch]:
        """What became of the append under way, and what it carried."""
        batch = self._under_way
        assert batch is not None  # noqa: S101 - only an append under way can end
        self._under_way = None
        self._took = now.steady - self._begun.steady
        journal = None if isinstance(event, Appended) else event.journal
        if isinstance(event, Appended) or (journal is not None and journal.contains(batch.head, batch.number)):
            return self._durable(batch)
        self.problem = event.detail if isinstance(event, AppendFailed) else _NOT_A_SUCCESSOR
        if journal is None or not self._has_moved(journal):
            return self._failed(batch, now)
        self._see(journal)
        return "moved", batch

    def abandon_overdue(self, now: Instant) -> Batch | None:
        """The append that is not waited for any longer, if it has come to that."""
        batch = self._under_way or self._again
        if batch is None or self.give_up_at is None or now.steady < self.give_up_at:
            return None
        self.problem = self.problem or "the store has not answered in time; what is on its way to it may still arrive"
        self._under_way = self._again = self._retry_at = None
        self._owed_in_vain = len(self._owed)
        return batch

    @property
    def _owed_outcomes(self) -> list[Settled]:
        return [entry for entry in self._owed if isinstance(entry, Settled) and entry.attempt in self._intents]

    @property
    def _gathered_at(self) -> float:
        return self._owed_since + min(self._took, self._terms.limits.gathering)

    @property
    def _owes_something_new(self) -> bool:
        return len(self._owed) > self._owed_in_vain

    def _batch(self, now: Instant) -> Batch:
        proposals, self._proposals = tuple(self._proposals), []
        proposed = [entry for proposal in proposals for entry in proposal.entries]
        entries = [*self._owed, *self._binding(proposed, now), *proposed]
        lines, head = link(self._head, self._number, entries)
        effect = Append(self._head, lines, self._describe(entries))
        return Batch(effect, len(self._owed), proposals, head, self._number + len(entries))

    def _binding(self, proposed: Iterable[AnyEntry], now: Instant) -> list[AnyEntry]:
        """The first create of all binds the record to the account it is made with."""
        if self._bound or not any(isinstance(entry, Intent) for entry in proposed):
            return []
        terms = self._terms
        return [Bound(at=stamp(now.wall), by=terms.by, base_url=self._record.base_url, account=terms.account)]

    def _describe(self, entries: Iterable[AnyEntry]) -> str:
        """What a batch is about, in a line, for stores that keep a history of their own."""
        words = []
        for entry in entries:
            match entry:
                case Intent():
                    self._intents[entry.attempt] = entry
                    words.append(f"{entry.action} {entry.address.name}")
                case Settled() | Retired() | Restored():
                    words.append(f"{_verb(entry)} {self._name(entry.attempt)}")
                case _:
                    words.append(entry.kind)
        more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
        run = f" ({self._terms.by['url']})" if "url" in self._terms.by else ""
        return f"{self._record.target}: {', '.join(words[:_NAMED])}{more}{run}"

    def _name(self, attempt: str) -> str:
        known = self._record.attempts.get(attempt)
        return known.address.name if known else self._intents[attempt].address.name

    def _durable(self, batch: Batch) -> tuple[Verdict, Batch]:
        """The head is now the batch's own, even if others have gone on from there: the next append will meet that."""
        self._head, self._number = batch.head, batch.number
        self._bound = self._bound or any(proposal.attempt for proposal in batch.proposals)
        del self._owed[: batch.owed]
        self._failures = self._owed_in_vain = 0
        return "durable", batch

    def _has_moved(self, journal: Journal) -> bool:
        """Whether the journal goes on from the head last known; one that does not was rolled back, or is another."""
        return journal.head != self._head and journal.contains(self._head, self._number)

    def _see(self, journal: Journal) -> None:
        new = [entry for entry, _ in journal.lines[self._number :]]
        self._owed = [entry for entry in self._owed if entry not in new]  # what failed may have arrived all the same
        self._owed_in_vain = 0
        self._record = journal.record()
        self._head, self._number = journal.head, len(journal.lines)
        self._bound = self._record.account is not None

    def _failed(self, batch: Batch, now: Instant) -> tuple[Verdict, Batch]:
        """Try the very same lines again for a while: if the first try arrives after all, it is the same append."""
        backoff = self._terms.limits.backoff
        self._failures += 1
        if self._failures <= len(backoff):
            self._again = batch
            self._retry_at = now.steady + backoff[self._failures - 1]
            return "again", batch
        self._owed_in_vain = batch.owed
        return "failed", batch


def _verb(entry: Settled | Retired | Restored) -> str:
    """What became of an attempt, as a history says it."""
    return entry.outcome.value.replace("_", " ") if isinstance(entry, Settled) else entry.kind
