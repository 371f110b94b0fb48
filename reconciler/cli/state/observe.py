"""`reconciler state observe`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal
from reconciler.operations.observe import observe
from reconciler.operations.workspace import Workspace
from reconciler.reports.notifications import observed_text

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal


@click.command("observe")
@click.argument("file", type=click.Path(path_type=Path))
@common_options
@pass_terminal
def command(terminal: Terminal, file: Path) -> None:
    """Record received notifications as evidence.

    FILE is a file written by `listen --record`, or by your own endpoint in the same format. Records, for each
    subscription, when each event code was last received; `status` shows which subscriptions deliver. Reports
    notifications that match no recorded subscription: an unmanaged subscription exists. Ignores an incomplete last line
    and notifications dated in the future.
    """
    terminal.print_lines(observed_text(observe(Workspace(terminal), file)))
