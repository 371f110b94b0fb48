"""`reconciler state observe`"""

from __future__ import annotations

import json
import re
import time
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal
from reconciler.model.clock import stamp
from reconciler.model.entry import Observed
from reconciler.model.url import normal_url
from reconciler.operations.edit import now_by, record_entries
from reconciler.operations.workspace import Workspace
from reconciler.planning.evidence import Sighting, weigh
from reconciler.receiver import captured_in
from reconciler.reports.status_text import observed_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.errors import SettingsError
    from reconciler.model.address import Address, TargetName
    from reconciler.model.record import Record
    from reconciler.planning.evidence import Evidence
    from reconciler.receiver import Captured


_AHEAD = 300.0
"""Seconds by which the clock of whoever received may be ahead of this one's."""

_LEAP_SECOND = re.compile(r"^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:)60")


@click.command("observe")
@click.argument("file", type=click.Path(path_type=Path))
@common_options
@pass_terminal
def command(terminal: Terminal, file: Path) -> None:
    """Note notifications that arrived, as evidence.

    FILE is what `listen --record` writes, or what an endpoint of your own logs in that format. Each event code is noted
    with the address whose subscription explains it, and when it was received last: `status` shows what has proven to
    deliver. Notifications that no recorded subscription explains are reported: something delivers that nobody manages.
    A last line that is still being written is left out, and so is what was received in the future.
    """
    workspace = Workspace(terminal)
    names = workspace.recorded_targets()
    evidence = weigh(workspace.records(names).values(), _sightings(terminal, file))
    for name in names:
        _note(workspace, name, evidence)
    terminal.print_lines(observed_text(evidence))


def _sightings(terminal: Terminal, file: Path) -> Iterator[Sighting]:
    unusable = ahead = 0
    latest = time.time() + _AHEAD
    for captured in captured_in(file, partial(_warn_left_out, terminal)):
        at, code = _when(captured), _code_of(captured)
        if captured.verified is False or at is None or code is None:
            unusable += 1
        elif at > latest:
            ahead += 1
        else:
            yield Sighting(stamp(at), code, captured.path, captured.url)
    _warn_of(terminal, file, unusable, "a wrong signature, no event code, or no time with an offset")
    _warn_of(terminal, file, ahead, "received in the future, as this machine's clock tells it; check both clocks")


def _warn_of(terminal: Terminal, file: Path, count: int, why: str) -> None:
    if count:
        terminal.warn(f"{file}: {'1 line is' if count == 1 else f'{count} lines are'} no evidence: {why}")


def _warn_left_out(terminal: Terminal, problem: SettingsError) -> None:
    terminal.warn(
        f"{problem.where}: left out: {problem.what}, and it ends without a newline, as one does that is being written"
    )


def _when(captured: Captured) -> float | None:
    """When it was received, in epoch seconds; None where the line says no time, or one before those are counted.

    A leap second is taken for the one before it.
    """
    try:
        at = datetime.fromisoformat(_LEAP_SECOND.sub(r"\g<1>59", captured.at))
        seconds = at.timestamp()
    except (ValueError, OverflowError):
        return None
    return seconds if at.tzinfo is not None and seconds >= 0 else None


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
