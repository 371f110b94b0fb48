"""The plan, which says what `apply` would do and why, and the results of an apply.

All values are frozen, sorted and serialisable.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.errors import Message
    from reconciler.model.address import Address, TargetName
    from reconciler.model.desired import Target
    from reconciler.model.record import Attempt


class Action(StrEnum):
    """The kinds of changes, in the order in which summaries list them."""

    CREATE = "create"
    EXTEND = "extend"
    REPLACE = "replace"
    RESTORE = "restore"
    REMOVE = "remove"
    RETRY = "retry"
    BLOCKED = "blocked"


SENDS = (Action.CREATE, Action.EXTEND, Action.REPLACE, Action.RETRY)
LOCAL = (Action.RESTORE, Action.REMOVE)
"""SENDS are the actions that need a call; LOCAL are the actions that only append facts. BLOCKED does nothing."""


class Block(StrEnum):
    """The reason why a change is BLOCKED. It determines the exit code.

    - GATE: the record is not the current one, or a loss is open.
    - FOREIGN: the target is bound to another service or account.
    - UNRESOLVED: an attempt has an unknown outcome.
    - IN_FLIGHT: an attempt has no outcome yet, but may still get one.
    - ELSEWHERE: a route is in force under another address.
    - WAITS: something must be removed first.
    - DEPENDS: another change, which is blocked, must come first.
    """

    GATE = "gate"
    FOREIGN = "foreign"
    UNRESOLVED = "unresolved"
    IN_FLIGHT = "in-flight"
    ELSEWHERE = "elsewhere"
    WAITS = "waits"
    DEPENDS = "depends"


class Request(Struct, frozen=True, gc=False):
    """The body of a create call or the desired state of an address: sorted codes, and the URL as a template."""

    codes: tuple[str, ...]
    template: str


class Change(Struct, frozen=True):
    """A planned change to one address.

    - `before` are the attempts in force, sorted by id; `after` is the desired state, or None if nothing is desired.
    - `request` is what a create call sends, or None if there is no call.
    - `concerns` are the attempts that a REMOVE or RESTORE is about, that a REPLACE removes after its create, or that a
      RETRY supersedes.
    - `depends_on` are the addresses whose creates must succeed before this REMOVE, because its codes move there.
    - `blocking` are the attempts that block the change.
    - `digest` covers everything that a reviewer approves: changes with the same digest are the same.
    """

    address: Address
    action: Action
    request: Request | None = None
    concerns: tuple[str, ...] = ()
    block: Block | None = None
    depends_on: tuple[Address, ...] = ()
    blocking: tuple[Attempt, ...] = ()
    before: tuple[Attempt, ...] = ()
    after: Request | None = None
    reasons: tuple[Message, ...] = ()
    warnings: tuple[Message, ...] = ()
    digest: str = ""


class Surplus(Struct, frozen=True):
    """Codes that a desired subscription has in force, but that are not desired or that another attempt also delivers.

    `requested` is true if their removal has been requested.
    """

    address: Address
    attempt: str
    codes: tuple[str, ...]
    requested: bool = False


class Duplicate(Struct, frozen=True):
    """A route that several attempts deliver. `attempts` are their ids, beginning with the one to keep."""

    target: TargetName
    code: str
    url: str
    attempts: tuple[str, ...]


class TargetPlan(Struct, frozen=True):
    """The plan of a target.

    `digest` covers the digests of its changes. `unchanged` is the number of subscriptions that are as desired.
    """

    target: Target
    digest: str
    changes: tuple[Change, ...]
    unchanged: int
    awaiting_removal: tuple[Attempt, ...] = ()
    surplus: tuple[Surplus, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    foreign: tuple[Message, ...] = ()


class Plan(Struct, frozen=True):
    """The plan of all selected targets, by target name.

    - `gates` are messages that say why a closed gate blocks all creates, and how to open it.
    - `record`, `head` and `entries` describe the record that the plan was made from; `losses_open` are the ids of its
      open losses, and `heads_missing` the remembered heads that it lacks.
    - `recipients` are the keys that responses are encrypted to.
    - `undeclared` are the attempts in force or unresolved at selected addresses of targets that `config/` does not
      declare.
    - `superseded` are the attempts at selected addresses that may exist in addition to their retries.
    """

    selection: tuple[str, ...]
    targets: Mapping[TargetName, TargetPlan]
    digest: str
    place: str
    record: str
    head: str
    entries: int
    gates: tuple[Message, ...] = ()
    losses_open: tuple[str, ...] = ()
    heads_missing: tuple[str, ...] = ()
    recipients: tuple[str, ...] = ()
    undeclared: tuple[Attempt, ...] = ()
    superseded: tuple[Attempt, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """Return the `-t` options that the plan was made with, for commands that repeat them."""
        return tuple(word for pattern in self.selection for word in ("-t", pattern))

    @property
    def changes(self) -> list[Change]:
        """Return the changes of every target, sorted by address and action."""
        return [change for name in sorted(self.targets) for change in self.targets[name].changes]

    @property
    def unchanged(self) -> int:
        """Return the number of subscriptions that are in force as desired."""
        return sum(target.unchanged for target in self.targets.values())

    @property
    def patient(self) -> set[Address]:
        """Return the addresses that only wait for a removal, or that depend only on such addresses."""
        waits = {change.address for change in self.changes if change.block is Block.WAITS}
        depend = {
            change.address
            for change in self.changes
            if change.block is Block.DEPENDS and change.depends_on and waits.issuperset(change.depends_on)
        }
        others = {change.address for change in self.changes if change.block not in (Block.WAITS, Block.DEPENDS)}
        return (waits | depend) - others


class Verdict(StrEnum):
    """The verdict of a command. The command line maps each verdict to an exit code (0, 1, 2, 3)."""

    DONE = "done"
    FAILED = "failed"
    CHANGES = "changes"
    UNRESOLVED = "unresolved"


class Done(StrEnum):
    """The outcomes of a change, in the order in which summaries list them.

    The outcomes that `Outcome` also has are for creates.
    """

    CREATED = "created"
    REJECTED = "rejected"
    NOT_SENT = "not_sent"
    UNKNOWN = "unknown"
    RESTORED = "restored"
    REQUESTED = "requested"
    SKIPPED = "skipped"


class Result(Struct, frozen=True, gc=False):
    """The result of a change. `status` is an HTTP status, and `detail` one line for a person, without secrets.

    `recorded` is true if the record is believed to contain the result, and false if a recovery file contains it.
    `settled_by` is copied from the attempt, in epoch seconds, if its outcome is unknown; otherwise it is 0.
    """

    address: Address
    action: Action
    outcome: Done
    status: int | None = None
    attempt: str | None = None
    detail: str | None = None
    recorded: bool = True
    settled_by: float = 0.0


class Applied(Struct, frozen=True):
    """The result of an apply.

    - `removal` are the attempts whose removal it requested, and `restored` are the attempts that it restored.
    - `unresolved` are the attempts of the selected addresses that are unknown or overdue at the end.
    - `left` is the plan made from the final reading of the record, or None if the reading failed.
    - `messages` tell a person about outcomes that are not in the record, and about errors of a store.
    - `signal` is the number of the signal that interrupted the apply, or None if it was not interrupted.
    """

    results: tuple[Result, ...]
    verdict: Verdict
    removal: tuple[Attempt, ...] = ()
    restored: tuple[Attempt, ...] = ()
    unresolved: tuple[Attempt, ...] = ()
    left: Plan | None = None
    messages: tuple[Message, ...] = ()
    signal: int | None = None


class Health(StrEnum):
    """The possible results of a check by `doctor`, in the order in which summaries list them."""

    OK = "ok"
    SKIPPED = "skipped"
    WARNING = "warning"
    FAILED = "failed"


class Finding(Struct, frozen=True):
    """A finding of a check by `doctor`. `message` gives the place, the problem, and the steps to take."""

    check: str
    health: Health
    message: Message
