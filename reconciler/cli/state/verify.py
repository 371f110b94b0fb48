"""`reconciler state verify`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options
from reconciler.cli.output import print_lines, print_problem, warn
from reconciler.cli.workspace import Workspace
from reconciler.errors import ConfigError, RecordMissing, StateError
from reconciler.reports.text import Line
from reconciler.reports.visible import visible

if TYPE_CHECKING:
    from reconciler.model.address import TargetName


@click.command("verify")
@common_options
def command() -> int:
    """Check that every journal holds together.

    Its chain, its target, and that it holds what was seen of it before. Exits with 1, and names the line, where one
    does not hold together, or where a target has none that is declared, or whose journal was seen here before.
    """
    workspace = Workspace()
    names = known_targets(workspace)
    if not names:
        raise RecordMissing("there is no state record here", where=workspace.store.location)
    problems = [name for name in names if not _verify(workspace, name)]
    return int(bool(problems))


def known_targets(workspace: Workspace) -> list[TargetName]:
    """The targets that have a journal, had one here before, or are declared.

    Warns of mistakes in `config/`, and raises ConfigError only where nothing else is known. Raises StateError.
    """
    found = set(workspace.store.targets()) | workspace.targets_seen()
    try:
        found |= set(workspace.desired.targets)
    except ConfigError as problem:  # a bad day for the record may be one for config/ too
        warn(f"{problem}: only the journals that are there are looked at, not whether one is missing")
        if not found:
            raise
    return sorted(found)


def _verify(workspace: Workspace, name: TargetName) -> bool:
    try:
        journal = workspace.read(name)
    except StateError as problem:
        print_problem(problem)
        return False
    torn = f", and {journal.torn} bytes of a torn write, which the next append cuts off" if journal.torn else ""
    print_lines([Line(f"  {visible(name)}: whole, {len(journal.lines)} entries, head {journal.head}{torn}")])
    return True
