"""The statements that people make about the record, as data, and the context in which they are checked.

Each statement has a row in `statement_rows`, which selects attempts, checks the statement and returns the facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.values import stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from reconciler.errors import Message
    from reconciler.model.address import TargetName
    from reconciler.model.desired import Desired
    from reconciler.model.record import Attempt, Record
    from reconciler.record.chain import Line
    from reconciler.record.facts import AnyFact, Received
    from reconciler.record.gates import Note, Standing


class Begin(Struct, frozen=True):
    """Begin the record.

    `complete` states that nothing exists at the services, and that no other record of them is in use.
    """

    complete: bool = False


class AcceptLoss(Struct, frozen=True):
    """Continue the record with the remaining entries: the rest is permanently lost."""


class Complete(Struct, frozen=True):
    """These losses (or, if none is named, all open losses) are over: the record has everything that exists."""

    losses: tuple[str, ...] = ()


class Import(Struct, frozen=True):
    """The desired subscriptions of an address or a pattern, or this URL with these codes, were created by other means.

    `attempt` is the id in the created URL if the template has `{attempt}`; otherwise it is any new id.
    """

    where: str
    attempt: str = ""
    url: str = ""
    codes: tuple[str, ...] = ()


class Resolve(Struct, frozen=True):
    """Attempts with an unknown outcome were created, or were not.

    `attempts` are their ids. If it is empty, all unknown attempts are meant.
    """

    where: str
    created: bool
    attempts: tuple[str, ...] = ()
    note: str = ""
    force: bool = False


class Move(Struct, frozen=True):
    """The subscription at one address now belongs to another address."""

    source: str
    to: str


class Rebind(Struct, frozen=True):
    """The service and account that a target is bound to are the same as those in the settings."""

    target: str


class RequestRemoval(Struct, frozen=True):
    """The operator is asked to remove the attempts in force, or these codes of them."""

    where: str
    attempts: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


class CancelRemoval(Struct, frozen=True):
    """The attempts whose removal was requested stay, or these codes of them do."""

    where: str
    attempts: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


class ConfirmRemoval(Struct, frozen=True):
    """The operator has removed the subscriptions whose removal was requested, or the attempts that are named."""

    where: str
    attempts: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


class SetSecret(Struct, frozen=True):
    """A subscription secret that was set by hand: encrypted, or the name of a private file."""

    where: str
    secret: str
    attempt: str = ""


class Observe(Struct, frozen=True):
    """Notifications were received. `received` are the facts, still without a time; `notices` name those left out."""

    received: tuple[Received, ...]
    notices: tuple[Message, ...] = ()


class Recover(Struct, frozen=True):
    """Add all facts of another history to the record. `source` is where its lines come from."""

    source: str
    lines: tuple[Line, ...]


Removal = RequestRemoval | CancelRemoval | ConfirmRemoval
Statement = Begin | AcceptLoss | Complete | Import | Resolve | Move | Rebind | Removal | SetSecret | Observe | Recover

UNGATED = (Begin, AcceptLoss, Recover)
"""The statements that are accepted while the first gate is closed: they do not rely on it, or they open it."""


class StatementContext(Struct, frozen=True):
    """The context in which a statement is checked. `record` is None if the place has no record.

    `expected` is the id that `record:` names, `notes` are the notes that concern the record, and `second` is as in
    `Stored`. `continues` is true if the record is closed and goes on at a place that can be read. `signs` returns the
    codes received at the URL of an attempt since its create that no other attempt explains. `unrecovered` has a message
    for each attempt about which a recovery file has more facts. `new_id` draws an id.
    """

    standing: Standing
    desired: Desired
    now: float
    new_id: Callable[[], str]
    record: Record | None = None
    by: Mapping[str, str] = {}
    accounts: Mapping[TargetName, str] = {}
    expected: str = ""
    notes: tuple[Note, ...] = ()
    second: str | None = None
    continues: bool = False
    signs: Callable[[Attempt], Collection[str]] = lambda _: ()
    unrecovered: Mapping[str, Message] = {}
    in_ci: bool = False

    @property
    def at(self) -> str:
        """Return the current time in the format of facts."""
        return stamp(self.now)


class Draft(Struct, frozen=True):
    """The result of a statement's row. `notices` are messages for a person in addition to the facts."""

    facts: tuple[AnyFact, ...] = ()
    notices: tuple[Message, ...] = ()
    weakens: bool = False
