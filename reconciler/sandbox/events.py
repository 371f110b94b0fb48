"""What happens in a sandbox, as values: what it creates, issues and delivers, and the events that it remembers."""

from collections.abc import Mapping

from msgspec import Struct

from reconciler.values import Discreet


class Commit(Discreet, frozen=True):
    """A subscription that was created. `sequence` counts from 1; `at` is in epoch seconds; `codes` are as sent.

    `account` is the client id that created it, empty if no request did.
    """

    unprinted = ("secret",)

    sequence: int
    at: float
    target: str
    codes: tuple[str, ...]
    url: str
    id: str
    secret: str
    account: str = ""


class Lead(Struct, frozen=True):
    """A lead that was created."""

    at: float
    target: str
    id: str
    document: Mapping[str, object]


class Token(Struct, frozen=True):
    """An access token that was issued. `expires_at` is in epoch seconds; `spared`: it replaces a revoked one."""

    provider: str
    client_id: str
    audience: str
    expires_at: int
    spared: bool


class DeliveryAttempt(Struct, frozen=True):
    """One attempt to deliver a notification. `number` counts from 1; `status` is None without an answer."""

    at: float
    subscription_id: str
    target: str
    code: str
    url: str
    number: int
    status: int | None
    detail: str


class Notified(Struct, frozen=True):
    """One notification for one subscription; `id` is that of the delivery."""

    id: str
    subscription_id: str
    code: str
    body: bytes


class Started(Discreet, frozen=True, tag="started"):
    """The sandbox was started on a port, with these credentials: client id and secret by target."""

    unprinted = ("credentials",)

    port: int
    credentials: dict[str, tuple[str, str]]


class Created(Struct, frozen=True, tag="created"):
    """A subscription was created."""

    commit: Commit


class Removed(Struct, frozen=True, tag="removed"):
    """A subscription was removed."""

    id: str


class LeadCreated(Struct, frozen=True, tag="lead"):
    """A lead was created."""

    lead: Lead


class Issued(Discreet, frozen=True, tag="issued"):
    """A token was issued."""

    unprinted = ("text",)

    text: str
    token: Token


class Revoked(Discreet, frozen=True, tag="revoked"):
    """A token was revoked."""

    unprinted = ("text",)

    text: str


class Triggered(Struct, frozen=True, tag="triggered"):
    """Notifications are to be delivered."""

    notified: list[Notified]


class Attempted(Struct, frozen=True, tag="attempted"):
    """A delivery was attempted; `due` is when it is to be retried, in epoch seconds, None if it is not."""

    id: str
    attempt: DeliveryAttempt
    due: float | None


Event = Started | Created | Removed | LeadCreated | Issued | Revoked | Triggered | Attempted
