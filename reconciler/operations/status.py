"""What is in force on each target, and what needs attention."""

from collections.abc import Collection
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from reconciler.errors import RecordMissing, StateError, StoreUnavailable
from reconciler.model.address import TargetName
from reconciler.model.result import Verdict
from reconciler.model.selection import Selection
from reconciler.model.status import TargetStatus
from reconciler.operations.known_results import KnownResults
from reconciler.operations.plan import Planned, survey
from reconciler.operations.same_service import warn_of_unread
from reconciler.operations.workspace import Workspace
from reconciler.planning.status import status_of, status_of_undeclared, status_without_record
from reconciler.state.heads.kept import together


class StatusReport(Struct, frozen=True):
    """The selected targets, what is left to do for them and from what, and whether no record is lost or damaged."""

    planned: Planned
    targets: list[TargetStatus]
    verdict: Verdict
    whole: bool


def read_status(workspace: Workspace, patterns: tuple[str, ...]) -> StatusReport:
    """The status of the selected targets but for those whose records cannot be used, of which it warns.

    Raises what `survey` does if no record can be used.
    """
    status = read_whole_status(workspace, patterns)
    selection = Selection.of(patterns)
    return replace(status, targets=[_selected(standing, selection) for standing in status.targets])


def read_whole_status(workspace: Workspace, patterns: tuple[str, ...]) -> StatusReport:
    """As `read_status`, with every address of a target of which one is selected."""
    planned, missing, told = _plan(workspace, patterns)
    warn_of_unread(workspace.notices, (unread for unread in planned.unread if unread.target not in told))
    now = datetime.now(UTC)
    standings = [*standings_of(planned, now), *map(status_without_record, missing)]
    return StatusReport(planned, standings, planned.verdict, not told)


def selected_standings(planned: Planned, now: datetime) -> list[TargetStatus]:
    """The status at `now` of every target of a plan, and of those that are not declared, as far as it is selected."""
    return [_selected(standing, planned.selection) for standing in standings_of(planned, now)]


def _selected(standing: TargetStatus, selection: Selection) -> TargetStatus:
    """What is selected of a target; its plan has nothing else, unless it is not declared."""
    awaiting = tuple(attempt for attempt in standing.plan.awaiting_removal if selection.has(attempt.address))
    attempts = tuple(known for known in standing.attempts if selection.has(known.attempt.address))
    withdrawn = tuple(attempt for attempt in standing.withdrawn if selection.has(attempt.address))
    plan = replace(standing.plan, awaiting_removal=awaiting)
    return replace(standing, attempts=attempts, withdrawn=withdrawn, plan=plan)


def _plan(workspace: Workspace, patterns: tuple[str, ...]) -> tuple[Planned, list[TargetName], Collection[TargetName]]:
    """The plan for the targets whose record can be used; those without one; and those whose record is lost or damaged.

    Of the latter it tells, each once.
    """
    try:
        return survey(workspace, patterns, allow_empty=True), [], ()
    except StoreUnavailable:
        raise
    except StateError as problem:
        selection, read = Selection.of(patterns), KnownResults(workspace).read
        usable, missing, problems = workspace.usable_records(
            read, [name for name in workspace.desired.targets if selection.touches(name)]
        )
        for found in together(problems, workspace.store.location):
            if usable or str(found) != str(problem):  # which is raised, and told by that
                workspace.notices.print_problem(found)
        if missing and (usable or not isinstance(problem, RecordMissing)):
            workspace.notices.warn(str(workspace.missing_records(missing, all_declared=not patterns)))
        if not usable:
            raise
        planned = survey(workspace, tuple(record.target for record in usable), allow_empty=True)
        return replace(planned, selection=selection), missing, problems


def standings_of(planned: Planned, now: datetime) -> list[TargetStatus]:
    """Every target selected that has a record, and those that are not declared and have something in force."""
    declared = [status_of(planned.records[name], target, now) for name, target in planned.plan.targets.items()]
    others = [
        status_of_undeclared(record, now)
        for name, record in planned.undeclared.items()
        if planned.selection.touches(name)
    ]
    return sorted(
        [*declared, *(standing for standing in others if standing.attempts)], key=lambda standing: standing.name
    )
