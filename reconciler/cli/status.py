"""`reconciler status`"""

from __future__ import annotations

from datetime import UTC, datetime

import click

from reconciler.cli.neighbours import warn_of_unread
from reconciler.cli.options import common_options
from reconciler.cli.output import print_document, print_lines
from reconciler.cli.planning import exit_code, make
from reconciler.cli.workspace import Workspace
from reconciler.planning.standing import standing_of, standing_of_undeclared
from reconciler.reports.documents import render, status_document
from reconciler.reports.status_text import status_text


@click.command("status")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", help="Of stdout.  [text]"
)
@click.option("--detailed-exitcode", is_flag=True, help="Exit with 2 if there are changes, 3 if a create is unsettled.")
@common_options
def command(form: str, detailed_exitcode: bool) -> int:
    """Show what is in force, and what waits for a person.

    For each target: what is in force, and whether notifications have proven it (see `state observe`); creates with an
    unknown outcome; what awaits removal, with the request to the operator; what is delivered beyond what is wanted.
    """
    workspace = Workspace()
    planned = make(workspace, (), allow_empty=True)
    now = datetime.now(UTC)
    warn_of_unread(planned.unread)
    standings = [standing_of(planned.records[name], target, now) for name, target in planned.plan.targets.items()]
    undeclared = [standing_of_undeclared(record, now) for record in planned.undeclared.values()]
    standings = sorted([*standings, *(one for one in undeclared if one.attempts)], key=lambda one: one.name)
    match form:
        case "json":
            print_document(render(status_document(standings)))
        case "markdown":
            from reconciler.reports.markdown import status_markdown  # noqa: PLC0415 - the common status is text

            print_document(status_markdown(standings))
        case _:
            print_lines(status_text(standings))
    return exit_code(planned) if detailed_exitcode else 0
