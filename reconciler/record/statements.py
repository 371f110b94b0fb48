"""The statements that people make about the record, as data, and the context in which one is checked.

Each has a row in `statement_rows`, which selects, checks, and returns the facts to append.
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
    """The record begins. `complete`: nothing exists at the services yet, and no other record of them is in use."""

    complete: bool = False


class AcceptLoss(Struct, frozen=True):
    """The record continues with the entries that are left: the rest is lost for good."""


class Complete(Struct, frozen=True):
    """These losses (none: all open ones) are over: the record has exactly what exists at the services."""

    losses: tuple[str, ...] = ()


class Import(Struct, frozen=True):
    """The desired subscriptions of an address or a pattern, or this URL with these codes, were created by other means.

    `attempt` is the id in the URL that was created, if the template has `{attempt}`; otherwise any new id.
    """

    where: str
    attempt: str = ""
    url: str = ""
    codes: tuple[str, ...] = ()


class Resolve(Struct, frozen=True):
    """Attempts with an unknown outcome were created, or were not. `attempts` are their ids; none: all unknown ones."""

    where: str
    created: bool
    attempts: tuple[str, ...] = ()
    note: str = ""
    force: bool = False


class Move(Struct, frozen=True):
    """The subscription at one address belongs to another one from now on."""

    source: str
    to: str


class Rebind(Struct, frozen=True):
    """The service and account that a target is bound to are the same as those in the settings."""

    target: str


class RequestRemoval(Struct, frozen=True):
    """The operator is to remove the attempts in force (or these codes of them)."""

    where: str
    attempts: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


class CancelRemoval(Struct, frozen=True):
    """The attempts whose removal was requested (or these codes of them) stay."""

    where: str
    attempts: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


class ConfirmRemoval(Struct, frozen=True):
    """The operator has removed the subscriptions whose removal was requested, or the attempts that are named."""

    where: str
    attempts: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


class SetSecret(Struct, frozen=True):
    """A secret of a subscription that was set by hand: sealed, or the name of a private file."""

    where: str
    secret: str
    attempt: str = ""


class Observe(Struct, frozen=True):
    """Notifications were received, as facts without a time of their own. `notices` name those left out."""

    received: tuple[Received, ...]
    notices: tuple[Message, ...] = ()


class Recover(Struct, frozen=True):
    """The record is to include all facts of another history. `source` is where its lines come from."""

    source: str
    lines: tuple[Line, ...]


Removal = RequestRemoval | CancelRemoval | ConfirmRemoval
Statement = Begin | AcceptLoss | Complete | Import | Resolve | Move | Rebind | Removal | SetSecret | Observe | Recover

UNGATED = (Begin, AcceptLoss, Recover)
"""The statements that are accepted while the first gate is closed: they open none, or are the way through it."""


class Case(Struct, frozen=True):
    """The context in which a statement is checked. `record` is None if there is none at the place.

    `expected` is the id that `record:` names, `notes` are those that concern the record, `second` is as in `Stored`.
    `continues`: the record is closed, and goes on at a place where it can be read. `signs` gives the codes
    received at the URL of an attempt since its create that nothing else explains. `new_id` draws an id.
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
    in_ci: bool = False

    @property
    def at(self) -> str:
        """The current time in the format of facts."""
        return stamp(self.now)


class Draft(Struct, frozen=True):
    """The result of a statement's row. `notices` are messages for a person in addition to the facts."""

    facts: tuple[AnyFact, ...] = ()
    notices: tuple[Message, ...] = ()
    weakens: bool = False
