"""Requests the removal of subscriptions, or cancels the request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.entry import ASKED_FOR, Restored, Retired
from reconciler.model.record import Status
from reconciler.operations.attempts import AttemptEdit, AttemptSelector, awaiting_removal, live
from reconciler.operations.edit import now_by

if TYPE_CHECKING:
    from reconciler.model.record import Attempt, Record
    from reconciler.operations.workspace import Workspace


def retirement(workspace: Workspace, selector: AttemptSelector, *, withdraw: bool) -> AttemptEdit:
    """The removal requests to record, or those to withdraw. Raises Refused if nothing is selected, and StateError."""
    narrow = awaiting_removal if withdraw else (live if selector.is_pattern else _in_force)
    what = "awaiting removal" if withdraw else "in force"

    def choose(record: Record) -> list[Attempt]:
        return selector.pick(record, narrow, what)

    def draft(attempt: Attempt) -> list[Retired | Restored]:
        at, by = now_by(workspace)
        if withdraw:
            return [Restored(at=at, by=by, attempt=attempt.id)]
        requested_before = attempt.status is not Status.LIVE and attempt.on_purpose
        return [] if requested_before else [Retired(at=at, by=by, attempt=attempt.id, reason=ASKED_FOR)]

    note = f"{'withdrawn' if withdraw else 'retired'} {selector.text}"
    return AttemptEdit(workspace, selector.choose(workspace, choose, what), choose, draft, note)


def _in_force(attempts: list[Attempt]) -> list[Attempt]:
    """What is live, or else what awaits removal, whose request is printed again."""
    return live(attempts) or awaiting_removal(attempts)
