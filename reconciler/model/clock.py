"""Time as a value: what the wall says, and a clock that never goes back and counts sleep."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct


class Instant(Struct, frozen=True):
    """One moment. `wall` is epoch seconds; `steady` seconds on a clock that counts sleep and is never set."""

    wall: float
    steady: float


def stamp(wall: float) -> str:
    """Epoch seconds as journals and reports write them: UTC, ISO 8601, to the second, with a Z."""
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
