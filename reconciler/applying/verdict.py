"""What a run came to: which exit code, once the record has been read a last time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reconciler.model.plan import Action, Block
from reconciler.model.record import Status
from reconciler.model.result import Done

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.model.address import Address
    from reconciler.model.plan import Change
    from reconciler.model.record import Attempt, Record
    from reconciler.model.result import Result


def is_open(change: Change) -> bool:
    """Whether nobody knows what became of an earlier create."""
    return change.block is Block.UNRESOLVED


def is_in_flight(record: Record, left: Iterable[Change], wall: float) -> bool:
    """Whether a create of another run, which some of what is left waits for, may still settle by itself."""
    attempts = [one for change in left if is_open(change) for one in _concerned(change, record)]
    return any(one.status is Status.PENDING and one.settled_by > wall for one in attempts)


def with_others_work(results: Iterable[Result], left: Sequence[Change]) -> list[Result]:
    """`results` where what was skipped, but is as desired by now, says so."""
    unfinished = {change.address for change in left}
    return [
        replace(result, detail="as desired by now: another run, or a person, saw to it")
        if result.outcome is Done.SKIPPED and result.address not in unfinished
        else result
        for result in results
    ]


def exit_code(
    planned: Sequence[Change], results: Sequence[Result], left: Sequence[Change], record: Record, wall: float
) -> int:
    """0, 1 or 3 for one target: what was planned, what became of it, and what is left to do on the record now.

    3 is for unknown outcomes of one's own, and for creates of others that are overdue or were open from the start.
    """
    if any(result.outcome is Done.UNKNOWN for result in results):
        return 3
    ours = {result.address for result in results}
    open_before = {change.address for change in planned if is_open(change)}
    open_now = [change for change in left if is_open(change) and change.address in ours]
    if any(change.address in open_before or _is_overdue(change, record, wall) for change in open_now):
        return 3
    waits = {change.address for change in left if change.block is Block.WAITS}
    unfinished = {change.address for change in left}
    return int(any(_failed(result, unfinished, waits) for result in results))


def exit_code_unseen(planned: Iterable[Change], results: Iterable[Result]) -> int:
    """1, or 3 for what was open from the start or is now: for a target whose record cannot be read a last time."""
    is_unknown = any(one.outcome is Done.UNKNOWN for one in results) or any(map(is_open, planned))
    return 3 if is_unknown else 1


def _is_overdue(change: Change, record: Record, wall: float) -> bool:
    return any(one.status is Status.UNKNOWN or one.settled_by < wall for one in _concerned(change, record))


def _concerned(change: Change, record: Record) -> list[Attempt]:
    """The attempts a change concerns, but for those in the records of other targets of the service."""
    return [record.attempts[one] for one in change.concerns if one in record.attempts]


def _failed(result: Result, unfinished: set[Address], waits: set[Address]) -> bool:
    if result.outcome in (Done.REJECTED, Done.NOT_SENT):
        return True
    if result.outcome is Done.SKIPPED:
        return result.address in unfinished and not (result.action is Action.BLOCKED and result.address in waits)
    return False
