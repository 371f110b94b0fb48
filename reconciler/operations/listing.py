"""What the record holds of the targets and addresses selected: `state list`."""

from msgspec import Struct
from msgspec.structs import replace

from reconciler.errors import RecordMissing, StateError
from reconciler.model.address import TargetName
from reconciler.model.record import Record
from reconciler.model.selection import Selection
from reconciler.operations.selecting import refuse_unmatched
from reconciler.operations.workspace import Workspace
from reconciler.state.heads.kept import together


class Listing(Struct, frozen=True):
    """The records selected, with the attempts selected; those that are missing; whether none is lost or damaged."""

    records: list[Record]
    missing: dict[TargetName, RecordMissing]
    whole: bool


def read_listing(workspace: Workspace, patterns: tuple[str, ...]) -> Listing:
    """The records that can be used; tells of those that are lost or damaged.

    Raises SelectionError for a pattern that matches nothing, and RecordMissing if no target has a record.
    """
    selection = Selection.of(patterns)
    if not workspace.targets_seen():
        workspace.recorded_targets()  # raises if no target has a record
    known = workspace.known_targets()
    records: list[Record] = []
    missing: dict[TargetName, RecordMissing] = {}
    problems: dict[TargetName, StateError] = {}
    for target in filter(selection.touches, known):
        try:
            records.append(workspace.read(target).record())
        except RecordMissing as problem:
            missing[target] = problem
        except StateError as problem:
            problems[target] = problem
    for found in together(problems, workspace.store.location):
        workspace.notices.print_problem(found)
    if not problems:  # what cannot be read may have what a pattern names
        addresses = {attempt.address for record in records for attempt in record.attempts.values()}
        refuse_unmatched(selection, known, sorted(addresses))
    return Listing([_selected(record, selection) for record in records], missing, not problems)


def _selected(record: Record, selection: Selection) -> Record:
    """The record with the attempts of selected addresses."""
    if not selection.names_addresses:
        return record
    attempts = {name: attempt for name, attempt in record.attempts.items() if selection.has(attempt.address)}
    return replace(record, attempts=attempts)
