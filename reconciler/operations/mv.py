"""Renames a subscription in the record, without a call."""

from collections.abc import Callable, Iterable

from reconciler.errors import Refused
from reconciler.model.address import Address
from reconciler.model.entry import Moved
from reconciler.model.record import Attempt, Record
from reconciler.operations.edit import not_recorded, now_by, record_entries
from reconciler.operations.workspace import Workspace


def move(workspace: Workspace, before: Address, after: Address, show: Callable[[Iterable[Attempt]], None]) -> None:
    """Record the attempts of `before` as those of `after`; `show` gets them first.

    Raises Refused for another target, for nothing to move, and for an address in use; and StateError.
    """
    if before.target != after.target:
        raise Refused(
            "cannot move a subscription to another target",
            where=f"{before} to {after}",
            remedy="create it on the other target, then retire it here",
        )

    def draft(record: Record) -> list[Moved]:
        attempts = record.at_address(before)
        if not attempts:
            raise not_recorded(before)
        if record.at_address(after):
            raise Refused(
                "already in the state record",
                where=after,
                remedy="if config/ now uses another name for it, rename that first (`reconciler plan` prints the"
                f" command); to see it, run: reconciler state show {after}",
            )
        show(attempts)
        at, by = now_by(workspace)
        return [Moved(at=at, by=by, source=before, address=after)]

    record_entries(workspace, before.target, draft, f"moved {before.name} to {after.name}")
