"""`reconciler state mv`"""

from collections.abc import Iterable

import click

from reconciler.cli.options import cli_command, known
from reconciler.cli.terminal.terminal import Terminal
from reconciler.model.record import Attempt
from reconciler.operations.edit import parse_address
from reconciler.operations.mv import move
from reconciler.operations.workspace import Workspace
from reconciler.reports.attempts import preview_line


@cli_command("mv")
@click.argument("source", metavar="FROM", shell_complete=known("address"))
@click.argument("destination", metavar="TO", shell_complete=known("address"))
def command(terminal: Terminal, source: str, destination: str) -> None:
    """Rename a subscription (no call).

    Use this if a subscription recorded as FROM is now called TO in config/. To swap two names, use a temporary third
    name; `plan` prints the commands. FROM and TO are exact addresses, not patterns.
    """
    before, after = parse_address(source), parse_address(destination)

    def show(attempts: Iterable[Attempt]) -> None:
        for attempt in attempts:
            terminal.say_line(preview_line(attempt, f"becomes {after}"))

    move(Workspace(terminal), before, after, show)
    terminal.print_line(f"  {before} is recorded as {after}")
