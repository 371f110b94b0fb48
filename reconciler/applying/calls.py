"""A create call and its phase, from the draft of its intent to its answer; which are retried, and when."""

from collections.abc import Sequence
from typing import assert_never

from msgspec import Struct

from reconciler.applying.events import Send
from reconciler.model.clock import Instant
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.plan import Change, Request


class Drafted(Struct, frozen=True):
    """Its intent is not durable yet."""


class RereadNeeded(Struct, frozen=True):
    """The record has to be re-read before it may be sent."""


class Rereading(Struct, frozen=True):
    """The record is being re-read for it."""


class InFlight(Struct, frozen=True):
    """It is sent, and not answered."""


class RetryWaiting(Struct, frozen=True):
    """It was certainly not created, and is retried `at` (steady seconds)."""

    at: float


Phase = Drafted | RereadNeeded | Rereading | InFlight | RetryWaiting


class Call(Struct):
    """The call of one attempt. `send_by_wall` is in epoch seconds, the other times are steady ones.

    `tries` counts how often it was sent; `last` is the last answer. `renew` as in `Send`.
    """

    change: Change
    request: Request
    attempt: str
    send_by: float
    send_by_wall: float
    give_up_at: float
    phase: Phase = Drafted()
    tries: int = 0
    renew: bool = True
    last: Answer | None = None

    @property
    def wake_at(self) -> float | None:
        """When, in steady seconds, there is something to do about it, if no event comes until then."""
        match self.phase:
            case Drafted():
                return None
            case RereadNeeded() | Rereading():
                return self.send_by
            case InFlight():
                return self.give_up_at
            case RetryWaiting(at):
                return at
            case _:
                assert_never(self.phase)

    @property
    def is_in_flight(self) -> bool:
        return isinstance(self.phase, InFlight)

    @property
    def waits_for_reread(self) -> bool:
        return isinstance(self.phase, RereadNeeded | Rereading)

    def is_overdue(self, now: Instant) -> bool:
        """Whether the window that its intent names has passed, on either clock."""
        return now.steady >= self.send_by or now.wall >= self.send_by_wall

    def send(self, now: Instant, read_at: Instant | None, freshness: float) -> Send | None:
        """The effect that sends it, None if the record, last read for it at `read_at`, has to be re-read first.

        `freshness` is for how many seconds a reading may be relied on.
        """
        if read_at is None:
            return None
        fresh_until = Instant(min(read_at.wall + freshness, self.send_by_wall), read_at.steady + freshness)
        send = Send(self.attempt, self.change.address, self.request, self.send_by, fresh_until, self.renew)
        return None if send.is_late(now) else send


def retry_delay(tries: int, answer: Answer, backoff: Sequence[float]) -> float | None:
    """The seconds until a call is retried after the answer to its `tries`-th try, None if it is not.

    Only what was certainly not created is retried: a call that was not sent, or one that the service asks to repeat.
    """
    invited = answer.status == 429 or (answer.status == 401 and answer.retry_after is not None)
    if not (answer.outcome is Outcome.NOT_SENT or invited) or tries > len(backoff):
        return None
    if invited and answer.retry_after is not None:
        return max(answer.retry_after, 0.0)
    return backoff[tries - 1]


class CircuitBreaker(Struct, frozen=True):
    """Limits what an outage costs. `unknowns` counts unknown outcomes in a row, `alone` says to send one at a time."""

    unknowns: int = 0
    alone: bool = True

    def after(self, outcome: Outcome) -> "CircuitBreaker":
        """The breaker after one more outcome; a call that was not sent says nothing about the service."""
        match outcome:
            case Outcome.UNKNOWN:
                unknowns = self.unknowns + 1
            case Outcome.CREATED | Outcome.REJECTED:
                unknowns = 0
            case Outcome.NOT_SENT:
                unknowns = self.unknowns
            case _:
                assert_never(outcome)
        return CircuitBreaker(unknowns, alone=unknowns > 0)
