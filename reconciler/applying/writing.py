"""The entries that an apply appends to the record, and the words for a record that cannot be written."""

from typing import assert_never

from reconciler.applying.context import RunContext
from reconciler.model.clock import Instant, stamp
from reconciler.model.entry import Bound, Intent, Restored, Retired, Settled
from reconciler.model.outcome import Answer
from reconciler.model.plan import Action, Change, Request

ApplyEntry = Bound | Intent | Settled | Retired | Restored

_WRITING = "cannot write the state record"
_AGAIN = "then run the command again"


def not_repeated(problem: str) -> str:
    """`problem`, the words of a store, without the advice to run the command again: calls may have been sent."""
    return problem.removesuffix(f", {_AGAIN}").removesuffix(f"; {_AGAIN}")


def not_started(problem: str) -> str:
    """Why a change was not begun, since the record cannot be written: `problem` may say just that."""
    return problem if _WRITING in problem else f"{_WRITING}: {problem}"


def intent_entry(change: Change, request: Request, attempt: str, context: RunContext, now: Instant) -> Intent:
    """The entry that is durable before the create call of `change` is sent."""
    return Intent(
        at=stamp(now.wall),
        by=context.by,
        attempt=attempt,
        address=change.address,
        action=change.action.value,
        codes=request.codes,
        url=request.url,
        send_by=round(now.wall + context.limits.send_window, 3),
        settled_by=round(now.wall + context.limits.settled_in, 3),
        run=context.run,
    )


def outcome_entry(attempt: str, answer: Answer, response: str | None, context: RunContext, now: Instant) -> Settled:
    """The entry for the outcome of an attempt; `response` as in `Settled`."""
    return Settled(
        at=stamp(now.wall),
        by=context.by,
        attempt=attempt,
        outcome=answer.outcome,
        status=answer.status,
        detail=answer.detail,
        date=answer.date,
        fields=answer.fields,
        response=response,
    )


def local_entries(change: Change, context: RunContext, now: Instant) -> tuple[ApplyEntry, ...]:
    """The entries that carry out a local change, one without a call. Raises ValueError for any other."""
    match change.action:
        case Action.RESTORE:
            return tuple(Restored(at=stamp(now.wall), by=context.by, attempt=attempt) for attempt in change.concerns)
        case Action.RETIRE:
            return retirements(change, change.reasons[0], context, now)
        case Action.CREATE | Action.EXTEND | Action.REPLACE | Action.BLOCKED:
            raise ValueError(change.action)
        case _:
            assert_never(change.action)


def retirements(change: Change, reason: str, context: RunContext, now: Instant) -> tuple[Retired, ...]:
    """The entries that ask for the removal of everything that `change` concerns."""
    return tuple(
        Retired(at=stamp(now.wall), by=context.by, attempt=attempt, reason=reason) for attempt in change.concerns
    )
