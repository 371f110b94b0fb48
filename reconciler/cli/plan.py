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
from reconciler.cli.terminal.report import format_option, print_report
from reconciler.operations.plan import make, warn_of_other_service
from reconciler.operations.plan_file import write_plan_file
from reconciler.operations.workspace import Workspace
from reconciler.reports.documents import plan_document, render
from reconciler.reports.formats import PLAN

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal


@click.command("plan")
@target_option
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Also save the plan to FILE, as JSON.")
@format_option(PLAN)
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
    print_report(terminal, PLAN[form](planned.plan))
    return exit_code(planned.verdict) if detailed_exitcode else 0
