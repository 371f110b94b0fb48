"""The facts that an apply appends to the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from reconciler.model.clock import stamp
from reconciler.model.plan import Action
from reconciler.model.url import filled
from reconciler.record.facts import Answered, Intended, RemovalCancelled, RemovalRequested, What

if TYPE_CHECKING:
    from reconciler.applying.context import Context
    from reconciler.model.clock import Instant
    from reconciler.model.outcome import Answer
    from reconciler.model.plan import Change

ApplyFact = Intended | Answered | RemovalRequested | RemovalCancelled


def intended(change: Change, context: Context, now: Instant) -> Intended:
    """Return the intent of a change that sends, with a new attempt: durable before its call leaves."""
    request, target, limits = change.request, change.address.target, context.limits
    assert request is not None  # noqa: S101 - every change in SENDS has one
    attempt = context.new_id()
    url = filled(request.template, attempt)
    what = What(
        address=str(change.address),
        codes=request.codes,
        url=url,
        base_url=context.plan.targets[target].target.base_url,
        template=request.template if request.template != url else "",
        action=change.action.value,
        account=context.account(target),
        send_by=round(now.wall + limits.send_window, 3),
        settled_by=round(now.wall + limits.settled_in, 3),
        supersedes=change.concerns if change.action is Action.RETRY else (),
    )
    return Intended(at=stamp(now.wall), by=context.by, attempt=attempt, what=what, run=context.run)


def answered(intent: Intended, answer: Answer, response: str | None, context: Context, now: Instant) -> Answered:
    """Return the outcome of an intent; `response` is as in the fact."""
    return Answered(
        at=stamp(now.wall),
        by=context.by,
        attempt=intent.attempt,
        what=intent.what,
        outcome=answer.outcome,
        status=answer.status,
        date=answer.date,
        detail=answer.detail,
        fields=answer.fields,
        response=response,
    )


def local_facts(change: Change, context: Context, now: Instant) -> tuple[ApplyFact, ...]:
    """Return the facts that carry out a change without a call."""
    match change.action:
        case Action.RESTORE:
            return tuple(
                RemovalCancelled(at=stamp(now.wall), by=context.by, attempt=attempt.id, requests=attempt.requests)
                for attempt in change.before
                if attempt.id in change.concerns and attempt.requests
            )
        case Action.REMOVE:
            reason = change.reasons[0].what if change.reasons else ""
            return removal_requests(change, reason, context, now)
        case Action.CREATE | Action.EXTEND | Action.REPLACE | Action.RETRY | Action.BLOCKED:
            raise ValueError(change.action)
        case _:
            assert_never(change.action)


def removal_requests(change: Change, reason: str, context: Context, now: Instant) -> tuple[ApplyFact, ...]:
    """Return the requests to remove whole what a change concerns."""
    at, by = stamp(now.wall), context.by
    return tuple(
        RemovalRequested(at=at, by=by, attempt=attempt.id, codes=attempt.codes, reason=reason, by_plan=True)
        for attempt in change.before
        if attempt.id in change.concerns
    )
