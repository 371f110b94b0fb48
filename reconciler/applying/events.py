"""The events that the protocol handles, and the effects that it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.values import Discreet

if TYPE_CHECKING:
    from reconciler.errors import Message
    from reconciler.model.address import Address, TargetName
    from reconciler.model.clock import Instant
    from reconciler.model.outcome import Answer
    from reconciler.record.chain import Line
    from reconciler.record.journal import Reading


class Authorised(Struct, frozen=True):
    """An access token for the target is available."""

    target: TargetName


class Unauthorised(Struct, frozen=True):
    """No access token for the target is available; `problem` says why."""

    target: TargetName
    problem: Message


class Appended(Struct, frozen=True):
    """The append in flight is durable, in the second place too, and its head is noted."""


class NotAppended(Discreet, frozen=True):
    """The append in flight met another head, failed, or its answer was lost.

    `reading` is the record as it was read since, not before `at`, with the second place brought up to date; None if
    that failed. It shows whether the answer was lost.
    """

    unprinted = ("reading",)

    problem: Message
    at: Instant
    reading: Reading | None = None


class RereadDone(Discreet, frozen=True):
    """The record was re-read, not before `at`."""

    unprinted = ("reading",)

    reading: Reading
    at: Instant


class RereadFailed(Struct, frozen=True):
    """The record could not be re-read."""

    problem: Message


class CallEnded(Struct, frozen=True):
    """A call has ended. `response`: where the response is saved, as in `Answered.response`; `lost`: it could not be."""

    attempt: str
    answer: Answer
    response: str | None = None
    lost: bool = False


class InterruptAsked(Struct, frozen=True):
    """A signal asks the run to end; a second one, to end at once."""


class Ticked(Struct, frozen=True):
    """Nothing happened; time passed."""


Event = (
    Authorised | Unauthorised | Appended | NotAppended | RereadDone | RereadFailed | CallEnded | InterruptAsked | Ticked
)


class Authorise(Struct, frozen=True):
    """Get an access token for the target; answer with Authorised or Unauthorised."""

    target: TargetName


class Append(Discreet, frozen=True):
    """Append lines (as bytes and as values) if the head is still `head`; answer with Appended or NotAppended.

    `seq` is the number of the first line; `reading` is the record as it was read last.
    """

    unprinted = ("reading", "new")

    reading: Reading
    head: str
    seq: int
    new: tuple[bytes, tuple[Line, ...]]
    note: str = ""

    @property
    def last(self) -> str:
        """The head that it leads to."""
        return self.new[1][-1].hash


class Reread(Struct, frozen=True):
    """Re-read the record; answer with RereadDone or RereadFailed."""


class Send(Struct, frozen=True):
    """Send one create call, unless it `is_late`; answer with CallEnded.

    `send_by` (steady seconds) is the end of the window that its intent names. `fresh_until` is how long, on either
    clock, what was read of the record may be relied on. `renew`: get another token if the service refuses this one.
    """

    attempt: str
    address: Address
    codes: tuple[str, ...]
    url: str
    send_by: float
    fresh_until: Instant
    renew: bool = True

    def is_late(self, now: Instant) -> bool:
        """True if it must not be sent any more: its window has passed, or the record was read too long ago."""
        return now.steady >= min(self.send_by, self.fresh_until.steady) or now.wall >= self.fresh_until.wall


Effect = Authorise | Append | Reread | Send
