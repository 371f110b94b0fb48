"""What is in force on each target, and what needs attention."""

from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from reconciler.errors import StateError, StoreUnavailable
from reconciler.model.result import Verdict
from reconciler.model.selection import Selection
from reconciler.model.status import TargetStatus
from reconciler.operations.known_results import KnownResults
from reconciler.operations.plan import Planned, survey
from reconciler.operations.same_service import warn_of_unread
from reconciler.operations.workspace import Workspace
from reconciler.planning.status import status_of, status_of_undeclared


class StatusReport(Struct, frozen=True):
    """The selected targets, what is left to do for them, and whether no record is lost or damaged."""

    targets: list[TargetStatus]
    verdict: Verdict
    whole: bool


def read_status(workspace: Workspace, patterns: tuple[str, ...]) -> StatusReport:
    """The status of the selected targets whose records can be used; warns of the others.

    Raises what `survey` does if no record can be used.
    """
    planned, whole = _plan(workspace, patterns)
    warn_of_unread(workspace.notices, planned.unread)
    return StatusReport(_standings(planned), planned.verdict, whole)


def _plan(workspace: Workspace, patterns: tuple[str, ...]) -> tuple[Planned, bool]:
    """The plan for the targets selected whose record can be used, and whether no record is lost or damaged."""
    try:
        return survey(workspace, patterns, allow_empty=True), True
    except StoreUnavailable:
        raise
    except StateError:
        selection, read = Selection.of(patterns), KnownResults(workspace).read
        usable, whole = workspace.usable_records(
            read, [name for name in workspace.desired.targets if selection.touches(name)]
        )
        if not usable:
            raise
        planned = survey(workspace, tuple(record.target for record in usable), allow_empty=True)
        return replace(planned, selection=selection), whole


def _standings(planned: Planned) -> list[TargetStatus]:
    """Every target selected, and those that are not declared and have something in force."""
    now = datetime.now(UTC)
    declared = [status_of(planned.records[name], target, now) for name, target in planned.plan.targets.items()]
    others = [
        status_of_undeclared(record, now)
        for name, record in planned.undeclared.items()
        if planned.selection.touches(name)
    ]
    return sorted(
        [*declared, *(standing for standing in others if standing.attempts)], key=lambda standing: standing.name
    )
