"""The status of targets: what is in force, the evidence that it delivers, and what needs a person."""

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
    """The evidence that a route delivers: its notifications arrived recently, only earlier, or never."""

    PROVEN = "proven"
    SILENT = "silent"
    NEVER_SEEN = "never seen"


class Evidence(Struct, frozen=True):
    """The evidence that an event code is delivered. `at` is the time of the last receipt, or "" if there was none."""

    proof: Proof
    at: str = ""


class ObservedAttempt(Struct, frozen=True):
    """An attempt in force or unresolved, with the evidence for each of its codes.

    If the attempt is live, `supersedes` are the ids of the earlier attempts that it replaces: they were retried or
    resolved as not created. An endpoint may ignore their notifications.
    """

    attempt: Attempt
    evidence: Mapping[str, Evidence]
    supersedes: tuple[str, ...] = ()


class TargetStatus(Struct, frozen=True):
    """The status of one target's selected addresses. `attempts` are sorted by address, oldest first.

    A target that is not `declared` has no plan. `recorded_twice` are routes that are recorded by an import and by
    another attempt but delivered only once. `revived` are attempts that delivered after their removal was confirmed.
    `cancelled` are attempts with codes whose removal request was recently cancelled: the operator may have removed
    these codes anyway.
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
    """The status of the selected targets at `now` (epoch seconds), with their plan."""

    now: float
    targets: tuple[TargetStatus, ...]
    plan: Plan
    losses: tuple[Loss, ...] = ()


class AwaitingRemoval(Struct, frozen=True):
    """An attempt whose removal was requested, either in full or only for `codes`.

    `staying` are live attempts that deliver one of these codes to the same URL and must not be removed by mistake. Only
    their ids and ages distinguish them from the attempt to remove.
    """

    attempt: Attempt
    codes: tuple[str, ...]
    since: str
    staying: tuple[Attempt, ...] = ()


class Removals(Struct, frozen=True):
    """Everything that the operator of one target should know, as of `at` (UTC, ISO 8601).

    `awaiting` are the attempts to be removed. The attempts in `restored` must stay because an apply restores them, and
    those in `cancelled` because their removal requests were recently cancelled. `unknown` are creates with an
    unknown outcome, which only the operator can look up.
    """

    target: TargetName
    at: str
    awaiting: tuple[AwaitingRemoval, ...] = ()
    restored: tuple[Attempt, ...] = ()
    cancelled: tuple[Attempt, ...] = ()
    unknown: tuple[Attempt, ...] = ()


class Unexplained(Struct, frozen=True):
    """Notifications that match no recorded attempt, or several. `where` is the URL or path at which they arrived.

    `ambiguous` are the addresses that they may belong to, if there are several. `unmanaged` is true if the URL belongs
    to an attempt that is not in the record, because somebody created it by other means. `removed` is the last attempt
    that delivered the code there until its removal was confirmed.
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

    PROVEN compares the live codes that were observed in the first target with what the second desires.
    """

    DESIRED = "desired"
    IN_FORCE = "in force"
    GATE = "desired but not in force"
    PROVEN = "desired but not proven"


class Side(Struct, frozen=True):
    """One side of a difference: sorted codes, and the URL as written, or "" if URLs are not compared."""

    codes: tuple[str, ...]
    written: str = ""


class Difference(Struct, frozen=True):
    """A subscription that differs. A side is None if it does not have this subscription.

    `unproven` maps the codes that were not observed in time to the time of their first observation or, if there was
    none, to "".
    """

    name: str
    view: View
    a: Side | None
    b: Side | None
    unproven: Mapping[str, str] = field(default_factory=dict)


class Parity(Struct, frozen=True):
    """The comparison of two targets.

    `ignored` are the declared differences, and `unused` the declarations that match no difference. `unapplied` are the
    addresses that differ because an apply is pending, and `leaving` the addresses that differ because a removal is
    awaited.
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
    """A selected target whose counterpart is not declared; `matters` is true if this counts as a difference."""

    target: TargetName
    counterpart: TargetName
    matters: bool


class Pairs(Struct, frozen=True):
    """The comparison of targets, pair by pair. `unused` are declared exceptions that match no difference in any pair.

    `foreign` has messages about targets that the record binds to a service or account that differs from the settings.
    `gates` has messages that say why the record may be wrong about what is in force, as in a plan.
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
