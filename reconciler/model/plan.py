"""The plan: frozen, sorted, serialisable; what `apply` would do and why. Also the results of an apply."""

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
    """The kind of a change, in the order in which summaries name them."""

    CREATE = "create"
    EXTEND = "extend"
    REPLACE = "replace"
    RESTORE = "restore"
    REMOVE = "remove"
    RETRY = "retry"
    BLOCKED = "blocked"


SENDS = (Action.CREATE, Action.EXTEND, Action.REPLACE, Action.RETRY)
LOCAL = (Action.RESTORE, Action.REMOVE)
"""The actions that an apply carries out with a call, and those that take facts only; BLOCKED does nothing."""


class Block(StrEnum):
    """The reason why a change is BLOCKED, which decides the exit code.

    GATE: the record is not the one to go by, or a loss is open. FOREIGN: the target is bound to another service or
    account. UNRESOLVED: an attempt has an unknown outcome; IN_FLIGHT: it may still get one. ELSEWHERE: a route is in
    force under another address. WAITS: until something is removed. DEPENDS: on a change that is blocked.
    """

    GATE = "gate"
    FOREIGN = "foreign"
    UNRESOLVED = "unresolved"
    IN_FLIGHT = "in-flight"
    ELSEWHERE = "elsewhere"
    WAITS = "waits"
    DEPENDS = "depends"


class Request(Struct, frozen=True, gc=False):
    """The body of a create call, or the desired state of an address: sorted codes, and the URL as a template."""

    codes: tuple[str, ...]
    template: str


class Change(Struct, frozen=True):
    """One change of one address.

    `before` are the attempts in force, sorted by id; `after` what is desired, None if nothing is. `request` is what a
    create call sends, None if there is none. `concerns` are the attempts that a REMOVE or RESTORE is about, those that
    a REPLACE has removed once its create is done, and those that a RETRY supersedes. `depends_on` are addresses whose
    creates must have succeeded before a REMOVE whose codes move there. `blocking` are the attempts that block it.
    `digest` covers what approving it approves; two changes are the same if their digests are.
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
    """Codes in force of a desired subscription that are not desired, or that another attempt also delivers.

    `requested`: their removal has been requested.
    """

    address: Address
    attempt: str
    codes: tuple[str, ...]
    requested: bool = False


class Duplicate(Struct, frozen=True):
    """One route that several attempts deliver: their ids, the one to keep first."""

    target: TargetName
    code: str
    url: str
    attempts: tuple[str, ...]


class TargetPlan(Struct, frozen=True):
    """The plan of one target. `digest` covers its changes' digests. `unchanged` counts subscriptions as desired."""

    target: Target
    digest: str
    changes: tuple[Change, ...]
    unchanged: int
    awaiting_removal: tuple[Attempt, ...] = ()
    surplus: tuple[Surplus, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    foreign: tuple[Message, ...] = ()


class Plan(Struct, frozen=True):
    """The plan of all targets selected, by target name.

    `gates` are messages about the first two gates if they are closed: why nothing is created, and the way on.
    `takes_statements`: the first one is open, so that statements about attempts are accepted, and may be named.
    `record`, `head` and `entries` are the record's that was planned on, `losses_open` the ids of its open losses,
    `heads_missing` the remembered heads that it lacks. `recipients` are the keys to encrypt responses to. `undeclared`
    are attempts in force or unresolved at selected addresses of targets that `config/` does not declare, `superseded`
    those at selected addresses that may exist beside the retry that took their place.
    """

    selection: tuple[str, ...]
    targets: Mapping[TargetName, TargetPlan]
    digest: str
    place: str
    record: str
    head: str
    entries: int
    gates: tuple[Message, ...] = ()
    takes_statements: bool = True
    losses_open: tuple[str, ...] = ()
    heads_missing: tuple[str, ...] = ()
    recipients: tuple[str, ...] = ()
    undeclared: tuple[Attempt, ...] = ()
    superseded: tuple[Attempt, ...] = ()

    @property
    def changes(self) -> list[Change]:
        """The changes of every target, sorted by address and action."""
        return [change for name in sorted(self.targets) for change in self.targets[name].changes]

    @property
    def unchanged(self) -> int:
        """The number of subscriptions that are in force as desired."""
        return sum(target.unchanged for target in self.targets.values())

    @property
    def patient(self) -> set[Address]:
        """The addresses that wait for a removal as configured, or depend on such only: no failure."""
        waits = {change.address for change in self.changes if change.block is Block.WAITS}
        depend = {
            change.address
            for change in self.changes
            if change.block is Block.DEPENDS and change.depends_on and waits.issuperset(change.depends_on)
        }
        others = {change.address for change in self.changes if change.block not in (Block.WAITS, Block.DEPENDS)}
        return (waits | depend) - others


class Verdict(StrEnum):
    """The verdict of a command; the command line gives each one an exit code (0, 1, 2, 3)."""

    DONE = "done"
    FAILED = "failed"
    CHANGES = "changes"
    UNRESOLVED = "unresolved"


class Done(StrEnum):
    """The outcome of a change, in the order in which summaries list them; those of a create have its values."""

    CREATED = "created"
    REJECTED = "rejected"
    NOT_SENT = "not_sent"
    UNKNOWN = "unknown"
    RESTORED = "restored"
    REQUESTED = "requested"
    SKIPPED = "skipped"


class Result(Struct, frozen=True, gc=False):
    """The result of one change. `status` is an HTTP status, `detail` one line for a person, free of secrets.

    `recorded`: the record says so too, as far as is known; what it does not is in a recovery file. `settled_by` is that
    of its attempt, in epoch seconds, if the outcome is unknown; 0 otherwise.
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
    """The result of an apply. `removal` are the attempts whose removal it requested, `restored` those it restored.

    `unresolved` are the attempts of the selected addresses that are unknown or overdue at the end, `left` the plan on
    the record as it was read last, None if that failed. `messages` are what a person must know besides: outcomes that
    are not in the record and where they were saved, errors of a store. `signal` is the number of the signal that
    interrupted it, if one did.
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
    """The result of a check of the set-up, in the order in which summaries name it."""

    OK = "ok"
    SKIPPED = "skipped"
    WARNING = "warning"
    FAILED = "failed"


class Finding(Struct, frozen=True):
    """One finding of a check of the set-up. `message` says where, what and what to do."""

    check: str
    health: Health
    message: Message
