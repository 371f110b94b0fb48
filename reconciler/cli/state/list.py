"""`reconciler state list`"""

from __future__ import annotations

import click

from reconciler.cli.options import common_options
from reconciler.cli.output import print_document, print_lines
from reconciler.cli.workspace import Workspace
from reconciler.reports.documents import list_document, render
from reconciler.reports.text import Line, list_text


@click.command("list")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Of stdout.  [text]")
@common_options
def command(form: str) -> None:
    """List what is known to exist.

    Every attempt that is in force, or may be, on every target that has a record.
    """
    workspace = Workspace()
    names = workspace.recorded_targets()
    records = list(workspace.records(names).values())
    if form == "json":
        print_document(render(list_document(records)))
        return
    print_lines(list_text(records) or [Line("Nothing is in force.")])
