"""The requests to the operator for what awaits removal."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from reconciler.errors import ConfigError, SettingsError
from reconciler.model.address import Address
from reconciler.model.desired import Replace
from reconciler.model.record import Attempt, Status
from reconciler.model.removal import AwaitingRemoval, RemovalRequest
from reconciler.model.selection import Selection
from reconciler.model.url import normal_url
from reconciler.operations.status import read_whole_status
from reconciler.operations.workspace import Workspace
from reconciler.planning.removals import awaiting_beside, removal_requests

Route = tuple[str, str]
"""An event code, and a URL in the form URLs compare in."""


class RemovalsReport(Struct, frozen=True):
    """The requests, and whether no record is lost or damaged."""

    requests: list[RemovalRequest]
    whole: bool


def read_removals(workspace: Workspace, patterns: tuple[str, ...]) -> RemovalsReport:
    """The requests of the selected targets whose records can be used; warns of the others.

    Raises what `survey` does if no record can be used.
    """
    status = read_whole_status(workspace, patterns)
    requests = removal_requests(status.targets, Selection.of(patterns), time.time())
    _warn_of_wanted(workspace, requests)
    return RemovalsReport(requests, status.whole)


def held_beside(workspace: Workspace, attempts: Sequence[Attempt]) -> list[Attempt]:
    """What the target of `attempts`, whose removal was just requested, has besides; warns as `read_removals` does.

    Raises StateError.
    """
    target = attempts[0].address.target
    held = [
        attempt for attempt in workspace.read(target).record().attempts.values() if attempt.status is not Status.GONE
    ]
    request = RemovalRequest(target, "", tuple(awaiting_beside(attempt, held) for attempt in attempts))
    with suppress(ConfigError, SettingsError):  # a request needs no configuration
        _warn_of_wanted(workspace, [request])
    return held


def _warn_of_wanted(workspace: Workspace, requests: list[RemovalRequest]) -> None:
    """Warn of what the operator must not delete yet: codes that `config/` wants, and nothing else delivers.

    But where a target waits for the removal before it creates the replacement; what an apply restores is in no request.
    """
    names = {request.target: _wanted_as(workspace, request) for request in requests if request.to_delete}
    for awaiting in (one for request in requests for one in request.to_delete):
        attempt = awaiting.attempt
        _warn_of_renamed(workspace, awaiting, names[attempt.address.target])
        desired = workspace.desired.subscriptions.get(attempt.address)
        if desired is None or workspace.desired.targets[attempt.address.target].replace is Replace.WAIT:
            continue
        codes = [code for code in attempt.codes if code in desired.codes and code not in awaiting.elsewhere]
        if codes:
            workspace.notices.warn(
                f"{attempt.address}: config/ wants {', '.join(codes)}, which only attempt {attempt.id} delivers; before"
                " this request is sent, run: reconciler apply"
            )


def _wanted_as(workspace: Workspace, request: RemovalRequest) -> dict[Route, list[Address]]:
    """The addresses that `config/` wants each route of the target at."""
    names: dict[Route, list[Address]] = {}
    for desired in workspace.desired.of_target(request.target):
        url = normal_url(desired.url)
        for code in desired.codes:
            names.setdefault((code, url), []).append(desired.address)
    return names


def _warn_of_renamed(workspace: Workspace, awaiting: AwaitingRemoval, names: Mapping[Route, list[Address]]) -> None:
    """Warn if `config/` wants it just as it is, but under another name: it was renamed, and the record was not."""
    attempt = awaiting.attempt
    if attempt.on_purpose:
        return
    wanted: dict[Address, list[str]] = {}
    for code, url in sorted(attempt.routes):
        if url not in map(normal_url, awaiting.elsewhere.get(code, ())):
            for address in names.get((code, url), ()):
                wanted.setdefault(address, []).append(code)
    for address, codes in wanted.items():
        if address != attempt.address:
            workspace.notices.warn(
                f"{attempt.address}: config/ wants {', '.join(codes)} to {attempt.url} as {address}, and only attempt"
                f" {attempt.id} delivers that; before this request is sent, for how to keep it, run: reconciler plan"
                f" -t {address}"
            )
