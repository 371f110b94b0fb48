"""The verdict on a run, after its record was read again for the last time."""

from collections.abc import Collection, Iterable, Sequence
from typing import assert_never

from msgspec.structs import replace

from reconciler.model.address import Address
from reconciler.model.plan import Action, Block, Change
from reconciler.model.record import Attempt, Record, Status
from reconciler.model.result import Done, Result, Verdict


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on several runs; DONE if there are none."""
    return max(verdicts, key=list(Verdict).index, default=Verdict.DONE)


def is_unresolved(change: Change) -> bool:
    """Whether an earlier create of the change's address has an unknown outcome, or may be in flight."""
    return change.block is Block.UNRESOLVED


def in_flight(record: Record, left: Iterable[Change], wall: float) -> set[Address]:
    """The addresses with changes `left` that are blocked by a create of another run which may still get its outcome."""
    attempts = [attempt for change in left if is_unresolved(change) for attempt in _concerned(change, record)]
    return {attempt.address for attempt in attempts if attempt.status is Status.PENDING and attempt.settled_by > wall}


def with_others_work(results: Iterable[Result], left: Sequence[Change], under_way: Collection[Address]) -> list[Result]:
    """`results`, in which a skipped change says whether another run has done it, or is about to (`under_way`).

    It is done if nothing of its address is `left` to do.
    """
    unfinished = {change.address for change in left}
    return [_with_others_work(result, unfinished, under_way) for result in results]


def _with_others_work(result: Result, unfinished: set[Address], under_way: Collection[Address]) -> Result:
    if result.outcome is not Done.SKIPPED:
        return result
    if result.address not in unfinished:
        return replace(result, detail="already done by another run")
    if result.address not in under_way or result.action is Action.BLOCKED:
        return result
    return replace(result, detail="another run is still applying this address; apply again once that run has ended")


def with_times(results: Iterable[Result], record: Record) -> list[Result]:
    """`results`, in which an unknown outcome says until when the service may still process its call."""
    return [
        replace(result, settled_by=record.attempts[result.attempt].settled_by)
        if result.outcome is Done.UNKNOWN and result.attempt is not None and result.attempt in record.attempts
        else result
        for result in results
    ]


def restored_attempts(planned: Iterable[Change], results: Iterable[Result]) -> list[Attempt]:
    """What the changes `planned` have restored, by their results, as it was before."""
    restored = {result.address for result in results if result.outcome is Done.RESTORED}
    return [attempt for change in planned if change.address in restored for attempt in change.restored]


def exchanged_urls(planned: Iterable[Change], retired: Iterable[Attempt]) -> tuple[tuple[Address, ...], ...]:
    """The groups of addresses whose URLs the changes `planned` exchange, as far as that `retired` something."""
    ids = {attempt.id for attempt in retired}
    pairs = (change.exchanged for change in planned if change.exchanged and not ids.isdisjoint(change.concerns))
    return tuple(dict.fromkeys(pairs))


def verdict_of(
    planned: Sequence[Change], results: Sequence[Result], left: Sequence[Change], record: Record, wall: float
) -> Verdict:
    """The verdict on one target: what was planned, the results, and what is `left` to do on the record as it is now.

    UNRESOLVED is for unknown outcomes of this run, and for creates of others that are overdue or were unresolved when
    the plan was made.
    """
    if any(result.outcome is Done.UNKNOWN for result in results):
        return Verdict.UNRESOLVED
    ours = {result.address for result in results}
    unresolved_before = {change.address for change in planned if is_unresolved(change)}
    unresolved = [change for change in left if is_unresolved(change) and change.address in ours]
    if any(change.address in unresolved_before or _is_overdue(change, record, wall) for change in unresolved):
        return Verdict.UNRESOLVED
    waits = {change.address for change in left if change.block is Block.WAITS}
    unfinished = {change.address for change in left}
    failed = any(_failed(result, unfinished, waits) for result in results)
    return Verdict.FAILED if failed else Verdict.DONE


def verdict_without_record(planned: Iterable[Change], results: Iterable[Result]) -> Verdict:
    """The verdict on a target whose record cannot be read again: FAILED, or UNRESOLVED if anything is or was."""
    is_unknown = any(result.outcome is Done.UNKNOWN for result in results) or any(map(is_unresolved, planned))
    return Verdict.UNRESOLVED if is_unknown else Verdict.FAILED


def _is_overdue(change: Change, record: Record, wall: float) -> bool:
    attempts = _concerned(change, record)
    return any(attempt.status is Status.UNKNOWN or attempt.settled_by < wall for attempt in attempts)


def _concerned(change: Change, record: Record) -> list[Attempt]:
    """The attempts that a change concerns, except those in other records of the same service."""
    return [record.attempts[attempt] for attempt in change.concerns if attempt in record.attempts]


def _failed(result: Result, unfinished: set[Address], waits: set[Address]) -> bool:
    match result.outcome:
        case Done.REJECTED | Done.NOT_SENT:
            return True
        case Done.SKIPPED:
            return result.address in unfinished and not (result.action is Action.BLOCKED and result.address in waits)
        case Done.CREATED | Done.UNKNOWN | Done.RESTORED | Done.RETIRED:
            return False
        case _:
            assert_never(result.outcome)
