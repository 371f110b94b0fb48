"""`reconciler status`"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import click

from reconciler.cli.exit_codes import exit_code
from reconciler.cli.options import common_options, pass_terminal, target_option
from reconciler.errors import StateError, StoreUnavailable
from reconciler.model.selection import Selection
from reconciler.operations.known_results import read_with_known_results
from reconciler.operations.plan import make, verdict_of
from reconciler.operations.same_service import warn_of_unread
from reconciler.operations.workspace import Workspace
from reconciler.planning.standing import standing_of, standing_of_undeclared
from reconciler.reports.documents import render, status_document
from reconciler.reports.status_text import status_text

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.standing import TargetStanding
    from reconciler.operations.plan import Planned


@click.command("status")
@target_option
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", help="Of stdout.  [text]"
)
@click.option("--detailed-exitcode", is_flag=True, help="Exit with 2 if there are changes, 3 if a create is unsettled.")
@common_options
@pass_terminal
def command(terminal: Terminal, targets: tuple[str, ...], form: str, detailed_exitcode: bool) -> int:
    """Show what is in force, and what waits for a person.

    For each target: what is in force, and whether notifications have proven it (see `state observe`); creates with an
    unknown outcome; what awaits removal, with the request to the operator; what is delivered beyond what is wanted.
    Targets without a record are named on stderr; exits with 1 where one is damaged, or gone that was seen here before.
    """
    workspace = Workspace(terminal)
    planned, whole = _plan(workspace, targets)
    warn_of_unread(terminal, planned.unread)
    standings = _standings(planned)
    match form:
        case "json":
            terminal.print_document(render(status_document(standings)))
        case "markdown":
            from reconciler.reports.markdown import status_markdown  # noqa: PLC0415 - the common status is text

            terminal.print_document(status_markdown(standings))
        case _:
            terminal.print_lines(status_text(standings))
    return (exit_code(verdict_of(planned)) if detailed_exitcode else 0) or int(not whole)


def _plan(workspace: Workspace, patterns: tuple[str, ...]) -> tuple[Planned, bool]:
    """The plan for the targets selected whose record can be used, and whether no record is lost or damaged.

    Raises what `make` does, where there is no such target.
    """
    try:
        return make(workspace, patterns, allow_empty=True), True
    except StoreUnavailable:
        raise
    except StateError:
        selection, read = Selection.of(patterns), partial(read_with_known_results, workspace)
        usable, whole = workspace.usable_records(
            read, [one for one in workspace.desired.targets if selection.touches(one)]
        )
        if not usable:
            raise
        planned = make(workspace, tuple(one.target for one in usable), allow_empty=True)
        return replace(planned, selection=selection), whole


def _standings(planned: Planned) -> list[TargetStanding]:
    """How every target selected stands, and those that are not declared and have something in force."""
    now = datetime.now(UTC)
    declared = [standing_of(planned.records[name], target, now) for name, target in planned.plan.targets.items()]
    others = [
        standing_of_undeclared(record, now)
        for name, record in planned.undeclared.items()
        if planned.selection.touches(name)
    ]
    return sorted([*declared, *(one for one in others if one.attempts)], key=lambda one: one.name)
