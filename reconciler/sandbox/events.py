"""Defines the events of a sandbox. They are stored, and the state is computed from them."""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from reconciler.values import Discreet

if TYPE_CHECKING:
    from collections.abc import Mapping


class Started(Discreet, frozen=True, tag="started"):
    """The sandbox was started on a port.

    `instance` is a random id. `accounts` holds the client id and secret of each target.
    """

    unprinted = ("accounts",)

    instance: str
    port: int
    accounts: dict[str, tuple[str, str]]


class Subscription(Discreet, frozen=True, tag="created"):
    """A subscription was created.

    `sequence` counts from 1, `at` is in epoch seconds, and `codes` are in the order of the request. `account` is the
    client id that created the subscription.
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
    """An access token was issued.

    `expires_at` is in epoch seconds. `spared` is true if the token replaces a revoked token.
    """

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
    """A notification is to be delivered to a subscription.

    `number` is the number of the next attempt, counted from 1, and `due` is its time in epoch seconds.
    """

    id: str
    subscription_id: str
    code: str
    body: bytes
    due: float
    number: int = 1


class Attempted(Struct, frozen=True, tag="attempted"):
    """A delivery was attempted.

    `status` is None if there was no answer. `due` is the time of the retry in epoch seconds, or None if no
    retry follows.
    """

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


SIGNATURE_HEADER = "X-Signature"

_SAMPLE = (("2000.00", "2240.00", "0.12"), ("5000.00", "5750.50", "0.15"), ("12000.00", "14160.00", "0.18"))


def notification_body(code: str, properties: Mapping[str, object] | None = None) -> bytes:
    """Return the body of a notification (service description, section 2.3).

    Without `properties`, ONB10011 gets sample properties with new ids; other codes get none, because their properties
    are not documented. Numbers are sent as strings. The message of ONB10011 is documented; for other codes the
    message is the code.
    """
    if properties is None:
        properties = _sample_offers() if code == "ONB10011" else {}
    message = "Offers Provided" if code == "ONB10011" else code
    document = {"EventCode": code, "Message": message, "EventProperties": _as_sent(properties)}
    return json.dumps(document).encode()


def sign_notification(body: bytes, secret: str) -> str:
    """Return the value of the X-Signature header: `sha256=` and the HMAC-SHA-256 of the raw body in hex.

    The key of the HMAC is the secret in UTF-8. The service does not document how it signs (service description, section
    6), so this scheme is the sandbox's own. In `config/`, write `{header: X-Signature, algorithm: hmac-sha256, prefix:
    "sha256=", encoding: hex}`.
    """
    return f"sha256={hmac.digest(secret.encode(), body, hashlib.sha256).hex()}"


def _sample_offers() -> dict[str, object]:
    names = ("YouWillGet", "YouWillRepay", "Sweep")
    offers = [
        {"OfferId": str(uuid.uuid4()), "CurrencyISOCode": "EUR", **dict(zip(names, amounts, strict=True))}
        for amounts in _SAMPLE
    ]
    return {"LeadId": str(uuid.uuid4()), "Offers": offers}


def _as_sent(value: object) -> object:
    if isinstance(value, dict):
        return {name: _as_sent(member) for name, member in value.items()}
    if isinstance(value, list):
        return list(map(_as_sent, value))
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
