"""`reconciler plan`"""

from pathlib import Path

import click

from reconciler.cli.exit_codes import exit_code
from reconciler.cli.options import (
    allow_empty_option,
    cli_command,
    detailed_exitcode_option,
    duplicates_option,
    format_option,
    skip_uninitialized_option,
    target_option,
)
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.plan import Planned, make, warn_of_other_service
from reconciler.operations.plan_file import write_plan_file
from reconciler.operations.same_service import creates_after_loss
from reconciler.operations.workspace import Workspace
from reconciler.reports.documents import plan_document, render
from reconciler.reports.formats import PLAN, PLAN_PAGE, Report


@cli_command("plan")
@target_option
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Also save the plan to FILE, as JSON.")
@click.option(
    "--page", metavar="FILE", type=click.Path(path_type=Path), help="Also save the plan to FILE, as an HTML page."
)
@format_option(PLAN, PLAN_PAGE)
@detailed_exitcode_option
@allow_empty_option
@skip_uninitialized_option
@duplicates_option
def command(
    terminal: Terminal,
    targets: tuple[str, ...],
    out: Path | None,
    page: Path | None,
    form: str,
    detailed_exitcode: bool,
    allow_empty: bool,
    skips_uninitialized: bool,
    accepted_duplicates: tuple[str, ...],
) -> int:
    """Show the changes needed to reach the desired state.

    Compares config/ (desired) with the state record (existing). Needs no credentials and does not call the service; it
    only reads the state store. Signs: + create, ~ extend, ± replace, ↺ restore, - retire, ! blocked.
    """
    workspace = Workspace(terminal)
    planned = make(
        workspace, targets, accepted_duplicates, allow_empty=allow_empty, skips_uninitialized=skips_uninitialized
    )
    warn_of_other_service(workspace, planned)
    if problem := creates_after_loss(planned.plan, planned.records, accepted_duplicates):
        terminal.warn(str(problem))
    if out is not None:
        write_plan_file(out, render(plan_document(planned.plan)), "--out")
    if page is not None:
        write_plan_file(page, str(_report(planned, "html")), "--page")
    terminal.print_report(_report(planned, form))
    return exit_code(planned.verdict) if detailed_exitcode else 0


def _report(planned: Planned, form: str) -> Report:
    if form not in PLAN_PAGE:
        return PLAN[form](planned.plan)
    from reconciler.operations.overview import plan_overview  # noqa: PLC0415 - only a page needs it

    return PLAN_PAGE[form](plan_overview(planned))
