"""`reconciler state mv`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal
from reconciler.errors import Refused
from reconciler.model.entry import Moved
from reconciler.operations.edit import now_by, parse_address, record_entries
from reconciler.operations.workspace import Workspace
from reconciler.reports.mending import shown_line
from reconciler.reports.text import Line
from reconciler.reports.visible import visible

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.record import Record


@click.command("mv")
@click.argument("source", metavar="FROM")
@click.argument("destination", metavar="TO")
@common_options
@pass_terminal
def command(terminal: Terminal, source: str, destination: str) -> None:
    """Rename a subscription without a create.

    For one that is called FROM in the record, and TO in config/ by now. Two that changed names go by way of a third
    name: the plan says how. Both are exact addresses, since what a pattern would rename to is not known.
    """
    workspace = Workspace(terminal)
    before, after = parse_address(source), parse_address(destination)
    if before.target != after.target:
        raise Refused(
            "a subscription belongs to its target and cannot be moved to another one",
            where=f"{before} to {after}",
            remedy="create it there, and retire it here",
        )

    def draft(record: Record) -> list[Moved]:
        attempts = record.at_address(before)
        if not attempts:
            raise Refused("nothing is recorded of it", where=before, remedy="see: reconciler state list")
        if record.at_address(after):
            raise Refused(
                "it exists already",
                where=after,
                remedy=f"if it has another name in config/ by now, rename it first: reconciler plan; see also:"
                f" reconciler state show {after}",
            )
        for one in attempts:
            terminal.say_line(shown_line(one, f"becomes {visible(after)}"))
        at, by = now_by(workspace)
        return [Moved(at=at, by=by, source=before, address=after)]

    record_entries(workspace, before.target, draft, f"moved {before.name} to {after.name}")
    terminal.print_lines([Line(f"  {visible(before)} is recorded as {visible(after)}")])
