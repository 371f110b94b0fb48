"""The plan: frozen, sorted, serialisable; what `apply` would do and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

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


@dataclass(frozen=True, slots=True)
class Request:
    """The body of a create call, or the desired state of an address: sorted codes, and the URL as it is sent."""

    codes: tuple[str, ...]
    url: str


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one address.

    `before` are the attempts in force; `after` what is desired, None if nothing is. `request` is what a create call
    sends, None if there is none. `concerns` are the attempts that a RETIRE or RESTORE is about, and those that a
    REPLACE retires once its create is done. `depends_on` are addresses whose creates must have succeeded before
    this change (a RETIRE whose codes move there) is carried out. `waits_for` are the attempts, of whatever address,
    that must be gone before a change that WAITS can proceed. Two changes are equal if they would do the same: words
    (`reasons`, `warnings`), `before` and the order do not count.
    """

    address: Address
    action: Action
    request: Request | None = None
    concerns: tuple[str, ...] = ()
    block: Block | None = None
    depends_on: tuple[Address, ...] = field(default=(), compare=False)
    waits_for: tuple[Attempt, ...] = field(default=(), compare=False)
    after: Request | None = field(default=None, compare=False)
    before: tuple[Attempt, ...] = field(default=(), compare=False)
    reasons: tuple[str, ...] = field(default=(), compare=False)
    warnings: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Surplus:
    """Codes in force that are no longer desired, or delivered twice, of a subscription that is desired."""

    address: Address
    attempt: str
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TargetPlan:
    """What is planned for one target. `digest` covers what approving the plan approves."""

    name: TargetName
    digest: str
    head: str
    entries: int
    changes: tuple[Change, ...]
    awaiting_removal: tuple[Attempt, ...]
    surplus: tuple[Surplus, ...]
    unchanged: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What is planned for all targets selected, by target name."""

    selection: tuple[str, ...]
    targets: Mapping[TargetName, TargetPlan]
    digest: str

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
