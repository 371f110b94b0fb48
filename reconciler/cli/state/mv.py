"""`reconciler state mv`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options
from reconciler.cli.output import print_lines
from reconciler.cli.recording import now_by, parse_address, record_entries
from reconciler.cli.workspace import Workspace
from reconciler.errors import Refused
from reconciler.model.entry import Moved
from reconciler.reports.text import Line
from reconciler.reports.visible import visible

if TYPE_CHECKING:
    from reconciler.model.record import Record


@click.command("mv")
@click.argument("source", metavar="FROM")
@click.argument("destination", metavar="TO")
@common_options
def command(source: str, destination: str) -> None:
    """Rename a subscription without a create.

    For one that is called FROM in the record, and TO in config/ by now.
    """
    workspace = Workspace()
    before, after = parse_address(source), parse_address(destination)
    if before.target != after.target:
        raise Refused(
            "a subscription belongs to its target and cannot be moved to another one",
            where=f"{before} to {after}",
            remedy="create it there, and retire it here",
        )

    def draft(record: Record) -> list[Moved]:
        if not record.at_address(before):
            raise Refused("nothing is recorded of it", where=before, remedy="see: reconciler state list")
        if record.at_address(after):
            raise Refused("it exists already", where=after, remedy=f"see: reconciler state show {after}")
        at, by = now_by(workspace)
        return [Moved(at=at, by=by, source=before, address=after)]

    record_entries(workspace, before.target, draft, f"moved {before.name} to {after.name}")
    print_lines([Line(f"  {visible(before)} is recorded as {visible(after)}")])
