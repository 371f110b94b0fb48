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
    """Begins the record.

    `complete` states that nothing exists at the services, and that no other record of them is in use.
    """

    complete: bool = False


class AcceptLoss(Struct, frozen=True):
    """States that missing entries are permanently lost: the record continues with the remaining entries."""


class Complete(Struct, frozen=True):
    """States that the record has everything that exists. This ends the named losses, or all losses if none is named."""

    losses: tuple[str, ...] = ()


class Import(Struct, frozen=True):
    """States that subscriptions were created by other means.

    These are the desired subscriptions that `where` matches or, if `url` is given, the subscription with this URL.
    `codes`, if given, replace the desired codes. If the template has `{attempt}`, `attempt` is the id in
    the URL as sent; otherwise it is any new id.
    """

    where: str
    attempt: str = ""
    url: str = ""
    codes: tuple[str, ...] = ()


class Resolve(Struct, frozen=True):
    """States that attempts with an unknown outcome were created, or were not created.

    `attempts` are their ids. If there are none, the statement applies to all attempts with an unknown outcome.
    """

    where: str
    created: bool
    attempts: tuple[str, ...] = ()
    note: str = ""
    force: bool = False


class Move(Struct, frozen=True):
    """States that the subscription at one address now belongs to another address."""

    source: str
    to: str


class Rebind(Struct, frozen=True):
    """States that the service and account of a target in the record are the same as in the settings."""

    target: str


class RequestRemoval(Struct, frozen=True):
    """States that the operator is asked to remove the attempts in force, or some of their codes."""

    where: str
    attempts: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


class CancelRemoval(Struct, frozen=True):
    """States that attempts whose removal was requested, or some of their codes, are not to be removed."""

    where: str
    attempts: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


class ConfirmRemoval(Struct, frozen=True):
    """States that the operator has removed the subscriptions whose removal was requested, or the named attempts."""

    where: str
    attempts: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


class SetSecret(Struct, frozen=True):
    """States the secret that a person set for a subscription, as encrypted text or as the name of a private file."""

    where: str
    secret: str
    attempt: str = ""


class Observe(Struct, frozen=True):
    """States that notifications were received.

    The facts in `received` have no time yet. `notices` are messages for a person.
    """

    received: tuple[Received, ...]
    notices: tuple[Message, ...] = ()


class Recover(Struct, frozen=True):
    """Adds all facts of another history to the record. `source` says where its lines were read."""

    source: str
    lines: tuple[Line, ...]


Removal = RequestRemoval | CancelRemoval | ConfirmRemoval
Statement = Begin | AcceptLoss | Complete | Import | Resolve | Move | Rebind | Removal | SetSecret | Observe | Recover

UNGATED = (Begin, AcceptLoss, Recover)
"""The statements that are accepted while the first gate is closed: they do not rely on it, or they open it."""


class StatementContext(Struct, frozen=True):
    """The context in which a statement is checked. `record` is None if the place has no record.

    `expected` is the id that `record:` names, `notes` are the notes that concern the record, and `second` is as in
    `Stored`. `continues` is true if the record is closed and continues at a place that can be read. `signs` returns the
    codes that were received at an attempt's URL since it was created and that no other attempt explains. `unrecovered`
    has a message for each attempt about which a recovery file has more facts. `new_id` draws an id.
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
        """Return the current time as a timestamp, in the format that facts use."""
        return stamp(self.now)


class Draft(Struct, frozen=True):
    """The result of a statement's row. `notices` are messages for a person in addition to the facts."""

    facts: tuple[AnyFact, ...] = ()
    notices: tuple[Message, ...] = ()
    weakens: bool = False
