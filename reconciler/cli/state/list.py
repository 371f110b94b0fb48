"""`reconciler state list`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal
from reconciler.operations.workspace import Workspace
from reconciler.reports.documents import list_document, render
from reconciler.reports.line import Line
from reconciler.reports.text import list_text

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal


@click.command("list")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Output format.  [text]")
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
    if form == "json":
        terminal.print_document(render(list_document(records)))
    else:
        terminal.print_lines(list_text(records) or [Line("Nothing is in force.")])
    return 0 if whole else 1
