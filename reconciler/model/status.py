"""The status of targets: what is in force, the evidence that it delivers, and what needs a decision."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reconciler.model.address import Address, TargetName
    from reconciler.model.plan import TargetPlan
    from reconciler.model.record import Attempt


class Proof(StrEnum):
    """What notifications prove of a route: received lately; received, but not lately; or never since its create."""

    PROVEN = "proven"
    SILENT = "silent"
    NEVER_SEEN = "never seen"


class Evidence(Struct, frozen=True):
    """The evidence that one event code is delivered: `at` is when it was received last, None for never."""

    proof: Proof
    at: str | None


class ObservedAttempt(Struct, frozen=True):
    """One attempt that is in force, or may be, with the evidence for each of its codes."""

    attempt: Attempt
    evidence: Mapping[str, Evidence]

    @property
    def has_evidence(self) -> bool:
        """Whether any notification of it was received."""
        return any(evidence.at is not None for evidence in self.evidence.values())


class TargetStatus(Struct, frozen=True):
    """The status of one target: its attempts by address, and its plan, which is empty if it is not declared.

    One that is not `recorded` has no record yet, so nothing is known of it. `withdrawn` are the live attempts whose
    removal request was withdrawn lately: the operator may have deleted them all the same. `exchanged` are the groups
    of addresses whose URLs were exchanged.
    """

    name: TargetName
    attempts: tuple[ObservedAttempt, ...]
    plan: TargetPlan
    declared: bool = True
    recorded: bool = True
    withdrawn: tuple[Attempt, ...] = ()
    exchanged: tuple[tuple[Address, ...], ...] = ()

    def exchanged_of(self, going: Iterable[Attempt]) -> tuple[tuple[Address, ...], ...]:
        """The groups of which at least one address has something of `going`, which is to be deleted."""
        addresses = {attempt.address for attempt in going}
        return tuple(pair for pair in self.exchanged if not addresses.isdisjoint(pair))


class Unexplained(Struct, frozen=True):
    """Notifications that match no recorded subscription, or several: then `ambiguous` are the addresses of those."""

    code: str
    where: str
    count: int
    last: str
    ambiguous: tuple[Address, ...] = ()
