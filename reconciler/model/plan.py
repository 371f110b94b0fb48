"""The plan: frozen, sorted, serialisable; what `apply` would do and why."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.values import Keyed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.model.address import Address, TargetName
    from reconciler.model.record import Attempt


class Action(StrEnum):
    """What is to be done about an address, in the order in which summaries name them."""

    CREATE = "create"
    EXTEND = "extend"
    REPLACE = "replace"
    RESTORE = "restore"
    RETIRE = "retire"
    BLOCKED = "blocked"


SENDS = (Action.CREATE, Action.EXTEND, Action.REPLACE)
LOCAL = (Action.RESTORE, Action.RETIRE)
"""The actions that an apply carries out with a call, and those that take entries only; any other does nothing."""


class Block(StrEnum):
    """Why a change is BLOCKED, which decides the exit code."""

    UNRESOLVED = "unsettled"
    ELSEWHERE = "elsewhere"
    WAITS = "waits"


class Request(Struct, frozen=True, gc=False):
    """The body of a create call, or the desired state of an address: sorted codes, and the URL as it is sent."""

    codes: tuple[str, ...]
    url: str


class Change(Keyed, frozen=True, eq=False):
    """One change of one address.

    `before` are the attempts in force; `after` what is desired, None if nothing is. `request` is what a create call
    sends, None if there is none. `concerns` are the attempts that a RETIRE or RESTORE is about, and those that a
    REPLACE retires once its create is done. `depends_on` are addresses whose creates must have succeeded before
    this change (a RETIRE whose codes move there) is carried out. `waits_for` are the attempts, of whatever address,
    that must be gone before a change that WAITS can proceed; `unresolved` those of unknown outcome that block one.
    `exchanged` are the addresses whose URLs were exchanged, this one and others, if this retires what has an old one.
    Two changes are equal if they would do the same: words (`reasons`, `warnings`, and `exchanged`), `before` and the
    order do not count.
    """

    address: Address
    action: Action
    request: Request | None = None
    concerns: tuple[str, ...] = ()
    block: Block | None = None
    depends_on: tuple[Address, ...] = ()
    waits_for: tuple[Attempt, ...] = ()
    unresolved: tuple[Attempt, ...] = ()
    after: Request | None = None
    before: tuple[Attempt, ...] = ()
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    exchanged: tuple[Address, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """What the change does."""
        return self.address, self.action, self.request, self.concerns, self.block

    @property
    def restored(self) -> tuple[Attempt, ...]:
        """The attempts that a RESTORE is about; none for any other action."""
        if self.action is not Action.RESTORE:
            return ()
        return tuple(attempt for attempt in self.before if attempt.id in self.concerns)


class Surplus(Struct, frozen=True):
    """Codes in force that are no longer desired, or delivered twice, of a subscription that is desired.

    `twin` is the other attempt that delivers the same codes to the same URL, the one to keep, "" if there is none;
    `twin_alone_verifiable`: only of that one is a secret stored, which its notifications are verified with.
    """

    address: Address
    attempt: str
    codes: tuple[str, ...]
    twin: str = ""
    twin_alone_verifiable: bool = False


class Destination(Struct, frozen=True):
    """Where a target's calls go, as the configuration and the settings have it.

    `recorded_url` is the base URL that the target's record belongs to. `resealed_to` are the age public keys that the
    record names: those its responses were encrypted to once more. What a response was encrypted to first, no record
    says.
    """

    base_url: str
    auth_url: str
    audience_base: str
    recorded_url: str
    resealed_to: frozenset[str] = frozenset()


class TargetPlan(Struct, frozen=True):
    """What is planned for one target. `digest` covers what approving the plan approves.

    `destination` is None for a target that is not declared.
    """

    name: TargetName
    digest: str
    head: str
    entries: int
    changes: tuple[Change, ...]
    awaiting_removal: tuple[Attempt, ...]
    surplus: tuple[Surplus, ...]
    unchanged: int
    destination: Destination | None = None

    @property
    def restored(self) -> tuple[Attempt, ...]:
        """What awaits removal and the plan restores: the operator is to keep it."""
        return tuple(attempt for change in self.changes for attempt in change.restored)

    @property
    def unresolved(self) -> tuple[Attempt, ...]:
        """The creates of unknown outcome that block changes, each once."""
        return tuple({attempt.id: attempt for change in self.changes for attempt in change.unresolved}.values())

    @property
    def to_remove(self) -> tuple[Attempt, ...]:
        """What awaits removal, without what the plan restores."""
        restored = {attempt.id for attempt in self.restored}
        return tuple(attempt for attempt in self.awaiting_removal if attempt.id not in restored)


class Plan(Struct, frozen=True):
    """What is planned for all targets selected, by target name. `recipients` are the keys to encrypt responses to."""

    selection: tuple[str, ...]
    targets: Mapping[TargetName, TargetPlan]
    digest: str
    recipients: tuple[str, ...] = ()

    @property
    def changes(self) -> list[Change]:
        """The changes of every target, sorted by address."""
        return sorted(
            (change for target in self.targets.values() for change in target.changes),
            key=lambda change: (change.address, change.action),
        )

    @property
    def unchanged(self) -> int:
        """How many desired subscriptions need no change."""
        return sum(target.unchanged for target in self.targets.values())

    @property
    def surplus(self) -> int:
        """How many attempts deliver surplus codes."""
        return sum(len(target.surplus) for target in self.targets.values())

    @property
    def awaiting_removal(self) -> int:
        """How many attempts await removal, without what the plan restores."""
        return sum(len(target.to_remove) for target in self.targets.values())
