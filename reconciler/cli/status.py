"""`reconciler status`"""

from reconciler.cli.exit_codes import exit_code
from reconciler.cli.options import cli_command, detailed_exitcode_option, format_option, target_option
from reconciler.cli.terminal.terminal import Terminal
from reconciler.model.result import Verdict
from reconciler.operations.status import read_status
from reconciler.operations.workspace import Workspace
from reconciler.reports.formats import STATUS, STATUS_PAGE


@cli_command("status")
@target_option
@format_option(STATUS, STATUS_PAGE)
@detailed_exitcode_option
def command(terminal: Terminal, targets: tuple[str, ...], form: str, detailed_exitcode: bool) -> int:
    """Show what is in force and what needs attention.

    For each target: subscriptions in force and whether notifications prove that they deliver (see `state observe`);
    creates with an unknown outcome; subscriptions awaiting removal, with the request to the operator; surplus event
    codes. A target without a record is shown as that; JSON leaves it out, and stderr names it. Exits with 1 if a record
    is damaged or lost, or no selected target has one.
    """
    status = read_status(Workspace(terminal), targets)
    if form in STATUS_PAGE:
        from reconciler.operations.overview import overview  # noqa: PLC0415 - only a page needs it

        terminal.print_report(STATUS_PAGE[form](overview(status.planned, status.targets)))
    else:
        terminal.print_report(STATUS[form](status.targets))
    code = exit_code(status.verdict) if detailed_exitcode else 0
    return code if status.whole or code == exit_code(Verdict.UNRESOLVED) else exit_code(Verdict.FAILED)
