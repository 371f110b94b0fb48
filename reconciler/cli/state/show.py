"""`reconciler state show`"""

import click

from reconciler.cli.options import cli_command, known
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.edit import not_recorded, parse_address
from reconciler.operations.workspace import Workspace
from reconciler.reports.attempts import attempt_text


@cli_command("show")
@click.argument("address", shell_complete=known("address"))
def command(terminal: Terminal, address: str) -> None:
    """Show every detail of one subscription.

    Shows every create attempt of ADDRESS, including failed ones.
    """
    workspace = Workspace(terminal)
    shown = parse_address(address)
    record = workspace.read(shown.target).record()
    attempts = [attempt for attempt in record.attempts.values() if attempt.address == shown]
    if not attempts:
        raise not_recorded(shown, record)
    terminal.print_lines(attempt_text(attempts))
