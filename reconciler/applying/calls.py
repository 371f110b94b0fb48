"""A create call, and its phase: from the draft of its intent to its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from reconciler.applying.events import Send
from reconciler.model.clock import Instant

if TYPE_CHECKING:
    from reconciler.model.outcome import Answer
    from reconciler.model.plan import Change, Request


@dataclass(frozen=True, slots=True)
class Drafted:
    """Its intent is not durable yet."""


@dataclass(frozen=True, slots=True)
class RereadNeeded:
    """The record has to be re-read before it may be sent."""


@dataclass(frozen=True, slots=True)
class Rereading:
    """The record is being re-read for it."""


@dataclass(frozen=True, slots=True)
class InFlight:
    """It is sent, and not answered."""


@dataclass(frozen=True, slots=True)
class RetryWaiting:
    """It was certainly not created, and is retried `at` (steady seconds)."""

    at: float


Phase = Drafted | RereadNeeded | Rereading | InFlight | RetryWaiting


@dataclass(slots=True)
class Call:
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
