"""The attempts of one run that have an intent, or are about to have one, and how far each has come."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from reconciler.applying.events import Send
from reconciler.applying.siblings import hindrance
from reconciler.model.clock import Instant
from reconciler.model.record import Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.model.outcome import Answer
    from reconciler.model.plan import Change, Request
    from reconciler.model.record import Attempt, Record


class Sight(Enum):
    """Whether a call waits for the record to be read again: no; yes; yes, and it is being read."""

    NOT_WANTED = auto()
    WANTED = auto()
    UNDER_WAY = auto()


@dataclass(slots=True)
class Call:
    """One attempt. `send_by_wall` is in epoch seconds, the other times in steady ones.

    `fresh_until` is how long what was last seen of the record may be relied on, None where it may not be at all.
    """

    change: Change
    request: Request
    attempt: str
    send_by: float
    send_by_wall: float
    give_up_at: float
    in_flight: bool = False
    tries: int = 0
    renew: bool = True
    retry_at: float | None = None
    fresh_until: Instant | None = None
    sight: Sight = Sight.NOT_WANTED
    last: Answer | None = None

    @property
    def wake_at(self) -> float | None:
        """When, in steady seconds, there is something to do about it, if nothing is heard until then."""
        if self.in_flight:
            return self.give_up_at
        return self.retry_at if self.sight is Sight.NOT_WANTED else self.send_by

    def trust(self, seen_at: Instant, freshness: float) -> None:
        """Rely on what was seen of the record at that moment, for so many seconds."""
        wall = min(seen_at.wall + freshness, self.send_by_wall)
        self.fresh_until = Instant(wall, seen_at.steady + freshness)

    def is_overdue(self, now: Instant) -> bool:
        """Whether the window that its intent names has passed, on either clock."""
        return now.steady >= self.send_by or now.wall >= self.send_by_wall

    def send(self, now: Instant) -> Send | None:
        """The effect that sends it, None where the record has to be read again before."""
        if self.fresh_until is None:
            return None
        send = Send(self.attempt, self.change.address, self.request, self.send_by, self.fresh_until, self.renew)
        return None if send.is_late(now) else send


def objection(call: Call, record: Record, siblings: Iterable[Record]) -> str | None:
    """Why a call must not be sent, as the records say that were read again; None where nothing is against it.

    `record` is that of its target, `siblings` are those of the other targets that are the same service.
    """
    attempt = record.attempts.get(call.attempt)
    if attempt is None:
        return "the record no longer holds its intent"
    if attempt.status is not Status.PENDING:
        return "it was settled meanwhile, by another run or a person"
    for other in record.attempts.values():  # one that was lost with its entries, and found again, under any address
        if other.id != call.attempt and _delivers(other) and not other.routes.isdisjoint(attempt.routes):
            return f"another attempt delivers it, or may, by now (attempt {other.id})"
    return hindrance(call.request, siblings)


def _delivers(attempt: Attempt) -> bool:
    """Whether it stands in the way of another attempt; what awaits removal was there when that was planned."""
    return attempt.status not in (Status.GONE, Status.AWAITING_REMOVAL)
