"""Additions to msgspec's Struct: fields that are not printed, and fields that do not count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Hashable


class Discreet(Struct, frozen=True):
    """A value that is printed without its fields in `unprinted`: secrets, and what would fill the screen."""

    unprinted: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({fields})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """The fields that are printed. Struct's own of this name would show rich all of them."""
        return [(name, getattr(self, name)) for name in self.__struct_fields__ if name not in self.unprinted]


class Keyed(Struct, frozen=True, eq=False):
    """A value that is equal to another of its class if their keys are, whatever else they hold."""

    @property
    def key(self) -> Hashable:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)
