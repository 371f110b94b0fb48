"""What this machine knows of a create whose outcome the record does not tell: a run left it here as it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.model.entry import Settled
from reconciler.model.outcome import Outcome
from reconciler.operations.kept_secrets import with_response
from reconciler.state.private.unrecorded import all_kept

if TYPE_CHECKING:
    from pathlib import Path

    from reconciler.model.record import Attempt, Record
    from reconciler.operations.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Known:
    """The outcome of a create, and the file of entries that could not be recorded which tells it, if one does."""

    outcome: Outcome
    file: Path | None = None


def known_outcome(workspace: Workspace, record: Record, attempt: Attempt) -> Known | None:
    """What became of an unsettled attempt, as far as this machine can prove it. Raises StateError.

    A response is kept of what was created, and of nothing else.
    """
    told = {
        one.file: one.entry.outcome
        for one in all_kept(workspace.data_directory)
        if one.record in record.ids and isinstance(one.entry, Settled) and one.entry.attempt == attempt.id
    }
    for file, outcome in told.items():
        if outcome is not Outcome.UNKNOWN:
            return Known(outcome, file)
    return Known(Outcome.CREATED) if with_response(workspace, record, attempt).response else None
