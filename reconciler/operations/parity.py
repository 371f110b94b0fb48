"""Compares two targets, or checks whether one may follow the other."""

from reconciler.errors import RecordMissing
from reconciler.model.address import TargetName
from reconciler.model.parity import Parity
from reconciler.model.record import Record
from reconciler.operations.known_results import KnownResults
from reconciler.operations.workspace import Workspace
from reconciler.planning.parity import compare, gate


def read_parity(workspace: Workspace, a: str, b: str, *, is_gate: bool) -> Parity:
    """How targets `a` and `b` differ; as a gate, what `b` desires and `a` does not have in force.

    Warns of declared exceptions that are unused. Raises SelectionError, and RecordMissing for a gate without a record.
    """
    first, second = workspace.declared_target(a, a).name, workspace.declared_target(b, b).name
    records = _records(workspace, first, second)
    if is_gate and first not in records:
        workspace.read(first)  # its error says what to do about the missing record
    parity = (gate if is_gate else compare)(workspace.desired, records, first, second)
    for exception in parity.unused:
        workspace.notices.warn(
            f"{exception.place}: unused parity exception for {exception.address}: nothing differs; remove it"
        )
    return parity


def _records(workspace: Workspace, *targets: TargetName) -> dict[TargetName, Record]:
    records, known = {}, KnownResults(workspace)
    for name in targets:
        try:
            records[name] = known.read(name)
        except RecordMissing:
            continue  # only existing records are compared
    return records
