"""`reconciler state accept-rollback`"""

import click

from reconciler.cli.options import cli_command, known, within_option
from reconciler.cli.terminal.questions import confirm
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.init import Rollback, accept, rollbacks
from reconciler.operations.workspace import Workspace
from reconciler.reports.wording import counted


@cli_command("accept-rollback")
@click.option(
    "-t", "--target", metavar="TARGET", required=True, shell_complete=known("target"), help="Target of the record."
)
@click.option("--force", is_flag=True, help="Skip the confirmation.")
@within_option
def command(terminal: Terminal, target: str, force: bool, within: str | None) -> None:
    """Accept a rolled back or lost record.

    Use this only if the newer record is lost for good, for example after restoring a backup: try to find it first. If
    no record is left, initializes a new one. Subscriptions in the lost entries still exist at the service: import them
    (`state import`). Until then, an apply creates nothing on this target.
    """
    workspace = Workspace(terminal, within)
    for rollback in rollbacks(workspace, target):
        if not rollback.lost:
            result = "nothing to accept: the record contains every entry last seen"
        else:
            _describe(terminal, rollback)
            confirm(force, "Accept this record?" if rollback.journal else "Initialize a new record?")
            accept(workspace, rollback, force=force)
            result = "accepted" if rollback.journal else "accepted; new record initialized"
        terminal.print_line(f"  {rollback.target}: {result}")
        if rollback.lost:
            terminal.say(
                f"Before the next apply, ask the operator for the list of what exists on {rollback.target}; exclude"
                f" from config/ what does not exist (`NAME: null` under {rollback.target}; see A lost record in"
                f" BAD_DAY.md), then run: reconciler state import --all -t {rollback.target}"
            )


def _describe(terminal: Terminal, rollback: Rollback) -> None:
    now = "no record now, and a new one starts empty"
    if rollback.journal is not None:
        entries = counted(len(rollback.journal.lines), "entry", "entries")
        now = f"the record now has {entries}, head {rollback.journal.head}, and does not contain that head"
    for seen in rollback.lost:
        terminal.say(f"  {rollback.target}: last seen with {seen.length}, head {seen.head}; {now}")
    if rollback.kept:
        back = f"run: reconciler state recover -t {rollback.target}"
        terminal.warn(f"{rollback.target}: not everything is lost: to restore what this machine still has, {back}")
    if rollback.elsewhere:
        terminal.warn(f"{rollback.target}: {rollback.elsewhere}what continues there would be created again here")
