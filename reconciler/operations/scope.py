"""Which attempts a command is about: an address or a pattern, `--attempt`, and what the command can mean of those."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.errors import Refused
from reconciler.model.address import Address
from reconciler.model.selection import Selection
from reconciler.operations.edit import parse_address, pick, record_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reconciler.model.address import TargetName
    from reconciler.model.entry import AnyEntry
    from reconciler.model.record import Attempt, Record
    from reconciler.operations.workspace import Workspace

    Choose = Callable[[Record], list[Attempt]]
    Draft = Callable[[Record, Attempt], Sequence[AnyEntry]]


@dataclass(frozen=True, slots=True)
class Scope:
    """What ADDRESS|PATTERN and --attempt select of a record."""

    text: str
    attempt: str | None
    is_pattern: bool
    selection: Selection

    @classmethod
    def of(cls, text: str, attempt: str | None) -> Scope:
        """Raises Refused for what is neither an address nor a glob over addresses or targets."""
        is_pattern = text.count("/") == 1 or any(sign in text for sign in "*?[")
        if is_pattern and (text.count("/") not in (1, 2) or "" in text.split("/")):
            raise Refused(
                "a pattern is written region/environment or region/environment/name",
                where=text,
                remedy="for instance 'europe/*' or '*/production/offers'",
            )
        return cls(text, attempt, is_pattern, Selection((text if is_pattern else parse_address(text),)))

    def pick(self, record: Record, narrow: Callable[[list[Attempt]], list[Attempt]], what: str) -> list[Attempt]:
        """Of each address the attempt that is meant, if any: `narrow` says which of its attempts can be.

        Raises Refused for an address where several are; `what` says of what kind they are.
        """
        by_address: dict[Address, list[Attempt]] = {}
        for one in record.attempts.values():
            if self.selection.has(one.address) and self.attempt in (None, one.id):
                by_address.setdefault(one.address, []).append(one)
        narrowed = {address: narrow(attempts) for address, attempts in by_address.items()}
        return [pick(attempts, None, address, what) for address, attempts in narrowed.items() if attempts]

    def choose(
        self, workspace: Workspace, choose: Choose, what: str, noun: str = "attempt"
    ) -> dict[TargetName, list[Attempt]]:
        """What `choose` gives of each record that is selected: what it refuses is refused before anything is done.

        Raises Refused where that is nothing (a `noun` of what kind), and StateError.
        """
        targets = [name for name in workspace.store.targets() if self.selection.touches(name)]
        if not (targets or self.is_pattern):
            workspace.read(Address(self.text).target)
        found = {name: choose(record) for name, record in workspace.records(targets).items()}
        if not any(found.values()):
            named = "" if self.attempt is None else f" with the id {self.attempt}"
            see = "list" if self.is_pattern else f"show {self.text}"
            has_none = "no" if self.is_pattern else "it has no"
            raise Refused(f"{has_none} {noun}{named} {what}", where=self.text, remedy=f"see: reconciler state {see}")
        return {name: attempts for name, attempts in found.items() if attempts}


def record_chosen(
    workspace: Workspace, target: TargetName, shown: Sequence[Attempt], choose: Choose, draft: Draft, note: str
) -> list[Attempt]:
    """Append what `draft` makes of each attempt that was `shown` and is still chosen; those, as they are then.

    Raises what `choose` and `draft` raise, and StateError.
    """
    ids = {one.id for one in shown}
    still: list[Attempt] = []

    def entries(record: Record) -> list[AnyEntry]:
        still[:] = [one for one in choose(record) if one.id in ids]
        return [entry for one in still for entry in draft(record, one)]

    record = record_entries(workspace, target, entries, note)
    return [record.attempts[one.id] for one in still]
