"""Values of a union, as the one of its kinds that is expected."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def of_kind(kind: type[T], *values: object) -> T:
    """Return the only value, which is of that kind."""
    (value,) = values
    assert isinstance(value, kind), value
    return value
