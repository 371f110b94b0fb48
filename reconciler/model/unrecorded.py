"""A record with entries that could not be appended to it: what they say was created is not created again."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from msgspec.structs import replace

from reconciler.model.attempt import Status, imported, intended, stronger
from reconciler.model.entry import (
    Begun,
    Bound,
    Closed,
    Imported,
    Intent,
    Joined,
    Moved,
    Observed,
    Opened,
    Removed,
    Resealed,
    Resolved,
    Restored,
    Retired,
    RollbackAccepted,
    SecretSet,
    Settled,
)
from reconciler.model.outcome import Outcome
from reconciler.model.record import MeaninglessEntry

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from reconciler.model.attempt import Attempt
    from reconciler.model.entry import AnyEntry
    from reconciler.model.record import Record

_BEGINNINGS = Intent | Imported
_NOT_CREATED = (Outcome.REJECTED, Outcome.NOT_SENT)


def counting(record: Record, entries: Iterable[AnyEntry]) -> tuple[Record, frozenset[str]]:
    """The record, with every create that only `entries` have as UNKNOWN; and the attempts that they add to.

    UNKNOWN and not LIVE even where the outcome is known: a plan may retire, restore and replace what is LIVE, and the
    journal could not hold that of an attempt which is not in it. Nothing that the record says is weakened.

    Raises MeaninglessEntry for the outcome of an attempt without an intent.
    """
    begun, outcomes = _sorted_out(entries)
    attempts, touched, news = dict(record.attempts), dict(record.touched), set()
    for attempt, outcome in {**dict.fromkeys(begun), **outcomes}.items():
        known = record.attempts.get(attempt)
        if known is not None and (outcome is None or stronger(known.outcome, outcome) is known.outcome):
            continue
        news.add(attempt)
        if outcome in _NOT_CREATED:
            continue
        if known is None and attempt not in begun:
            raise MeaninglessEntry(f"attempt {attempt} was never started", attempt)
        if known is None or _in_doubt(known, outcome):
            attempts[attempt] = counted = replace(known or begun[attempt], status=Status.UNKNOWN)
            touched[counted.address] = f"unrecorded {attempt}"
    return replace(record, attempts=attempts, touched=touched), frozenset(news)


def followable(record: Record, entries: Iterable[AnyEntry]) -> tuple[list[AnyEntry], list[AnyEntry]]:
    """Which of `entries` can follow the record, those that start an attempt first; and which cannot."""
    known = set(record.attempts)
    can: list[AnyEntry] = []
    cannot: list[AnyEntry] = []
    for entry in sorted(entries, key=lambda entry: not isinstance(entry, _BEGINNINGS)):
        follows = _follows(entry, known)
        (can if follows else cannot).append(entry)
        if follows and isinstance(entry, _BEGINNINGS):
            known.add(entry.attempt)
    return can, cannot


def _follows(entry: AnyEntry, attempts: Container[str]) -> bool:
    """Whether an entry can follow in a record with these attempts."""
    match entry:
        case Intent() | Imported():
            return entry.attempt not in attempts
        case Settled() | Resolved() | Retired() | Restored() | Removed() | SecretSet() | Resealed():
            return entry.attempt in attempts
        case Begun() | Joined() | Closed() | Opened():
            return False
        case Bound() | Moved() | RollbackAccepted() | Observed():
            return True
        case _:
            assert_never(entry)


def _sorted_out(entries: Iterable[AnyEntry]) -> tuple[dict[str, Attempt], dict[str, Outcome]]:
    """The attempts that entries start, and the outcomes that they contain."""
    begun: dict[str, Attempt] = {}
    outcomes: dict[str, Outcome] = {}
    for entry in entries:
        match entry:
            case Intent():
                begun[entry.attempt] = intended(entry)
            case Imported():
                begun[entry.attempt] = imported(entry)
            case Settled():
                outcomes[entry.attempt] = stronger(outcomes.get(entry.attempt), entry.outcome)
            case Resolved() | Retired() | Restored() | Removed() | SecretSet() | Resealed() | Begun() | Joined():
                pass  # about no create call
            case Bound() | Moved() | RollbackAccepted() | Observed() | Closed() | Opened():
                pass
            case _:
                assert_never(entry)
    return begun, outcomes


def _in_doubt(known: Attempt, outcome: Outcome | None) -> bool:
    """Whether the outcome contradicts the record: more may exist than it says."""
    return known.status is Status.PENDING or (known.status is Status.GONE and outcome is Outcome.CREATED)
