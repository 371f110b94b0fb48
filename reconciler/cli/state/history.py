"""`reconciler state history`"""

import click

from reconciler.cli.options import cli_command, known
from reconciler.cli.terminal.terminal import Terminal
from reconciler.model.joining import all_entries
from reconciler.operations.edit import not_recorded, parse_address
from reconciler.operations.workspace import Workspace
from reconciler.reports.history import history_text


@cli_command("history")
@click.argument("address", required=False, shell_complete=known("address"))
def command(terminal: Terminal, address: str | None) -> None:
    """Show the log of changes.

    Shows the log of ADDRESS, or of every address.
    """
    workspace = Workspace(terminal)
    only = None if address is None else parse_address(address)
    names = workspace.recorded_targets() if only is None else [only.target]
    for name in names:
        journal = workspace.read(name, closed=True)
        lines = history_text(name, all_entries(journal.lines), only)
        if len(lines) == 1:
            raise not_recorded(only)
        terminal.print_lines(lines)
