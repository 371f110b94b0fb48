"""How two targets compare, as a value."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.errors import Message
    from reconciler.model.address import Address, TargetName
    from reconciler.model.desired import ParityException


class View(StrEnum):
    """The subject of a comparison. GATE compares what is live in the first target with what the second desires.

    PROVEN compares what was observed delivering in the first target instead.
    """

    DESIRED = "desired"
    IN_FORCE = "in force"
    GATE = "desired but not in force"
    PROVEN = "desired but not proven"


class Side(Struct, frozen=True):
    """One side of a difference: sorted codes, and where URLs are compared the URL as written, else ""."""

    codes: tuple[str, ...]
    written: str = ""


class Difference(Struct, frozen=True):
    """One subscription that differs; a side that has no such subscription is None.

    `unproven` are the codes that PROVEN misses, each with when it was first observed, "" for never.
    """

    name: str
    view: View
    a: Side | None
    b: Side | None
    unproven: Mapping[str, str] = field(default_factory=dict)


class Parity(Struct, frozen=True):
    """How two targets compare. `ignored` differs too, and is declared to; `unused` are declarations not needed here.

    `unapplied` are addresses that differ because an apply is left to do, `leaving` because a removal is awaited.
    """

    a: TargetName
    b: TargetName
    differences: tuple[Difference, ...]
    ignored: tuple[tuple[Difference, ParityException], ...] = ()
    unused: tuple[ParityException, ...] = ()
    unapplied: tuple[Address, ...] = ()
    leaving: tuple[Address, ...] = ()

    @property
    def in_line(self) -> bool:
        """True if nothing differs but what is declared to."""
        return not self.differences


class Unpaired(Struct, frozen=True):
    """A target that a pattern selects and whose counterpart is not declared; `matters` if that is a difference."""

    target: TargetName
    counterpart: TargetName
    matters: bool


class Pairs(Struct, frozen=True):
    """How targets compare, pair by pair. `unused` are declared exceptions that none of the pairs needs.

    `foreign` says which targets the record binds to another service or account than the settings name.
    """

    compared: tuple[Parity, ...]
    unpaired: tuple[Unpaired, ...] = ()
    unused: tuple[ParityException, ...] = ()
    foreign: tuple[Message, ...] = ()

    @property
    def in_line(self) -> bool:
        """True if each pair is in line, no target lacks its counterpart, and none is of another service."""
        return (
            not self.foreign
            and all(parity.in_line for parity in self.compared)
            and not any(left.matters for left in self.unpaired)
        )
