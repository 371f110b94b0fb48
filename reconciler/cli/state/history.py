"""`reconciler state history`"""

from __future__ import annotations

import click

from reconciler.cli.options import common_options
from reconciler.cli.output import print_lines
from reconciler.cli.recording import parse_address
from reconciler.cli.workspace import Workspace
from reconciler.errors import Refused
from reconciler.model.joining import told
from reconciler.reports.history import history_text


@click.command("history")
@click.argument("address", required=False)
@common_options
def command(address: str | None) -> None:
    """Show who did what, and when.

    Of ADDRESS, or of everything.
    """
    workspace = Workspace()
    wanted = None if address is None else parse_address(address)
    names = workspace.recorded_targets() if wanted is None else [wanted.target]
    for name in names:
        journal = workspace.read(name)
        lines = history_text(name, told(journal.lines), wanted)
        if len(lines) == 1:
            raise Refused("nothing is recorded of it", where=wanted, remedy="see: reconciler state list")
        print_lines(lines)
