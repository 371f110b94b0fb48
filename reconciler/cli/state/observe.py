"""`reconciler state observe`"""

from pathlib import Path

import click

from reconciler.cli.options import cli_command, within_option
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.observe import observe
from reconciler.operations.workspace import Workspace
from reconciler.reports.text import observed_text


@cli_command("observe")
@click.argument("file", type=click.Path(path_type=Path))
@within_option
def command(terminal: Terminal, file: Path, within: str | None) -> None:
    """Record received notifications as evidence.

    FILE is a file written by `listen --record`, or by your own endpoint in the same format. Records, for each
    subscription, when each event code was last received; `status` shows which subscriptions deliver. Reports
    notifications that match no recorded subscription: an unmanaged subscription exists. Ignores an incomplete last line
    and notifications dated in the future.
    """
    terminal.print_lines(observed_text(observe(Workspace(terminal, within), file)))
