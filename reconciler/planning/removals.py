"""Values for the letter to each target's operator: what to remove, what to keep after all, what to look for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.clock import stamp
from reconciler.model.plan import Action
from reconciler.model.record import Status as Stage
from reconciler.model.status import AwaitingRemoval, Removals

if TYPE_CHECKING:
    from reconciler.model.record import Attempt
    from reconciler.model.status import Status, TargetStatus


def removals(status: Status) -> list[Removals]:
    """Return what to tell the operator of each target of a status, those alone of which there is something to tell."""
    restored = {
        attempt for change in status.plan.changes if change.action is Action.RESTORE for attempt in change.concerns
    }
    found = [_removals(target, restored, stamp(status.now), status.now) for target in status.targets]
    return [told for told in found if told.awaiting or told.restored or told.cancelled or told.unknown]


def _removals(target: TargetStatus, restored: set[str], at: str, now: float) -> Removals:
    attempts = [observed.attempt for observed in target.attempts]
    requested = [attempt for attempt in attempts if attempt.in_force and attempt.requested_codes]
    return Removals(
        target.name,
        at,
        awaiting=tuple(_awaiting(attempt, attempts) for attempt in requested if attempt.id not in restored),
        restored=tuple(attempt for attempt in requested if attempt.id in restored),
        cancelled=target.cancelled,
        unknown=tuple(attempt for attempt in attempts if attempt.unresolved and not attempt.in_flight(now)),
    )


def _awaiting(attempt: Attempt, attempts: list[Attempt]) -> AwaitingRemoval:
    codes = set(attempt.requested_codes)
    staying = (other for other in attempts if other.status is Stage.LIVE and other.id != attempt.id)
    return AwaitingRemoval(
        attempt,
        attempt.requested_codes,
        attempt.requested,
        tuple(other for other in staying if other.is_at(attempt.template) and not codes.isdisjoint(other.codes)),
    )
