"""`reconciler validate`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal
from reconciler.operations.workspace import Workspace
from reconciler.reports.line import Line

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal


@click.command("validate")
@common_options
@pass_terminal
def command(terminal: Terminal) -> None:
    """Check the configuration.

    Prints every mistake with its file, line, column and a fix. Needs no credentials, no state record and no network.
    """
    desired = Workspace(terminal).desired
    counts = f"{_count(len(desired.subscriptions), 'subscription')} on {_count(len(desired.targets), 'target')}"
    terminal.print_lines([Line(f"The configuration is valid: {counts}.")])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
