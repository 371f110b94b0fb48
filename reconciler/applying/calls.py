"""The create call of an attempt, from the draft of its intent to its answer, and the rules for retries."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, assert_never

from msgspec import Struct

from reconciler.applying.events import Send
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Action
from reconciler.model.record import Status
from reconciler.model.url import filled
from reconciler.record.facts import Answered, Intended, RemovalCancelled, RemovalRequested, What
from reconciler.values import Instant, stamp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.applying.events import Context, Limits
    from reconciler.model.outcome import Answer
    from reconciler.model.plan import Change
    from reconciler.record.journal import Reading


class Phase(Enum):
    """The phase of a call.

    DRAFTED: its intent is not durable yet. STALE: the record must be read again before the call is sent. READING: the
    record is being read. IN_FLIGHT: the call was sent and has no answer yet. RETRYING: the call certainly created
    nothing and waits for its next try.
    """

    DRAFTED = "drafted"
    STALE = "stale"
    READING = "reading"
    IN_FLIGHT = "in-flight"
    RETRYING = "retrying"


class Call(Struct):
    """The call of an attempt. `send_by`, `give_up_at` and `retry_at` are in steady seconds.

    `tries` is the number of times that the call was sent, and `last` is the last answer. `renew` is as in `Send`.
    """

    change: Change
    intent: Intended
    send_by: float
    give_up_at: float
    phase: Phase = Phase.DRAFTED
    tries: int = 0
    renew: bool = True
    retry_at: float = 0.0
    last: Answer | None = None

    @property
    def attempt(self) -> str:
        """Return the id of the attempt."""
        return self.intent.attempt

    @property
    def wake_at(self) -> float | None:
        """Return the time of the call's next timeout, in steady seconds, or None if it has none."""
        waits = {Phase.DRAFTED: None, Phase.IN_FLIGHT: self.give_up_at, Phase.RETRYING: self.retry_at}
        return waits.get(self.phase, self.send_by)

    def is_overdue(self, now: Instant) -> bool:
        """True if the send window in the call's intent has ended, on either clock."""
        return now.steady >= self.send_by or now.wall >= self.intent.what.send_by

    def send(self, read_at: Instant, freshness: float) -> Send:
        """Return the effect that sends the call; the record was last read at `read_at`."""
        what = self.intent.what
        fresh_until = Instant(min(read_at.wall + freshness, what.send_by), read_at.steady + freshness)
        return Send(
            self.attempt, self.change.address, what.codes, what.url, self.send_by, fresh_until, renew=self.renew
        )


def objection(call: Call, reading: Reading) -> str | None:
    """Return the reason why the record forbids a call whose intent is durable, or None if the call may be sent."""
    record = reading.record
    attempt = record.attempts.get(call.attempt)
    if not reading.standing.open:
        return f"the record has changed: {', '.join(reading.standing.obstacles)}"
    if attempt is None:
        return "its intent is missing from the record"
    if attempt.status is not Status.PENDING or attempt.superseded_by:
        return "already resolved by another run"
    routes = record.routes_at(record.service_of(attempt.base_url))
    for route in sorted(attempt.routes):
        for other in routes.get(route, ()):
            if other.id != attempt.id:
                return f"another attempt delivers, or may deliver, {route[0]} ({other.address}, attempt {other.id})"
    return None


def retry_delay(tries: int, answer: Answer, backoff: Sequence[float]) -> float | None:
    """Return the number of seconds to wait after `tries` tries, or None if there is no further try.

    A call is retried only if it certainly created nothing: it was not sent, or the service asks to repeat it.
    """
    invited = answer.status == 429 or (answer.status == 401 and answer.retry_after is not None)
    if answer.outcome is not Outcome.NOT_SENT and not (invited and answer.outcome is Outcome.REJECTED):
        return None
    if tries > len(backoff):
        return None
    if invited and answer.retry_after is not None:
        return max(answer.retry_after, 0.0)
    return backoff[tries - 1]


class Breaker(Struct, frozen=True):
    """Limits the calls to a target during an outage.

    `unknowns` counts consecutive unknown outcomes, and `busy` counts consecutive refusals by a busy service. If `alone`
    is true, only one call may be in flight at a time.
    """

    unknowns: int = 0
    busy: int = 0
    alone: bool = True

    def after(self, answer: Answer) -> Breaker:
        """Return the breaker after another answer. A call that was not sent says nothing about the service."""
        if answer.outcome is Outcome.NOT_SENT:
            return Breaker(self.unknowns, self.busy, alone=self.unknowns > 0)
        unknowns = self.unknowns + 1 if answer.outcome is Outcome.UNKNOWN else 0
        busy = self.busy + 1 if answer.status == 429 else 0
        return Breaker(unknowns, busy, alone=unknowns > 0)

    def tripped(self, limits: Limits) -> str | None:
        """Return the reason why nothing more is sent to the target, or None if calls may be sent."""
        again = "; when the service is available again, the next apply sends this"
        if self.unknowns >= limits.in_a_row:
            return f"{self.unknowns} unknown outcomes in a row: the service seems to be unavailable{again}"
        if self.busy >= limits.in_a_row:
            return f"{self.busy} creates in a row were refused with 429: the service is too busy{again}"
        return None


ApplyFact = Intended | Answered | RemovalRequested | RemovalCancelled


def intended(change: Change, context: Context, now: Instant) -> Intended:
    """Return the intent of a change, with a new attempt id. The intent must be durable before the call is sent."""
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
    """Return the fact that records the outcome of an intent. `response` is as in `Answered`."""
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
    """Return the requests to remove all codes of the attempts that a change concerns."""
    at, by = stamp(now.wall), context.by
    return tuple(
        RemovalRequested(at=at, by=by, attempt=attempt.id, codes=attempt.codes, reason=reason, by_plan=True)
        for attempt in change.before
        if attempt.id in change.concerns
    )
