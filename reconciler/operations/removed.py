"""Records that the operator has deleted subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.errors import Refused
from reconciler.model.entry import Removed
from reconciler.model.record import Status
from reconciler.operations.attempts import AttemptEdit, AttemptSelector, awaiting_removal, live
from reconciler.operations.edit import now_by

if TYPE_CHECKING:
    from reconciler.model.record import Attempt, Record
    from reconciler.operations.workspace import Workspace


def removal(workspace: Workspace, selector: AttemptSelector, *, force: bool) -> AttemptEdit:
    """The removals to record; `force` takes in one that is live. Raises Refused and StateError."""
    if selector.is_pattern and force:
        raise Refused(
            "--force works with one address only",
            where=selector.text,
            remedy="use the exact address of the deleted subscription",
        )

    def choose(record: Record) -> list[Attempt]:
        chosen = selector.pick(record, awaiting_removal if selector.is_pattern else _removable, "in force")
        for attempt in () if force else live(chosen):
            raise _is_live(attempt)
        return chosen

    def draft(attempt: Attempt) -> list[Removed]:
        at, by = now_by(workspace)
        return [Removed(at=at, by=by, attempt=attempt.id, forced=attempt.status is Status.LIVE)]

    what = "awaiting removal" if selector.is_pattern else "in force"
    chosen = selector.choose(workspace, choose, what)
    return AttemptEdit(workspace, chosen, choose, draft, f"removed {selector.text}")


def _removable(attempts: list[Attempt]) -> list[Attempt]:
    """What awaits removal, or else what is live, which is refused unless it is forced."""
    return awaiting_removal(attempts) or live(attempts)


def _is_live(attempt: Attempt) -> Refused:
    return Refused(
        f"attempt {attempt.id} is live, and its removal was not requested",
        where=attempt.address,
        remedy="if it was deleted anyway, repeat with --force; the next apply creates it again if config/ still"
        " defines it",
    )
