"""The result of a command: its verdict, the outcome of each change of a plan that was applied, what checks found."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from reconciler.model.address import Address
    from reconciler.model.outcome import Outcome
    from reconciler.model.plan import Action
    from reconciler.model.record import Attempt


class Verdict(StrEnum):
    """What a command came to; the command line gives each one an exit code."""

    DONE = "done"
    """Everything was done, or there is nothing to do."""
    FAILED = "failed"
    CHANGES = "changes"
    """There is something to do, and nothing of it was done: a plan with changes, two targets that differ."""
    UNRESOLVED = "unresolved"
    """A create has an unknown outcome, or may be in flight."""


class Done(StrEnum):
    """What became of a change, in the order in which summaries name them."""

    CREATED = "created"
    REJECTED = "rejected"
    NOT_SENT = "not_sent"
    UNKNOWN = "unknown"
    RESTORED = "restored"
    RETIRED = "retired"
    SKIPPED = "skipped"

    @classmethod
    def of(cls, outcome: Outcome) -> Done:
        return cls(outcome.value)


class Result(Struct, frozen=True, gc=False):
    """What became of one change. `status` is an HTTP status, `detail` one line for a person, free of secrets.

    `recorded`: whether the record says so too, as far as is known; what it does not is kept elsewhere. `settled_by` is
    that of its attempt, in epoch seconds, if the outcome is unknown; 0 otherwise.
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
    """What an apply came to. `removal` are the attempts it retired, for which the operator has to be asked.

    `restored` are those it restored, as they were before, which the operator is to keep. `unknown` are creates of
    unknown outcome that are recorded: its own, and those that block changes. `unrecorded` are notices about outcomes
    that could not be written to the record, and where they were saved. `signal` is the number of the signal that
    interrupted it, if one did. `problems` say why outcomes could not be written, in the words of the store. `surplus`
    and `awaiting_removal` are how many attempts are so afterwards. `exchanged` are the groups of addresses whose URLs
    the plan exchanged, as far as it retired what had the old ones.
    """

    results: tuple[Result, ...]
    removal: tuple[Attempt, ...]
    verdict: Verdict
    unrecorded: tuple[str, ...] = ()
    signal: int | None = None
    problems: tuple[str, ...] = ()
    surplus: int = 0
    awaiting_removal: int = 0
    restored: tuple[Attempt, ...] = ()
    unknown: tuple[Attempt, ...] = ()
    exchanged: tuple[tuple[Address, ...], ...] = ()


class Health(StrEnum):
    """What a check of the set-up came to, in the order in which summaries name it."""

    OK = "ok"
    SKIPPED = "skipped"
    WARNING = "warning"
    FAILED = "failed"


class Finding(Struct, frozen=True):
    """What one check of the set-up found, free of secrets.

    `about` is a setting, a target, a server, a URL or a file. `remedy` is the one thing to do, if there is one.
    """

    check: str
    about: str
    health: Health
    what: str
    remedy: str | None = None
