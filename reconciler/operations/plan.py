"""What `plan` and `apply` share: reading both sides and planning."""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from reconciler.errors import ReconcilerError, RecordLost, RecordMissing, RecordRolledBack, StateError, StoreUnavailable
from reconciler.model.address import TargetName
from reconciler.model.desired import Desired
from reconciler.model.plan import LOCAL, SENDS, Block, Plan
from reconciler.model.record import Attempt, Record
from reconciler.model.result import Verdict
from reconciler.model.selection import Selection
from reconciler.model.url import same_service, service_key
from reconciler.operations.known_results import KnownResults
from reconciler.operations.same_service import continue_with, read_others, refuse_possible_duplicates
from reconciler.operations.workspace import Workspace
from reconciler.planning.guard import refuse_emptied
from reconciler.planning.planner import make_plan
from reconciler.planning.reasons import rebind_to_service, unresolved
from reconciler.state.heads.unusable import UnusableRecord


class Planned(Struct, frozen=True):
    """A plan with what it was made from; `undeclared` and `unread` as in StoreRecords."""

    plan: Plan
    desired: Desired
    records: dict[TargetName, Record]
    selection: Selection
    undeclared: Mapping[TargetName, Record]
    unread: tuple[UnusableRecord, ...]

    @property
    def has_work(self) -> bool:
        """Whether an apply of the plan would do anything."""
        return any(change.action in (*SENDS, *LOCAL) for change in self.plan.changes)

    @property
    def verdict(self) -> Verdict:
        """Whether there is anything to do, or to resolve first."""
        if any(change.block is Block.UNRESOLVED for change in self.plan.changes) or self.unresolved_undeclared():
            return Verdict.UNRESOLVED
        return Verdict.CHANGES if self.plan.changes else Verdict.DONE

    def unresolved_undeclared(self) -> list[Attempt]:
        """The selected creates with an unknown outcome, or in flight, of targets that are not declared."""
        attempts = (attempt for record in self.undeclared.values() for attempt in record.attempts.values())
        return [attempt for attempt in attempts if attempt.unresolved and self.selection.has(attempt.address)]


def make(
    workspace: Workspace,
    patterns: tuple[str, ...],
    accepted_duplicates: tuple[str, ...],
    *,
    allow_empty: bool,
    skips_uninitialized: bool = False,
) -> Planned:
    """Read `config/` and the record, and plan.

    Raises ConfigError, SelectionError, StateError, and Refused for a target that was emptied and for creates that a
    record which cannot be used may list as existing.
    """
    planned = survey(workspace, patterns, allow_empty=allow_empty, skips_uninitialized=skips_uninitialized)
    losses = {name for name, record in planned.records.items() if record.open_losses}  # see creates_after_loss
    accepted = [name for name in accepted_duplicates if name not in losses]
    refuse_possible_duplicates(workspace.notices, planned.plan, planned.desired, planned.unread, accepted)
    return planned


def survey(
    workspace: Workspace, patterns: tuple[str, ...], *, allow_empty: bool, skips_uninitialized: bool = False
) -> Planned:
    """As `make`, without regard to records that cannot be used.

    With `skips_uninitialized`, targets that never had a record are left out of the selection, with a warning. But if no
    target at all has one, the location is probably wrong, or the record lost: that stays an error.
    """
    selection = Selection.of(patterns)
    desired = workspace.desired
    known = KnownResults(workspace)
    selected_records, missing = _read_selected(known, desired, selection)
    recorded = workspace.store.targets()
    if missing:
        problem = workspace.missing_records(missing, all_declared=not patterns)
        if not (skips_uninitialized and recorded):
            raise _beside(problem, desired, selection, missing, selected_records)
        workspace.notices.warn(f"left out of the plan: {problem}")
        selection = replace(selection, left_out=tuple(missing))
    read = read_others(workspace, known, desired, selected_records, recorded)
    plan = make_plan(desired, read.records, selection)
    if not allow_empty:
        refuse_emptied(desired, read.records, selection)
    planned = Planned(plan, desired, read.records, selection, read.undeclared, read.unread)
    _warn_of_undeclared(workspace, planned, recorded)
    return planned


def _read_selected(
    known: KnownResults, desired: Desired, selection: Selection
) -> tuple[dict[TargetName, Record], list[TargetName]]:
    """The records of the selected targets, and those that never had one. Raises StateError."""
    records: dict[TargetName, Record] = {}
    missing: list[TargetName] = []
    problems: dict[TargetName, StateError] = {}
    for name in filter(selection.touches, desired.targets):
        try:
            records[name] = known.read(name)
        except RecordMissing:
            missing.append(name)
        except StoreUnavailable:
            raise
        except StateError as problem:
            problems[name] = problem
    if problems:
        from reconciler.state.heads.kept import together  # noqa: PLC0415 - needed only to explain an error

        first = together(problems, known.location)[0]
        raise _beside(first, desired, selection, [*problems, *missing], records)
    return records, missing


def _beside(
    problem: ReconcilerError,
    desired: Desired,
    selection: Selection,
    unusable: Iterable[TargetName],
    usable: Mapping[TargetName, Record],
) -> ReconcilerError:
    """The `problem` of a record that is missing or was rolled back, with how to continue with what is selected on the
    targets whose records can be used, but for those of the same services.
    """
    services = {service_key(desired.targets[name].base_url) for name in unusable}
    others = [name for name in usable if service_key(desired.targets[name].base_url) not in services]
    patterns = [pattern for name in others for pattern in _selected_on(name, desired, selection, usable[name])]
    if not patterns or not isinstance(problem, RecordLost | RecordMissing | RecordRolledBack):
        return problem
    remedy = f"{continue_with(patterns)}; {problem.remedy}"
    return type(problem)(problem.what, where=problem.where, remedy=remedy)


def _selected_on(name: TargetName, desired: Desired, selection: Selection, record: Record) -> list[str]:
    """The patterns that select the same on this target only, without those that match nothing there."""
    addresses = {*desired.subscriptions, *(attempt.address for attempt in record.attempts.values())}
    return [one for one in selection.on(name) if not Selection.of((one,)).unmatched([name], addresses)]


def warn_of_other_service(workspace: Workspace, planned: Planned) -> None:
    """Warn of records that belong to another service than the settings use: apply will refuse them."""
    for name in planned.plan.targets:
        recorded, base_url = planned.records[name].base_url, planned.desired.targets[name].base_url
        if not same_service(recorded, base_url):
            workspace.notices.warn(
                f"{name}: the record belongs to the service at {recorded}, but the current settings use {base_url};"
                f" apply will refuse this; {rebind_to_service(name, recorded, base_url)}"
            )


def _warn_of_undeclared(workspace: Workspace, planned: Planned, recorded: Iterable[TargetName]) -> None:
    if not planned.selection.patterns:
        for name in recorded:
            if name not in planned.desired.targets:
                workspace.notices.warn(
                    f"{name} has a state record but is not declared in config/: its subscriptions are not managed"
                )
    for attempt in planned.unresolved_undeclared():
        workspace.notices.warn(f"{attempt.address}: {unresolved(attempt)}")
