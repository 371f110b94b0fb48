"""The events of a sandbox, as values: its state is what they add up to, and they are what it remembers."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from reconciler.values import Discreet


class Started(Discreet, frozen=True, tag="started"):
    """The sandbox was started on a port, with a random id and these accounts: client id and secret by target."""

    unprinted = ("accounts",)

    instance: str
    port: int
    accounts: dict[str, tuple[str, str]]


class Subscription(Discreet, frozen=True, tag="created"):
    """A subscription was created. `sequence` counts from 1; `at` is in epoch seconds; `codes` are as sent.

    `account` is the client id that created it.
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


class Removed(Struct, frozen=True, tag="removed"):
    """A subscription was removed."""

    id: str


class Lead(Struct, frozen=True, tag="lead"):
    """A lead was created."""

    at: float
    target: str
    id: str
    document: dict[str, Any]


class Token(Discreet, frozen=True, tag="issued"):
    """An access token was issued. `expires_at` is in epoch seconds; `spared`: it replaces a revoked one."""

    unprinted = ("text",)

    text: str
    provider: str
    client_id: str
    audience: str
    expires_at: int
    spared: bool


class Revoked(Discreet, frozen=True, tag="revoked"):
    """A token was revoked."""

    unprinted = ("text",)

    text: str


class Delivery(Struct, frozen=True, tag="triggered"):
    """A notification is to be delivered for a subscription, next as attempt `number` (from 1) at `due`."""

    id: str
    subscription_id: str
    code: str
    body: bytes
    due: float
    number: int = 1


class Attempted(Struct, frozen=True, tag="attempted"):
    """A delivery was attempted; `due` is when it is retried, None if it is not. `status` is None without an answer."""

    id: str
    subscription_id: str
    target: str
    code: str
    url: str
    at: float
    number: int
    status: int | None
    detail: str
    due: float | None


Event = Started | Subscription | Removed | Lead | Token | Revoked | Delivery | Attempted
