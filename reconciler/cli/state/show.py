"""`reconciler state show`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal
from reconciler.errors import Refused
from reconciler.operations.edit import parse_address
from reconciler.operations.workspace import Workspace
from reconciler.reports.text import attempt_text

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal


@click.command("show")
@click.argument("address")
@common_options
@pass_terminal
def command(terminal: Terminal, address: str) -> None:
    """Show one subscription whole.

    Every attempt of ADDRESS, those that came to nothing too.
    """
    workspace = Workspace(terminal)
    wanted = parse_address(address)
    record = workspace.read(wanted.target).record()
    attempts = [one for one in record.attempts.values() if one.address == wanted]
    if not attempts:
        raise Refused("nothing is recorded of it", where=wanted, remedy="see: reconciler state list")
    terminal.print_lines(attempt_text(attempts))
