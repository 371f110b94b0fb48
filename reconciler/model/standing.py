"""How things stand: what is in force, whether it has proven to deliver, and what waits for a person."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.model.address import Address, TargetName
    from reconciler.model.plan import TargetPlan
    from reconciler.model.record import Attempt


class Proof(StrEnum):
    """What notifications say of a route: heard lately; heard, but not for a while; or not since it was created."""

    PROVEN = "proven"
    SILENT = "silent"
    NEVER_SEEN = "never seen"


@dataclass(frozen=True, slots=True)
class Heard:
    """What was heard of one event code: `at` is when it was received last, None for never."""

    proof: Proof
    at: str | None


@dataclass(frozen=True, slots=True)
class AttemptStanding:
    """One attempt that is in force, or may be, and what was heard of each of its codes."""

    attempt: Attempt
    heard: Mapping[str, Heard]

    @property
    def has_spoken(self) -> bool:
        """Whether any notification came that it explains."""
        return any(one.at is not None for one in self.heard.values())


@dataclass(frozen=True, slots=True)
class TargetStanding:
    """How one target stands: its attempts by address, and the plan that is left; none for one that is not declared."""

    name: TargetName
    attempts: tuple[AttemptStanding, ...]
    plan: TargetPlan
    declared: bool = True


@dataclass(frozen=True, slots=True)
class Unexplained:
    """Notifications that no recorded subscription explains: something delivers that nobody manages.

    `ambiguous` are the addresses that each might be it, where there are several.
    """

    code: str
    where: str
    count: int
    last: str
    ambiguous: tuple[Address, ...] = ()
