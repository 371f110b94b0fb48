"""Compares targets, or checks whether one may follow the other."""

import time
from collections.abc import Iterable, Sequence

from msgspec import Struct

from reconciler.errors import RecordMissing
from reconciler.model.address import TargetName
from reconciler.model.clock import stamp
from reconciler.model.desired import ParityException
from reconciler.model.parity import Pairs, Parity, Unpaired
from reconciler.model.record import Record
from reconciler.operations.known_results import KnownResults
from reconciler.operations.workspace import Workspace
from reconciler.planning.parity import compare, gate, pair_up, unused_in_all

_WHENEVER = "9999"
"""After all times of observations, as text compares."""


class Gate(Struct, frozen=True):
    """What the first target must have for the second to follow.

    All that the second desires in force; if `proven`, observed delivering; if `soak` (seconds), for that long.
    """

    proven: bool = False
    soak: float | None = None

    @property
    def observed_by(self) -> str | None:
        """By when each code must have been observed, None for not at all."""
        if not self.proven:
            return None
        return _WHENEVER if self.soak is None else stamp(time.time() - self.soak)


def read_parity(workspace: Workspace, a: str, b: str, checked: Gate | None) -> Parity:
    """How targets `a` and `b` differ; for a gate, what `b` desires and `a` does not have.

    Warns of declared exceptions that are unused. Raises SelectionError, and RecordMissing for a gate without a record.
    """
    first, second = workspace.declared_target(a, a).name, workspace.declared_target(b, b).name
    known = KnownResults(workspace)
    if checked:
        _refuse_missing(workspace, known, [first])
    parity = _parity(workspace, known, first, second, checked)
    _warn_of_unused(workspace, parity.unused)
    return parity


def read_pairs(workspace: Workspace, a: str, b: str, checked: Gate | None) -> Pairs:
    """As `read_parity`, for each pair that two patterns of targets name.

    At a gate, a target that has no counterpart to follow it stops nothing.
    """
    desired, known = workspace.desired, KnownResults(workspace)
    pairs, others = pair_up(a, b, desired.targets)
    if checked:
        _refuse_missing(workspace, known, [first for first, _ in pairs])
    compared = [_parity(workspace, known, first, second, checked) for first, second in pairs]
    unpaired = []
    for first, second in others:
        if first in desired.targets:
            unpaired.append(Unpaired(first, second, matters=checked is None))
        else:
            unpaired.append(Unpaired(second, first, matters=True))
    _warn_of_unused(workspace, () if checked else unused_in_all(desired, compared))
    return Pairs(tuple(compared), tuple(unpaired))


def _parity(
    workspace: Workspace, known: KnownResults, first: TargetName, second: TargetName, checked: Gate | None
) -> Parity:
    records = _records(known, first, second)
    if checked is None:
        return compare(workspace.desired, records, first, second)
    return gate(workspace.desired, records, first, second, checked.observed_by)


def _refuse_missing(workspace: Workspace, known: KnownResults, targets: Sequence[TargetName]) -> None:
    """Raises RecordMissing for all of the targets that have no record."""
    recorded = _records(known, *targets)
    if missing := [name for name in targets if name not in recorded]:
        raise workspace.missing_records(missing)


def _warn_of_unused(workspace: Workspace, unused: Iterable[ParityException]) -> None:
    for exception in unused:
        workspace.notices.warn(
            f"{exception.place}: unused parity exception for {exception.address}: nothing differs; remove it"
        )


def _records(known: KnownResults, *targets: TargetName) -> dict[TargetName, Record]:
    records = {}
    for name in targets:
        try:
            records[name] = known.read(name)
        except RecordMissing:
            continue  # only existing records are compared
    return records
