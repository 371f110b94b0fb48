"""The entries that an apply writes into the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.clock import stamp
from reconciler.model.entry import Intent, Restored, Retired, Settled
from reconciler.model.plan import Action

if TYPE_CHECKING:
    from reconciler.applying.terms import Terms
    from reconciler.model.clock import Instant
    from reconciler.model.entry import AnyEntry
    from reconciler.model.outcome import Answer
    from reconciler.model.plan import Change, Request


def intent_of(change: Change, request: Request, attempt: str, terms: Terms, now: Instant) -> Intent:
    """What is written before the create call of `change` is sent."""
    return Intent(
        at=stamp(now.wall),
        by=terms.by,
        attempt=attempt,
        address=change.address,
        action=change.action.value,
        codes=request.codes,
        url=request.url,
        send_by=round(now.wall + terms.limits.send_window, 3),
        settled_by=round(now.wall + terms.limits.settled_in, 3),
        run=terms.run,
    )


def outcome_of(attempt: str, answer: Answer, response: str | None, terms: Terms, now: Instant) -> Settled:
    """What is written once the attempt is over; `response` as in `Settled`."""
    return Settled(
        at=stamp(now.wall),
        by=terms.by,
        attempt=attempt,
        outcome=answer.outcome,
        status=answer.status,
        detail=answer.detail,
        date=answer.date,
        fields=answer.fields,
        response=response,
    )


def quiet_entries(change: Change, terms: Terms, now: Instant) -> tuple[AnyEntry, ...]:
    """What carries out a change that takes no call: a RESTORE or a RETIRE."""
    if change.action is Action.RESTORE:
        return tuple(Restored(at=stamp(now.wall), by=terms.by, attempt=attempt) for attempt in change.concerns)
    return retirements(change, change.reasons[0], terms, now)


def retirements(change: Change, reason: str, terms: Terms, now: Instant) -> tuple[Retired, ...]:
    """What asks for the removal of everything that `change` concerns."""
    return tuple(
        Retired(at=stamp(now.wall), by=terms.by, attempt=attempt, reason=reason) for attempt in change.concerns
    )
