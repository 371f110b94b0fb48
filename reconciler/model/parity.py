"""Whether two targets are in line, as a value."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.mistake import Place
    from reconciler.model.address import TargetName
    from reconciler.model.desired import ParityException


class View(StrEnum):
    """What is compared; at the GATE it is what is in force in the first target, with what the second desires."""

    DESIRED = "desired"
    IN_FORCE = "in force"
    GATE = "desired but not in force"


class Difference(Struct, frozen=True):
    """One subscription that differs. `what` says in which view; a side that has no such subscription is None.

    A side has sorted `eventCodes`, and where URLs are compared the `webhookUrl` as written.
    """

    name: str
    what: View
    a: Mapping[str, object] | None
    b: Mapping[str, object] | None


class Parity(Struct, frozen=True):
    """What was found; `ignored` differs too, and is declared to; `unused` are declarations that nothing needed.

    `declared_at` is the place of the first declaration in the configuration, of whatever targets.
    """

    a: TargetName
    b: TargetName
    differences: tuple[Difference, ...]
    ignored: tuple[tuple[Difference, ParityException], ...]
    unused: tuple[ParityException, ...]
    declared_at: Place | None = None

    @property
    def in_line(self) -> bool:
        return not self.differences
