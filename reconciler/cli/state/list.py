"""`reconciler state list`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal
from reconciler.operations.workspace import Workspace
from reconciler.reports.documents import list_document, render
from reconciler.reports.text import Line, list_text

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.address import TargetName


@click.command("list")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Of stdout.  [text]")
@common_options
@pass_terminal
def command(terminal: Terminal, form: str) -> int:
    """List what is known to exist.

    Every attempt that is in force, or may be, on every target that has a record. Names, on stderr, the targets that
    have none; exits with 1 where a record is damaged, or gone that was seen here before.
    """
    workspace = Workspace(terminal)
    records, whole = workspace.usable_records(lambda name: workspace.read(name).record(), _targets(workspace))
    if not records and not whole:  # "nothing" would be a lie
        return 1
    if form == "json":
        terminal.print_document(render(list_document(records)))
    else:
        terminal.print_lines(list_text(records) or [Line("Nothing is in force.")])
    return 0 if whole else 1


def _targets(workspace: Workspace) -> list[TargetName]:
    """Raises RecordMissing where no target has a record, nor had one here before."""
    if not workspace.targets_seen():
        workspace.recorded_targets()
    return workspace.known_targets()
