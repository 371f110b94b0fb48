"""`reconciler state mv`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal
from reconciler.operations.edit import parse_address
from reconciler.operations.mv import move
from reconciler.operations.workspace import Workspace
from reconciler.reports.attempts import preview_line
from reconciler.reports.line import Line
from reconciler.reports.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.record import Attempt


@click.command("mv")
@click.argument("source", metavar="FROM")
@click.argument("destination", metavar="TO")
@common_options
@pass_terminal
def command(terminal: Terminal, source: str, destination: str) -> None:
    """Rename a subscription (no call).

    Use this if a subscription recorded as FROM is now called TO in config/. To swap two names, use a temporary third
    name; `plan` prints the commands. FROM and TO are exact addresses, not patterns.
    """
    before, after = parse_address(source), parse_address(destination)

    def show(attempts: Iterable[Attempt]) -> None:
        for attempt in attempts:
            terminal.say_line(preview_line(attempt, f"becomes {visible(after)}"))

    move(Workspace(terminal), before, after, show)
    terminal.print_lines([Line(f"  {visible(before)} is recorded as {visible(after)}")])
