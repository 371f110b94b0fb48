"""The outcome of a create call.

Only a call that certainly created nothing may be sent again. If the result of a call does not rule out that a
subscription was created, the outcome is UNKNOWN, and a person must resolve it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import field

from reconciler.values import Discreet

if TYPE_CHECKING:
    from collections.abc import Mapping


class Outcome(StrEnum):
    """The outcome of an attempt: CREATED; REJECTED or NOT_SENT (certainly not created); or UNKNOWN."""

    CREATED = "created"
    REJECTED = "rejected"
    NOT_SENT = "not_sent"
    UNKNOWN = "unknown"


class Answer(Discreet, frozen=True):
    """The result of one exchange with the service.

    `status` is the HTTP status, or None if no status line arrived. `detail` is one line for a person, without secrets.
    `head` is the status line and the headers, including the blank line; `body` is the part of the body that was read,
    at most 1 MiB. Both may hold a secret, so the `repr` omits them. `retry_after` is the number of seconds to wait
    after a 429; it is 0 after a 401 if a new token is available. `date` is the Date header.
    """

    unprinted = ("body", "head")

    outcome: Outcome
    status: int | None = None
    detail: str | None = None
    date: str | None = None
    retry_after: float | None = None
    body: bytes = b""
    fields: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    head: bytes = b""
