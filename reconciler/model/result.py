"""The result of a command: its verdict, and the outcome of each change of a plan that was applied."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from reconciler.errors import Message
    from reconciler.model.address import Address
    from reconciler.model.outcome import Outcome
    from reconciler.model.plan import Action, Plan
    from reconciler.model.record import Attempt


class Verdict(StrEnum):
    """The verdict of a command; the command line gives each one an exit code (0, 1, 2, 3)."""

    DONE = "done"
    FAILED = "failed"
    CHANGES = "changes"
    UNRESOLVED = "unresolved"


class Done(StrEnum):
    """The end of a change, in the order in which summaries name them."""

    CREATED = "created"
    REJECTED = "rejected"
    NOT_SENT = "not_sent"
    UNKNOWN = "unknown"
    RESTORED = "restored"
    REQUESTED = "requested"
    SKIPPED = "skipped"

    @classmethod
    def of(cls, outcome: Outcome) -> Done:
        """Return what an outcome is called in results."""
        return cls(outcome.value)


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
