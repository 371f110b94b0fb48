"""`reconciler state recover`"""

from pathlib import Path

import click

from reconciler.cli.exit_codes import exit_code
from reconciler.cli.options import cli_command, within_option
from reconciler.cli.terminal.terminal import Terminal
from reconciler.model.result import Verdict
from reconciler.operations.recover import Recovery, recover
from reconciler.operations.workspace import Workspace
from reconciler.planning.reasons import how_to_resolve
from reconciler.reports.wording import counted


@cli_command("recover")
@click.argument("file", type=click.Path(path_type=Path))
@within_option
def command(terminal: Terminal, file: Path, within: str | None) -> int:
    """Recover unsaved results or another copy of the record.

    FILE is either the recovery file named by an apply that could not save its results, or another copy of the journal:
    the other side of a merge conflict, the journal of another clone, a newer backup. Skips entries that are already
    recorded, so the command can be repeated; FILE is not deleted. Also works on a rolled back record, which other
    commands refuse.
    """
    recoveries = []
    for recovery in recover(Workspace(terminal, within), file):
        recoveries.append(recovery)
        _show(terminal, recovery)
    if not recoveries:
        terminal.print_line("Nothing to recover.")
    return exit_code(Verdict.FAILED if any(recovery.left for recovery in recoveries) else Verdict.DONE)


def _show(terminal: Terminal, recovery: Recovery) -> None:
    count = f"{counted(recovery.recovered, 'entry', 'entries')} recovered"
    before = f", {recovery.before} already recorded" if recovery.before else ""
    terminal.print_line(f"  {recovery.target}: {count}{before}")
    for problem in recovery.left:
        terminal.print_problem(problem)
    for attempt, address in recovery.disputed:
        terminal.say(
            f"The two copies disagree about attempt {attempt}, so its outcome is unknown; {how_to_resolve(address)}"
        )
