"""`reconciler state copy`"""

import click

from reconciler.cli.options import cli_command, target_option, within_option
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.copying import copy_records
from reconciler.operations.workspace import Workspace


@cli_command("copy")
@click.argument("source", metavar="FROM")
@click.argument("destination", metavar="TO")
@target_option
@click.option("--force", is_flag=True, help="Override a copy to another store; take a CI runner's disk as TO.")
@within_option
def command(
    terminal: Terminal, source: str, destination: str, targets: tuple[str, ...], force: bool, within: str | None
) -> None:
    """Copy the record to another store.

    FROM and TO are stores, as --state takes them. The record continues in TO, where it must not exist yet; what is left
    in FROM is closed, and every command that would use it says where the record is. If the copy is interrupted, run the
    same command again. To use FROM again instead, give it as TO as well, with --force.
    """
    place = destination
    for copied in copy_records(Workspace(terminal, within), source, destination, targets, force=force):
        place = copied.place
        journal = copied.journal
        terminal.print_line(f"  {copied.target}: {len(journal.lines)} entries, head {journal.head}, in {place}")
    terminal.say(f"Use --state {place} from now on, or set RECONCILER_STATE, on every machine and in CI.")
