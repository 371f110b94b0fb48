"""What `plan` and `apply` share: reading both sides and planning."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.model.plan import Block
from reconciler.model.result import Verdict
from reconciler.model.selection import Selection
from reconciler.operations.known_results import read_with_known_results
from reconciler.operations.same_service import concerning, find_neighbours, warn_of_unread
from reconciler.planning.guard import refuse_emptied
from reconciler.planning.planner import make_plan
from reconciler.planning.reasons import unsettled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reconciler.model.address import TargetName
    from reconciler.model.desired import Desired
    from reconciler.model.plan import Plan
    from reconciler.model.record import Attempt, Record
    from reconciler.operations.workspace import Workspace
    from reconciler.state.heads.unread import Unread


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan with what it was made from; `undeclared` and `unread` as in Neighbours."""

    plan: Plan
    desired: Desired
    records: dict[TargetName, Record]
    selection: Selection
    undeclared: Mapping[TargetName, Record]
    unread: tuple[Unread, ...]


def make(workspace: Workspace, patterns: tuple[str, ...], *, allow_empty: bool) -> Planned:
    """Read `config/` and the record, and plan.

    Raises ConfigError, SelectionError, StateError, and Refused for a target that was emptied.
    """
    selection = Selection.of(patterns)
    desired = workspace.desired
    selected = [name for name in desired.targets if selection.touches(name)]
    selected_records = {name: read_with_known_results(workspace, name) for name in selected}
    recorded = workspace.store.targets()
    found = find_neighbours(workspace, desired, selected_records, recorded)
    gc.disable()  # as for reading: nothing here is garbage before the end
    try:
        plan = make_plan(desired, found.records, selection)
    finally:
        gc.enable()
    if not allow_empty:
        refuse_emptied(desired, found.records, selection)
    planned = Planned(plan, desired, found.records, selection, found.undeclared, found.unread)
    _warn_of_undeclared(workspace, planned, recorded)
    return planned


def verdict_of(planned: Planned) -> Verdict:
    """Whether there is anything to do, or to resolve first."""
    if any(change.block is Block.UNSETTLED for change in planned.plan.changes) or _unsettled_undeclared(planned):
        return Verdict.UNRESOLVED
    return Verdict.CHANGES if planned.plan.changes else Verdict.DONE


def with_neighbours(
    workspace: Workspace, desired: Desired, records: Mapping[TargetName, Record], recorded: Iterable[TargetName]
) -> dict[TargetName, Record]:
    """`records` of declared targets, and those of the other targets that share a service with one of them.

    Warns of those that cannot be used. See `find_neighbours`.
    """
    found = find_neighbours(workspace, desired, records, recorded)
    warn_of_unread(workspace.notices, concerning(found.unread, desired, records))
    return found.records


def _warn_of_undeclared(workspace: Workspace, planned: Planned, recorded: Iterable[TargetName]) -> None:
    if not planned.selection.patterns:
        for name in recorded:
            if name not in planned.desired.targets:
                workspace.notices.warn(
                    f"{name} has a state record, and no target of that name is declared: what it holds is not looked"
                    " after"
                )
    for attempt in _unsettled_undeclared(planned):
        workspace.notices.warn(f"{attempt.address}: {unsettled(attempt)}")


def _unsettled_undeclared(planned: Planned) -> list[Attempt]:
    """The selected creates with an unknown outcome, or in flight, of targets that are not declared."""
    attempts = (one for record in planned.undeclared.values() for one in record.attempts.values())
    return [one for one in attempts if one.unsettled and planned.selection.has(one.address)]
