"""`reconciler state list`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options
from reconciler.cli.output import print_document, print_lines
from reconciler.cli.state.verify import known_targets
from reconciler.cli.workspace import Workspace, usable_records
from reconciler.reports.documents import list_document, render
from reconciler.reports.text import Line, list_text

if TYPE_CHECKING:
    from reconciler.model.address import TargetName


@click.command("list")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Of stdout.  [text]")
@common_options
def command(form: str) -> int:
    """List what is known to exist.

    Every attempt that is in force, or may be, on every target that has a record. Names, on stderr, the targets that
    have none; exits with 1 where a record is damaged, or gone that was seen here before.
    """
    workspace = Workspace()
    records, whole = usable_records(lambda name: workspace.read(name).record(), _targets(workspace))
    if not records and not whole:  # "nothing" would be a lie
        return 1
    if form == "json":
        print_document(render(list_document(records)))
    else:
        print_lines(list_text(records) or [Line("Nothing is in force.")])
    return 0 if whole else 1


def _targets(workspace: Workspace) -> list[TargetName]:
    """Raises RecordMissing where no target has a record, nor had one here before."""
    if not workspace.targets_seen():
        workspace.recorded_targets()
    return known_targets(workspace)
