"""`reconciler plan`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.exit_codes import exit_code
from reconciler.cli.options import (
    accepted_duplicates,
    common_options,
    detailed_exitcode_option,
    duplicates_option,
    pass_terminal,
    target_option,
)
from reconciler.operations.plan import make, warn_of_other_service
from reconciler.operations.plan_file import write_plan_file
from reconciler.operations.workspace import Workspace
from reconciler.reports.documents import plan_document, render
from reconciler.reports.text import plan_text

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal


@click.command("plan")
@target_option
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Also save the plan to FILE, as JSON.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", help="Output format.  [text]"
)
@detailed_exitcode_option
@click.option("--allow-empty", is_flag=True, help="Allow a plan that removes every subscription of a target.")
@duplicates_option
@common_options
@pass_terminal
def command(
    terminal: Terminal,
    targets: tuple[str, ...],
    out: Path | None,
    form: str,
    detailed_exitcode: bool,
    allow_empty: bool,
) -> int:
    """Show the changes needed to reach the desired state.

    Compares config/ (desired) with the state record (existing). Needs no credentials and does not call the service; it
    only reads the state store. Signs: + create, ~ extend, ± replace, ↺ restore, - retire, ! blocked.
    """
    workspace = Workspace(terminal)
    planned = make(workspace, targets, allow_empty=allow_empty, accepted_duplicates=accepted_duplicates())
    warn_of_other_service(workspace, planned)
    if out is not None:
        write_plan_file(out, render(plan_document(planned.plan)))
    match form:
        case "json":
            terminal.print_document(render(plan_document(planned.plan)))
        case "markdown":
            from reconciler.reports.markdown import plan_markdown  # noqa: PLC0415 - the common plan is text

            terminal.print_document(plan_markdown(planned.plan))
        case _:
            terminal.print_lines(plan_text(planned.plan))
    return exit_code(planned.verdict) if detailed_exitcode else 0
