"""`reconciler state list`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal
from reconciler.cli.terminal.report import format_option, print_report
from reconciler.operations.workspace import Workspace
from reconciler.reports.formats import LIST

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal


@click.command("list")
@format_option(LIST)
@common_options
@pass_terminal
def command(terminal: Terminal, form: str) -> int:
    """List recorded subscriptions.

    Lists every subscription that is in force or has an unknown outcome. Targets without a record are listed on stderr.
    Exits with 1 if a record is damaged or missing.
    """
    workspace = Workspace(terminal)
    records, whole = workspace.usable_records(lambda name: workspace.read(name).record(), workspace.listed_targets())
    if not records and not whole:  # "Nothing is in force" would be wrong
        return 1
    print_report(terminal, LIST[form](records))
    return 0 if whole else 1
