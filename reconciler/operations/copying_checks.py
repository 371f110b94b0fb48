"""What must hold before a record is closed to be copied to another store."""

import os
import time
from collections.abc import Callable, Collection, Iterable

from reconciler.errors import Refused
from reconciler.model.address import TargetName
from reconciler.model.clock import stamp
from reconciler.model.record import Record
from reconciler.model.url import service_key
from reconciler.operations.selecting import whole_selection
from reconciler.operations.workspace import Workspace


def targets_to_copy(here: Workspace, patterns: tuple[str, ...]) -> list[TargetName]:
    """The selected targets that have a record, or that this machine saw one of here last: a lost one must be noticed.

    Raises RecordMissing if none has, and SelectionError.
    """
    place = here.store.place
    seen = here.heads.seen().records.values()
    lost = {known.target for known in seen if place.has_any((known.location, known.resolved))}
    return whole_selection(patterns, {*here.recorded_targets(), *lost})


def refuse_in_flight(record: Record) -> None:
    """Raises Refused if a call may still be in flight: its outcome could not be appended to a closed record."""
    wait = max((attempt.settled_by for attempt in record.unresolved), default=0.0)
    if wait > time.time():
        raise Refused(
            "a create of this record may still be in flight",
            where=record.target,
            remedy=f"wait for the apply that sent it to end; if it was killed, copy the record after {stamp(wait)}",
        )


def refuse_separation(
    here: Workspace, names: Collection[TargetName], continues_there: Callable[[Record], bool]
) -> None:
    """Raises Refused if records of one service would be in two stores: they are compared within one store only."""
    records = {name: here.read(name, closed=True).record() for name in here.store.targets()}
    services = {service_key(record.base_url) for name, record in records.items() if name in names}
    left = [
        name
        for name, record in records.items()
        if name not in names and service_key(record.base_url) in services and not continues_there(record)
    ]
    if left:
        raise Refused(
            f"the record of {', '.join(left)} belongs to the same service and would be left behind: what exists there"
            " would no longer count",
            where=here.store.location,
            remedy=f"copy it too: {' '.join(f'-t {name}' for name in left)}",
        )


def refuse_temporary(there: Workspace) -> None:
    """Raises Refused for a disk that does not last."""
    if there.in_ci and there.store.path is not None:
        raise Refused(
            "a CI runner's disk is lost with the job, and the record with it",
            where=there.store.location,
            remedy="use a persistent store; or, if this disk is persistent, use --force",
        )


def refuse_behind_upstream(here: Workspace, names: Iterable[TargetName]) -> None:
    """Raises Refused for files that lack entries of the branch they are shared by."""
    from reconciler.state.stores.git.upstream import refuse_behind  # noqa: PLC0415 - few stores need git

    refuse_behind(here.store, names, here.cache_directory, os.environ, here.notices.warn)
