"""`reconciler state observe`"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options
from reconciler.cli.output import print_lines, warn
from reconciler.cli.recording import now_by, record_entries
from reconciler.cli.workspace import Workspace
from reconciler.model.clock import stamp
from reconciler.model.entry import Observed
from reconciler.model.url import normal_url
from reconciler.planning.evidence import Sighting, weigh
from reconciler.receiver import captured_in
from reconciler.reports.status_text import observed_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reconciler.errors import SettingsError
    from reconciler.model.address import Address, TargetName
    from reconciler.model.record import Record
    from reconciler.planning.evidence import Evidence
    from reconciler.receiver import Captured


@click.command("observe")
@click.argument("file", type=click.Path(path_type=Path))
@common_options
def command(file: Path) -> None:
    """Note notifications that arrived, as evidence.

    FILE is what `listen --record` writes, or what an endpoint of your own logs in that format. Each event code is noted
    with the address whose subscription explains it, and when it was received last: `status` shows what has proven to
    deliver. Notifications that no recorded subscription explains are reported: something delivers that nobody manages.
    A last line that is still being written is left out.
    """
    workspace = Workspace()
    names = workspace.recorded_targets()
    evidence = weigh(workspace.records(names).values(), _sightings(file))
    for name in names:
        _note(workspace, name, evidence)
    print_lines(observed_text(evidence))


def _sightings(file: Path) -> Iterator[Sighting]:
    unusable = 0
    for captured in captured_in(file, _warn_left_out):
        at, code = _when(captured), _code_of(captured)
        if captured.verified is False or at is None or code is None:
            unusable += 1
        else:
            yield Sighting(at, code, captured.path, captured.url)
    if unusable:
        lines = "1 line is" if unusable == 1 else f"{unusable} lines are"
        warn(f"{file}: {lines} no evidence: a wrong signature, no event code, or no time with an offset")


def _warn_left_out(problem: SettingsError) -> None:
    warn(f"{problem.where}: left out: {problem.what}, and it ends without a newline, as one does that is being written")


def _when(captured: Captured) -> str | None:
    """When it was received, as journals write it; None where the line says none that it can have been."""
    try:
        at = datetime.fromisoformat(captured.at)
        seconds = at.timestamp()
        return stamp(seconds) if at.tzinfo is not None and seconds >= 0 else None
    except (ValueError, OverflowError):
        return None


def _code_of(captured: Captured) -> str | None:
    try:
        document = json.loads(captured.body)
    except (ValueError, RecursionError):
        return None
    code = document.get("EventCode") if isinstance(document, dict) else None
    return code if isinstance(code, str) else None


def _note(workspace: Workspace, name: TargetName, evidence: Evidence) -> None:
    """Append what is new of the evidence about one target."""

    def draft(record: Record) -> list[Observed]:
        at, by = now_by(workspace)
        news: dict[tuple[Address, str], dict[str, str]] = {}
        for (address, url, code), received in evidence.received.items():
            if address.target == name and received > record.received.get((address, code, normal_url(url)), ""):
                news.setdefault((address, url), {})[code] = received
        return [
            Observed(at=at, by=by, address=address, url=url, received=dict(sorted(codes.items())))
            for (address, url), codes in sorted(news.items())
        ]

    record_entries(workspace, name, draft, "observed")
