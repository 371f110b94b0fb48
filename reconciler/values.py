"""Values that any room may use: structs with fields that are not printed, points in time, and the shortest secret."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

if TYPE_CHECKING:
    from datetime import timedelta

SHORTEST_SECRET = 8
"""The minimum length in characters of a value that is hidden as a secret. A shorter value could occur in any text."""


class Discreet(Struct, frozen=True):
    """A struct that is printed without the fields that `unprinted` names: secrets, and fields that are too long."""

    unprinted: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({fields})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Return the fields for rich to print. The inherited method would return all fields."""
        return [(name, getattr(self, name)) for name in self.__struct_fields__ if name not in self.unprinted]


class Instant(Struct, frozen=True):
    """A point in time.

    `wall` is in epoch seconds; `steady` is in seconds on a monotonic clock that also runs during sleep.
    """

    wall: float
    steady: float


def stamp(wall: float) -> str:
    """Return epoch seconds as a timestamp for records and reports: UTC, ISO 8601, to the second, with a Z."""
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def later(at: str, by: timedelta) -> str:
    """Return the timestamp that is `by` later than `at`.

    Returns `at` itself if it is not a timestamp, because a record may hold any text.
    """
    try:
        return stamp((datetime.fromisoformat(at) + by).timestamp())
    except (ValueError, OverflowError):
        return at
