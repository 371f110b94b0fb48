"""`reconciler state history`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal
from reconciler.errors import Refused
from reconciler.model.joining import told
from reconciler.operations.edit import parse_address
from reconciler.operations.workspace import Workspace
from reconciler.reports.history import history_text

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal


@click.command("history")
@click.argument("address", required=False)
@common_options
@pass_terminal
def command(terminal: Terminal, address: str | None) -> None:
    """Show who did what, and when.

    Of ADDRESS, or of everything.
    """
    workspace = Workspace(terminal)
    wanted = None if address is None else parse_address(address)
    names = workspace.recorded_targets() if wanted is None else [wanted.target]
    for name in names:
        journal = workspace.read(name)
        lines = history_text(name, told(journal.lines), wanted)
        if len(lines) == 1:
            raise Refused("nothing is recorded of it", where=wanted, remedy="see: reconciler state list")
        terminal.print_lines(lines)
