"""Whether two targets are in line, as a value."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.mistake import Place
    from reconciler.model.address import Address, TargetName
    from reconciler.model.desired import ParityException


class View(StrEnum):
    """What is compared; at the GATE it is what is in force in the first target, with what the second desires.

    PROVEN compares what was observed delivering in the first target instead.
    """

    DESIRED = "desired"
    IN_FORCE = "in force"
    GATE = "desired but not in force"
    PROVEN = "desired but not proven"


class Difference(Struct, frozen=True):
    """One subscription that differs. `what` says in which view; a side that has no such subscription is None.

    A side has sorted `eventCodes`, and where URLs are compared the `webhookUrl` as written. `unproven` are the codes
    that PROVEN misses, each with when it was first observed; None for never.
    """

    name: str
    what: View
    a: Mapping[str, object] | None
    b: Mapping[str, object] | None
    unproven: Mapping[str, str | None] = field(default_factory=dict)


class Parity(Struct, frozen=True):
    """What was found; `ignored` differs too, and is declared to; `unused` are declarations that nothing needed.

    `declared_at` is the place of the first declaration in the configuration, of whatever targets. `unapplied` are
    addresses that differ since what they desire is not applied, `leaving` those that do since the operator has not
    deleted something yet. `unrecorded` are the targets without a record: what is in force there is not compared.
    """

    a: TargetName
    b: TargetName
    differences: tuple[Difference, ...]
    ignored: tuple[tuple[Difference, ParityException], ...]
    unused: tuple[ParityException, ...]
    declared_at: Place | None = None
    unapplied: tuple[Address, ...] = ()
    leaving: tuple[Address, ...] = ()
    unrecorded: tuple[TargetName, ...] = ()

    @property
    def in_line(self) -> bool:
        return not self.differences


class Unpaired(Struct, frozen=True):
    """A target that a pattern selects and whose counterpart is not declared; `matters` if that is a difference."""

    target: TargetName
    counterpart: TargetName
    matters: bool


class Pairs(Struct, frozen=True):
    """What comparing two patterns of targets came to, pair by pair."""

    compared: tuple[Parity, ...]
    unpaired: tuple[Unpaired, ...]

    @property
    def in_line(self) -> bool:
        return all(parity.in_line for parity in self.compared) and not any(left.matters for left in self.unpaired)
