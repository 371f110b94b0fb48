"""The requests to the operator for what awaits removal."""

import time

from msgspec import Struct

from reconciler.model.removal import RemovalRequest
from reconciler.model.selection import Selection
from reconciler.operations.status import read_whole_status
from reconciler.operations.workspace import Workspace
from reconciler.planning.removals import removal_requests


class RemovalsReport(Struct, frozen=True):
    """The requests, and whether no record is lost or damaged."""

    requests: list[RemovalRequest]
    whole: bool


def read_removals(workspace: Workspace, patterns: tuple[str, ...]) -> RemovalsReport:
    """The requests of the selected targets whose records can be used; warns of the others.

    Raises what `survey` does if no record can be used.
    """
    status = read_whole_status(workspace, patterns)
    return RemovalsReport(removal_requests(status.targets, Selection.of(patterns), time.time()), status.whole)
