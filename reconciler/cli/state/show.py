"""`reconciler state show`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal
from reconciler.operations.edit import not_recorded, parse_address
from reconciler.operations.workspace import Workspace
from reconciler.reports.attempts import attempt_text

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal


@click.command("show")
@click.argument("address")
@common_options
@pass_terminal
def command(terminal: Terminal, address: str) -> None:
    """Show every detail of one subscription.

    Shows every create attempt of ADDRESS, including failed ones.
    """
    workspace = Workspace(terminal)
    shown = parse_address(address)
    record = workspace.read(shown.target).record()
    attempts = [attempt for attempt in record.attempts.values() if attempt.address == shown]
    if not attempts:
        raise not_recorded(shown)
    terminal.print_lines(attempt_text(attempts))
