"""Records received notifications as evidence that subscriptions deliver."""

import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from reconciler.errors import SettingsError
from reconciler.model.address import Address, TargetName
from reconciler.model.clock import stamp
from reconciler.model.entry import Observed
from reconciler.model.record import Record
from reconciler.model.url import normal_url
from reconciler.operations.edit import now_by, record_entries
from reconciler.operations.notices import Notices
from reconciler.operations.workspace import Workspace
from reconciler.planning.evidence import Matches, Received, match_notifications
from reconciler.receiver.captured import captured_in
from reconciler.receiver.selection import event_code, received_at
from reconciler.reports.wording import counted

_AHEAD = 300.0
"""Seconds by which the receiver's clock may be ahead of this machine's."""


def observe(workspace: Workspace, file: Path) -> Matches:
    """Record what the notifications in a file prove, and give it; warns of lines that prove nothing.

    Raises SettingsError for a file that cannot be read, and StateError.
    """
    names = workspace.recorded_targets()
    evidence = match_notifications(workspace.records(names).values(), _sightings(workspace.notices, file))
    by_target: dict[TargetName, list[tuple[Address, str, str, str]]] = {}
    for (address, url, code), received in evidence.received.items():
        by_target.setdefault(address.target, []).append((address, url, code, received))
    workspace.within.refuse_others(by_target)
    for name in sorted(by_target):
        _record(workspace, name, by_target[name])
    return evidence


def _sightings(notices: Notices, file: Path) -> Iterator[Received]:
    unusable = ahead = 0
    latest = time.time() + _AHEAD
    for captured in captured_in(file, partial(warn_of_incomplete, notices)):
        at, code = received_at(captured), event_code(captured)
        if captured.verified is False or at is None or code is None:
            unusable += 1
        elif at > latest:
            ahead += 1
        else:
            yield Received(stamp(at), code, captured.path, captured.url)
    for count, why in (
        (unusable, "wrong signature, no event code, or no time zone offset"),
        (ahead, "dated in the future; check the clocks of both machines"),
    ):
        if count:
            notices.warn(f"{file}: ignored {counted(count, 'line')}: {why}")


def warn_of_incomplete(notices: Notices, problem: SettingsError) -> None:
    """Warn of a line that is still being written."""
    notices.warn(f"{problem.where}: ignored an incomplete last line: {problem.what}")


def _record(workspace: Workspace, name: TargetName, evidence: Iterable[tuple[Address, str, str, str]]) -> None:
    """Append what is new of the evidence about one target: address, URL, event code, and when received."""

    def draft(record: Record) -> list[Observed]:
        at, by = now_by(workspace)
        news: dict[tuple[Address, str], dict[str, str]] = {}
        for address, url, code, received in evidence:
            if received > record.received.get((address, code, normal_url(url)), ""):
                news.setdefault((address, url), {})[code] = received
        return [
            Observed(at=at, by=by, address=address, url=url, received=dict(sorted(codes.items())))
            for (address, url), codes in sorted(news.items())
        ]

    record_entries(workspace, name, draft, "observed")
