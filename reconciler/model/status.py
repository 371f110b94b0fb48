"""The status of targets: what is in force, the evidence that it delivers, and what waits for a person."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.errors import Message
    from reconciler.model.address import Address, TargetName
    from reconciler.model.desired import ParityException
    from reconciler.model.plan import Duplicate, Plan, Surplus
    from reconciler.model.record import Attempt, Loss


class Proof(StrEnum):
    """The proof by notifications that a route delivers: received lately, earlier, or never since its create."""

    PROVEN = "proven"
    SILENT = "silent"
    NEVER_SEEN = "never seen"


class Evidence(Struct, frozen=True):
    """The evidence that one event code is delivered. `at` is when it was last received, "" for never."""

    proof: Proof
    at: str = ""


class ObservedAttempt(Struct, frozen=True):
    """An attempt that is in force or unresolved, with the evidence for each of its codes.

    `supersedes` are the ids of the earlier attempts in place of which it delivers, if it is live: sent again, or taken
    for not created. An endpoint may drop what arrives for them.
    """

    attempt: Attempt
    evidence: Mapping[str, Evidence]
    supersedes: tuple[str, ...] = ()


class TargetStatus(Struct, frozen=True):
    """The status of one target's selected addresses. `attempts` are sorted by address, oldest first.

    A target that is not `declared` has no plan. `recorded_twice` are routes that an import and another attempt stand
    for, which are delivered once. `revived` are attempts that delivered after their confirmed removal. `cancelled` are
    attempts with codes whose removal request was cancelled lately: the operator may have removed these all the same.
    """

    name: TargetName
    attempts: tuple[ObservedAttempt, ...]
    declared: bool = True
    awaiting_removal: tuple[Attempt, ...] = ()
    surplus: tuple[Surplus, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    recorded_twice: tuple[Duplicate, ...] = ()
    revived: tuple[Attempt, ...] = ()
    cancelled: tuple[Attempt, ...] = ()


class ProjectStatus(Struct, frozen=True):
    """The status of the selected targets as of `now` (epoch seconds), with the plan that is left for them."""

    now: float
    targets: tuple[TargetStatus, ...]
    plan: Plan
    losses: tuple[Loss, ...] = ()


class AwaitingRemoval(Struct, frozen=True):
    """An attempt whose removal, in full or of `codes` only, was requested.

    `staying` are live attempts that deliver one of these codes to the same URL: they differ from it in ids and age
    only, and must not be removed by mistake.
    """

    attempt: Attempt
    codes: tuple[str, ...]
    since: str
    staying: tuple[Attempt, ...] = ()


class Removals(Struct, frozen=True):
    """All that the operator of one target should know, as of `at` (UTC, ISO 8601).

    `awaiting` is to be removed. `restored` and `cancelled` must stay: an apply restores the former, and the request for
    the latter was cancelled lately. `unknown` are creates with an unknown outcome: only the operator can look them up.
    """

    target: TargetName
    at: str
    awaiting: tuple[AwaitingRemoval, ...] = ()
    restored: tuple[Attempt, ...] = ()
    cancelled: tuple[Attempt, ...] = ()
    unknown: tuple[Attempt, ...] = ()


class Unexplained(Struct, frozen=True):
    """Notifications that match no attempt of the record, or several. `where` is the URL or path that they arrived at.

    `ambiguous` are the addresses that they may belong to, if there are several. `unmanaged`: the URL belongs to an
    attempt that is not in the record, so somebody else created it. `removed` is the last attempt that delivered the
    code there, until its removal was confirmed.
    """

    code: str
    where: str
    count: int
    last: str
    ambiguous: tuple[Address, ...] = ()
    unmanaged: bool = False
    removed: Attempt | None = None


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

    `unproven` are the codes that PROVEN lacks, each with the time of its first observation, "" for none.
    """

    name: str
    view: View
    a: Side | None
    b: Side | None
    unproven: Mapping[str, str] = field(default_factory=dict)


class Parity(Struct, frozen=True):
    """The comparison of two targets. `ignored` differs too, and is declared to; `unused` are declarations not needed
    here.

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
        """True if there are only declared differences."""
        return not self.differences


class Unpaired(Struct, frozen=True):
    """A target that a pattern selects and whose counterpart is not declared; `matters` if that is a difference."""

    target: TargetName
    counterpart: TargetName
    matters: bool


class Pairs(Struct, frozen=True):
    """The comparison of targets, pair by pair. `unused` are declared exceptions that none of the pairs needs.

    `foreign` says which targets the record binds to another service or account than the settings name, `gates` why the
    record may not say what is in force, as in a plan.
    """

    compared: tuple[Parity, ...]
    unpaired: tuple[Unpaired, ...] = ()
    unused: tuple[ParityException, ...] = ()
    foreign: tuple[Message, ...] = ()
    gates: tuple[Message, ...] = ()

    @property
    def in_line(self) -> bool:
        """True if each pair is in line, each target has its counterpart, and `gates` and `foreign` are empty."""
        return (
            not (self.foreign or self.gates)
            and all(parity.in_line for parity in self.compared)
            and not any(left.matters for left in self.unpaired)
        )
