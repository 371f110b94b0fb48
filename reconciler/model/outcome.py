"""The outcome of a create call: three values, not two.

Only what is certainly not created may ever be sent again. Everything that cannot be distinguished from a
created subscription is UNKNOWN, and must be resolved by a person.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import field

from reconciler.values import Discreet

if TYPE_CHECKING:
    from collections.abc import Mapping


class Outcome(StrEnum):
    """The outcome of one attempt: CREATED; REJECTED or NOT_SENT (certainly not created); or UNKNOWN."""

    CREATED = "created"
    REJECTED = "rejected"
    NOT_SENT = "not_sent"
    UNKNOWN = "unknown"


class Answer(Discreet, frozen=True):
    """The result of one exchange with the service.

    `status` is the HTTP status, None where no status line arrived. `detail` is one line for a person, free of
    secrets. `head` is the response's status line and headers, as far as the blank line and with it, and `body` what was
    read of the rest (1 MiB at most); either may hold a secret: they are left out of the `repr`. `retry_after` is in
    seconds, as the service asked for it with a 429; 0 after a 401, where there is a new token now. `date` is the
    response's Date header.
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
