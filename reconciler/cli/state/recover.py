"""`reconciler state recover`"""

from pathlib import Path

import click

from reconciler.cli.exit_codes import exit_code
from reconciler.cli.options import cli_command, known, within_option
from reconciler.cli.terminal.terminal import Terminal
from reconciler.model.result import Verdict
from reconciler.operations.recover import Recovery, command_to_share, recover, recover_kept
from reconciler.operations.workspace import Workspace
from reconciler.planning.reasons import how_to_resolve, unresolved
from reconciler.reports.wording import counted


@cli_command("recover")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "-t",
    "--target",
    metavar="TARGET",
    shell_complete=known("target"),
    help="Instead of FILE: recover what this machine has seen of the record of TARGET, or of all that a pattern matches"
    " ('*/*').",
)
@within_option
def command(terminal: Terminal, file: Path | None, target: str | None, within: str | None) -> int:
    """Recover unsaved results or another copy of the record.

    FILE is either the recovery file named by an apply that could not save its results, or another copy of the journal:
    the other side of a merge conflict, the journal of another clone, a newer backup. Skips entries that are already
    recorded, so the command can be repeated; FILE is not deleted. Also works on a rolled back record, which other
    commands refuse. A record that is missing is put back from a copy that has all that was last seen of it.

    With -t, recovers from the copy of a git branch that this machine keeps: what was seen there before the branch was
    set back, or deleted, is appended again. What was added to the branch since stays.
    """
    if bool(file) == bool(target):
        raise click.UsageError("use FILE or -t TARGET")
    workspace = Workspace(terminal, within)
    recoveries, then = [], ""
    for recovery in recover(workspace, file) if file else recover_kept(workspace, target or ""):
        recoveries.append(recovery)
        _show(terminal, recovery)
        command_line = command_to_share(workspace, recovery.target)
        if command_line:
            terminal.say(f"To commit and share the record of {recovery.target}, run: {command_line}")
            then = "after that, "
    if not recoveries:
        terminal.print_line("Nothing to recover.")
    elif all(recovery.is_spent for recovery in recoveries):
        terminal.say(f"The record has all of it; {then}{file} is no longer needed.")
    return exit_code(Verdict.FAILED if any(recovery.left for recovery in recoveries) else Verdict.DONE)


def _show(terminal: Terminal, recovery: Recovery) -> None:
    count = f"{counted(recovery.recovered, 'entry', 'entries')} recovered"
    before = f", {recovery.before} already recorded" if recovery.before else ""
    terminal.print_line(f"  {recovery.target}: {count}{before}")
    if recovery.bindings:
        terminal.warn(f"{recovery.target}: {recovery.bindings}")
    for problem in recovery.left:
        terminal.print_problem(problem)
    for pending in recovery.unresolved:
        terminal.say(f"{pending.address}: {unresolved(pending)}")
    for attempt, address in recovery.disputed:
        terminal.say(
            f"The two copies disagree about attempt {attempt}, so its outcome is unknown; {how_to_resolve(address)}"
        )
