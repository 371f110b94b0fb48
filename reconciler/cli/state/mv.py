"""`reconciler state mv`"""

from collections.abc import Iterable

import click

from reconciler.cli.options import cli_command, known, within_option
from reconciler.cli.terminal.questions import ask
from reconciler.cli.terminal.terminal import Terminal
from reconciler.model.address import Address
from reconciler.model.record import Attempt
from reconciler.operations.mv import move, renames
from reconciler.operations.workspace import Workspace
from reconciler.reports.attempts import preview_line


@cli_command("mv")
@click.argument("source", metavar="FROM", shell_complete=known("address"))
@click.argument("destination", metavar="TO", shell_complete=known("address"))
@within_option
def command(terminal: Terminal, source: str, destination: str, within: str | None) -> None:
    """Rename a subscription (no call).

    Use this if a subscription recorded as FROM is now called TO in config/. To swap two names, use a temporary third
    name; `plan` prints the commands. FROM and TO may be patterns of the same targets, to rename on each of them:

    \b
        reconciler state mv '*/production/offers' '*/production/deals'
        reconciler state mv 'europe/staging/old-*' 'europe/staging/new-*'
    """
    workspace = Workspace(terminal, within)
    by_target = renames(workspace, source, destination)

    def show(attempts: Iterable[Attempt], after: Address) -> None:
        for attempt in () if "*" in source else attempts:
            terminal.say_line(preview_line(attempt, f"becomes {after}"))

    if "*" in source:
        for pairs in by_target.values():
            for before, after in pairs:
                terminal.say(f"  {before} becomes {after}")
        ask("Rename all of them?")
    for target, pairs in by_target.items():
        move(workspace, target, pairs, show)
        for before, after in pairs:
            terminal.print_line(f"  {before} is recorded as {after}")
