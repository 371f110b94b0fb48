"""What the protocol is told, and what it asks for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reconciler.model.address import Address
    from reconciler.model.outcome import Answer
    from reconciler.model.plan import Request
    from reconciler.state.journal import Journal


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
    """The append under way met another head, or its answer was lost; `journal` was read since.

    It may hold the entries all the same.
    """

    journal: Journal


@dataclass(frozen=True, slots=True)
class AppendFailed:
    """The append under way failed; `journal` was read since, None where the store could not be read either."""

    detail: str
    journal: Journal | None = None


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


Event = Authorised | Unauthorised | Appended | Moved | AppendFailed | Answered | InterruptAsked | Ticked


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
class Send:
    """Send one create call, unless `send_by` (steady seconds) has passed; answer with Answered."""

    attempt: str
    address: Address
    request: Request
    send_by: float


Effect = Authorise | Append | Send
