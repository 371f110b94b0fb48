"""What the protocol is told, and what it asks for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reconciler.model.address import Address
    from reconciler.model.clock import Instant
    from reconciler.model.outcome import Answer
    from reconciler.model.plan import Request
    from reconciler.model.record import Record
    from reconciler.state.journal.chain import Journal


@dataclass(frozen=True, slots=True)
class Siblings:
    """The records of the other targets that are the same service; `problem` says why they could not be read."""

    records: tuple[Record, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Authorised:
    """An access token is at hand."""


@dataclass(frozen=True, slots=True)
class Unauthorised:
    """No access token is to be had; `detail` says why."""

    detail: str


@dataclass(frozen=True, slots=True)
class Appended:
    """The append under way is durable."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The append under way met another head, or its answer was lost; `journal` and `siblings` were read since.

    The journal may hold the entries all the same.
    """

    journal: Journal
    siblings: Siblings = Siblings()


@dataclass(frozen=True, slots=True)
class AppendFailed:
    """The append under way failed; the rest was read since, `journal` is None where the store could not be read."""

    detail: str
    journal: Journal | None = None
    siblings: Siblings = Siblings()


@dataclass(frozen=True, slots=True)
class Looked:
    """The record was read again: `siblings` first, and `journal` last, not before `at`."""

    journal: Journal
    at: Instant
    siblings: Siblings = Siblings()


@dataclass(frozen=True, slots=True)
class LookFailed:
    """The record could not be read again; `detail` says why."""

    detail: str


@dataclass(frozen=True, slots=True)
class Answered:
    """A call has ended. `response`: where the response is kept, as `Settled.response` says; `lost`: it could not be."""

    attempt: str
    answer: Answer
    response: str | None = None
    lost: bool = False


@dataclass(frozen=True, slots=True)
class InterruptAsked:
    """A person or the runner wants the run to end; a second time: at once."""


@dataclass(frozen=True, slots=True)
class Ticked:
    """Nothing happened; time passed."""


Event = (
    Authorised
    | Unauthorised
    | Appended
    | Moved
    | AppendFailed
    | Looked
    | LookFailed
    | Answered
    | InterruptAsked
    | Ticked
)


@dataclass(frozen=True, slots=True)
class Authorise:
    """Get an access token; answer with Authorised or Unauthorised."""


@dataclass(frozen=True, slots=True)
class Append:
    """Append `lines` if the head is still `head`; answer with Appended, Moved or AppendFailed."""

    head: str
    lines: bytes = field(repr=False)
    note: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """Read the record again, and those of the siblings; answer with Looked or LookFailed."""


@dataclass(frozen=True, slots=True)
class Send:
    """Send one create call, unless it `is_late`; answer with Answered.

    `send_by` (steady seconds) is the end of the window that its intent names. `fresh_until` is how long, on either
    clock, what was seen of the record may be relied on. `renew`: get another token where the service refuses this one.
    """

    attempt: str
    address: Address
    request: Request
    send_by: float
    fresh_until: Instant
    renew: bool = True

    def is_late(self, now: Instant) -> bool:
        """Whether the call must not leave any more: its time has passed, or nobody has looked at the record lately."""
        return now.steady >= min(self.send_by, self.fresh_until.steady) or now.wall >= self.fresh_until.wall


Effect = Authorise | Append | Look | Send
