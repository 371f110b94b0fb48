"""What one exchange with a server came to: a reply, or a failure that says whether the request was sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

BODY_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Reply:
    """A response whose status line and headers arrived; from there on it is a reply, whatever becomes of the body.

    Header names are in lower case. `body` is what came of it, at most BODY_LIMIT bytes; `whole` says whether that is
    all.
    """

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    whole: bool


@dataclass(frozen=True, slots=True)
class Failure:
    """No status line arrived. Where `sent` is false, not a byte of the request left; otherwise nobody knows."""

    sent: bool
    reason: str
