"""`reconciler state verify`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal
from reconciler.errors import RecordMissing, StateError
from reconciler.operations.workspace import Workspace
from reconciler.reports.text import Line
from reconciler.reports.visible import visible

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.address import TargetName


@click.command("verify")
@common_options
@pass_terminal
def command(terminal: Terminal) -> int:
    """Check that every journal holds together.

    Its chain, its target, and that it holds what was seen of it before. Exits with 1, and names the line, where one
    does not hold together, or where a target has none that is declared, or whose journal was seen here before.
    """
    workspace = Workspace(terminal)
    names = workspace.known_targets()
    if not names:
        raise RecordMissing("there is no state record here", where=workspace.store.location)
    problems = [name for name in names if not _verify(terminal, workspace, name)]
    return int(bool(problems))


def _verify(terminal: Terminal, workspace: Workspace, name: TargetName) -> bool:
    try:
        journal = workspace.read(name)
    except StateError as problem:
        terminal.print_problem(problem)
        return False
    torn = f", and {journal.torn} bytes of a torn write, which the next append cuts off" if journal.torn else ""
    terminal.print_lines([Line(f"  {visible(name)}: whole, {len(journal.lines)} entries, head {journal.head}{torn}")])
    return True
