"""The events that the protocol handles, and the effects that it asks for."""

from msgspec import Struct

from reconciler.model.address import Address
from reconciler.model.clock import Instant
from reconciler.model.outcome import Answer
from reconciler.model.plan import Request
from reconciler.model.record import Record
from reconciler.state.journal.chain import Journal
from reconciler.values import Discreet


class ServiceRecords(Struct, frozen=True):
    """The other records of the same service; `problem` says why they could not be read."""

    records: tuple[Record, ...] = ()
    problem: str | None = None


class Authorised(Struct, frozen=True):
    """An access token is available."""


class Unauthorised(Struct, frozen=True):
    """No access token is available; `detail` says why."""

    detail: str


class Appended(Struct, frozen=True):
    """The append in flight is durable."""


class Conflict(Struct, frozen=True):
    """The append in flight met another head, or its answer was lost; `journal` and `same_service` were read since.

    If the answer was lost, the journal holds the entries.
    """

    journal: Journal
    same_service: ServiceRecords = ServiceRecords()


class AppendFailed(Struct, frozen=True):
    """The append in flight failed; the rest was read since, and `journal` is None if the store could not be read."""

    detail: str
    journal: Journal | None = None
    same_service: ServiceRecords = ServiceRecords()


class RereadDone(Struct, frozen=True):
    """The record was re-read: `same_service` first, and `journal` last, not before `at`."""

    journal: Journal
    at: Instant
    same_service: ServiceRecords = ServiceRecords()


class RereadFailed(Struct, frozen=True):
    """The record could not be re-read; `detail` says why."""

    detail: str


class Answered(Struct, frozen=True):
    """A call has ended. `response`: where the response is saved, as in `Settled.response`; `lost`: it could not be."""

    attempt: str
    answer: Answer
    response: str | None = None
    lost: bool = False


class InterruptAsked(Struct, frozen=True):
    """A signal asks the run to end; a second one, to end at once."""


class Ticked(Struct, frozen=True):
    """Nothing happened; time passed."""


Event = (
    Authorised
    | Unauthorised
    | Appended
    | Conflict
    | AppendFailed
    | RereadDone
    | RereadFailed
    | Answered
    | InterruptAsked
    | Ticked
)


class Authorise(Struct, frozen=True):
    """Get an access token; answer with Authorised or Unauthorised."""


class Append(Discreet, frozen=True):
    """Append `lines` if the head is still `head`; answer with Appended, Conflict or AppendFailed.

    `seq` is the number of the first line.
    """

    unprinted = ("lines",)

    head: str
    seq: int
    lines: bytes
    note: str = ""


class Reread(Struct, frozen=True):
    """Re-read the record, and the others of the same service; answer with RereadDone or RereadFailed."""


class Send(Struct, frozen=True):
    """Send one create call, unless it `is_late`; answer with Answered.

    `send_by` (steady seconds) is the end of the window that its intent names. `fresh_until` is how long, on either
    clock, what was read of the record may be relied on. `renew`: get another token if the service refuses this one.
    """

    attempt: str
    address: Address
    request: Request
    send_by: float
    fresh_until: Instant
    renew: bool = True

    def is_late(self, now: Instant) -> bool:
        """Whether the call must not be sent any more: its window has passed, or the record was read too long ago."""
        return now.steady >= min(self.send_by, self.fresh_until.steady) or now.wall >= self.fresh_until.wall


Effect = Authorise | Append | Reread | Send
