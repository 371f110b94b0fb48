"""What `plan` and `apply` share: reading both sides and planning."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.cli.output import warn
from reconciler.errors import RecordMissing
from reconciler.model.selection import Selection
from reconciler.model.url import same_service
from reconciler.planning.guard import refuse_emptied
from reconciler.planning.planner import make_plan

if TYPE_CHECKING:
    from reconciler.cli.workspace import Workspace
    from reconciler.model.address import TargetName
    from reconciler.model.desired import Desired
    from reconciler.model.plan import Plan
    from reconciler.model.record import Record


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan with what it was made from."""

    plan: Plan
    desired: Desired
    records: dict[TargetName, Record]
    selection: Selection


def make(workspace: Workspace, patterns: tuple[str, ...], *, allow_empty: bool) -> Planned:
    """Read `config/` and the record, and plan.

    Raises ConfigError, SelectionError, StateError, and Refused for a target that was emptied.
    """
    selection = Selection.of(patterns)
    desired = workspace.desired
    records = _read(workspace, desired, selection)
    gc.disable()  # as for reading: nothing here is garbage before the end
    try:
        plan = make_plan(desired, records, selection)
    finally:
        gc.enable()
    if not allow_empty:
        refuse_emptied(desired, records, selection)
    if not selection.patterns:
        _warn_of_undeclared(workspace, desired)
    return Planned(plan, desired, records, selection)


def _read(workspace: Workspace, desired: Desired, selection: Selection) -> dict[TargetName, Record]:
    """The records of the targets selected, and of those with a record that share a service with one of them."""
    selected = [name for name in desired.targets if selection.touches(name)]
    records = workspace.records(selected)
    addresses = {desired.targets[name].base_url for name in selected}
    for name, target in desired.targets.items():
        if name not in records and any(same_service(target.base_url, one) for one in addresses):
            try:
                records[name] = workspace.read(name).record()
            except RecordMissing:
                continue  # nothing was created there, so nothing there stands in the way
    return records


def _warn_of_undeclared(workspace: Workspace, desired: Desired) -> None:
    for name in workspace.store.targets():
        if name not in desired.targets:
            warn(
                f"{name} has a state record, and no target of that name is declared: what it holds is not looked after"
            )
