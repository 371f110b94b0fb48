"""Derives the verdict on a run from the record as it was last read."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from msgspec.structs import replace

from reconciler.model.address import Selection
from reconciler.model.plan import Action, Block, Done, Verdict
from reconciler.model.record import Status

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from reconciler.errors import Message
    from reconciler.model.address import Address
    from reconciler.model.plan import Change, Plan, Result
    from reconciler.model.record import Attempt, Record

_UNDER_WAY = "another run is still applying this address; run apply again when it has ended"


def unresolved(plan: Plan, record: Record, wall: float) -> list[Attempt]:
    """Return the selected attempts that are unknown or overdue and not superseded by a retry.

    They include attempts of targets that are no longer declared.
    """
    selection = Selection(plan.selection)
    return [
        attempt
        for attempt in record.attempts.values()
        if attempt.blocks
        and (attempt.status is Status.UNKNOWN or attempt.settled(wall))
        and selection.has(attempt.address)
    ]


def under_way(left: Plan, addresses: Collection[Address], own: Collection[str], wall: float) -> set[Address]:
    """Return the addresses that are blocked by another run's create whose outcome may still arrive."""
    return {
        change.address
        for change in left.changes
        if change.address in addresses
        and any(attempt.in_flight(wall) and attempt.id not in own for attempt in change.blocking)
    }


def closed_gates(left: Plan) -> list[Message]:
    """Return the plan's messages about closed gates, with the steps to take."""
    return [*left.gates, *(message for target in left.targets.values() for message in target.foreign)]


def completed(
    results: Iterable[Result], left: Plan | None, record: Record, waiting: Collection[Address]
) -> list[Result]:
    """Return the results with the details that only the final record shows.

    A skipped change counts as done by another run if nothing is left to do at its address. If the address is in
    `waiting`, another run is about to finish the change. An unknown result gets the time until which its call may be in
    flight. A result that was saved elsewhere is marked as recorded if the record has its outcome after all.
    """
    unfinished = {change.address for change in left.changes} if left is not None else None
    complete = []
    for result in results:
        attempt = record.attempts.get(result.attempt or "")
        recorded = result.recorded or (attempt is not None and attempt.outcome is not None)
        settled_by = attempt.settled_by if result.outcome is Done.UNKNOWN and attempt is not None else 0.0
        if result.outcome is not Done.SKIPPED or unfinished is None:
            complete.append(replace(result, recorded=recorded, settled_by=settled_by))
        elif result.address not in unfinished:
            complete.append(replace(result, detail="already done by another run"))
        elif result.address in waiting and result.action is not Action.BLOCKED:
            complete.append(replace(result, detail=_UNDER_WAY))
        else:
            complete.append(result)
    return complete


def verdict_of(results: Sequence[Result], left: Plan, attempts: Sequence[Attempt]) -> Verdict:
    """Return the verdict, given the results, the plan of what is left to do, and the unresolved attempts.

    If a gate of the record is closed, the run fails even without a failed result, because nobody knows what exists.
    """
    unresolved_left = any(change.block is Block.UNRESOLVED for change in left.changes)
    if attempts or unresolved_left or any(result.outcome is Done.UNKNOWN or not result.recorded for result in results):
        return Verdict.UNRESOLVED
    if left.gates:
        return Verdict.FAILED
    unfinished = {change.address for change in left.changes}
    patient = left.patient
    return Verdict.FAILED if any(_failed(result, unfinished, patient) for result in results) else Verdict.DONE


def verdict_without_record(planned: Iterable[Change], results: Iterable[Result]) -> Verdict:
    """Return the verdict if the record cannot be read: UNRESOLVED if any attempt is or was unresolved, else FAILED."""
    was = any(change.block is Block.UNRESOLVED for change in planned)
    now = any(result.outcome is Done.UNKNOWN or not result.recorded for result in results)
    return Verdict.UNRESOLVED if was or now else Verdict.FAILED


def _failed(result: Result, unfinished: set[Address], patient: set[Address]) -> bool:
    match result.outcome:
        case Done.REJECTED | Done.NOT_SENT:
            return True
        case Done.SKIPPED:
            return result.address in unfinished and not (result.action is Action.BLOCKED and result.address in patient)
        case Done.CREATED | Done.UNKNOWN | Done.RESTORED | Done.REQUESTED:
            return False
        case _:
            assert_never(result.outcome)
