"""What `plan` and `apply` share: reading both sides and planning."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.cli.output import warn
from reconciler.errors import RecordMissing, StateError
from reconciler.model.selection import Selection
from reconciler.model.url import service_key
from reconciler.planning.guard import refuse_emptied
from reconciler.planning.planner import make_plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
    selected = [name for name in desired.targets if selection.touches(name)]
    selected_records = workspace.records(selected)
    recorded = workspace.store.targets()
    records = with_neighbours(workspace, desired, selected_records, recorded)
    gc.disable()  # as for reading: nothing here is garbage before the end
    try:
        plan = make_plan(desired, records, selection)
    finally:
        gc.enable()
    if not allow_empty:
        refuse_emptied(desired, records, selection)
    if not selection.patterns:
        _warn_of_undeclared(desired, recorded)
    return Planned(plan, desired, records, selection)


def with_neighbours(
    workspace: Workspace, desired: Desired, records: Mapping[TargetName, Record], recorded: Iterable[TargetName]
) -> dict[TargetName, Record]:
    """`records` of declared targets, and those of the other targets that share a service with one of them.

    `recorded` are the targets that have a record. A record tells of the service it is bound to, whether its target is
    declared or not. Raises StateError for one of a target declared there that is damaged or older than what was seen.
    """
    found = dict(records)
    services = {service_key(desired.targets[name].base_url) for name in records}
    there = {name for name, target in desired.targets.items() if service_key(target.base_url) in services}
    for name in sorted({*there, *recorded} - found.keys()):
        try:
            record = workspace.read(name).record()
        except RecordMissing:
            continue  # nothing was created there, so nothing there stands in the way
        except StateError as problem:
            if name in there:
                raise
            warn(f"{name}: it cannot be told whether what its record holds stands in the way: {problem}")
            continue
        if name in there or service_key(record.base_url) in services:
            found[name] = record
    return found


def _warn_of_undeclared(desired: Desired, recorded: Iterable[TargetName]) -> None:
    for name in recorded:
        if name not in desired.targets:
            warn(
                f"{name} has a state record, and no target of that name is declared: what it holds is not looked after"
            )
