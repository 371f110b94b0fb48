"""`reconciler removals`"""

from reconciler.cli.options import cli_command, format_option, target_option
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.removals import read_removals
from reconciler.operations.workspace import Workspace
from reconciler.reports.formats import REMOVALS


@cli_command("removals")
@target_option
@format_option(REMOVALS)
def command(terminal: Terminal, targets: tuple[str, ...], form: str) -> int:
    """Show the requests to send to the operator.

    For each target, first what was withdrawn in the last 14 days and not observed delivering since: it may be deleted
    already. Then one message that asks the operator to delete what awaits removal: its ids, since when, and what is
    delivered until then; what to be certain of before it is sent; and the command to run once it is deleted. Last the
    requests that are on hold, since config/ wants their subscriptions again. Exits with 1 if a record is damaged or
    missing.

    If the operator has deleted another subscription instead, run `state removed --force` with its address, and apply.
    """
    removals = read_removals(Workspace(terminal), targets)
    terminal.print_report(REMOVALS[form](removals.requests))
    return int(not removals.whole)
