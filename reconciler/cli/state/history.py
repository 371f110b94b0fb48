"""`reconciler state history`"""

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import cli_command, known, target_option
from reconciler.cli.terminal.terminal import Terminal
from reconciler.errors import StateError
from reconciler.model.joining import all_entries
from reconciler.model.selection import Selection
from reconciler.operations.edit import not_recorded, parse_address
from reconciler.operations.selecting import refuse_unmatched
from reconciler.operations.workspace import Workspace
from reconciler.reports.history import history_text

if TYPE_CHECKING:
    from reconciler.model.address import TargetName
    from reconciler.state.journal.chain import Journal


@cli_command("history")
@click.argument("address", required=False, shell_complete=known("address"))
@target_option
def command(terminal: Terminal, address: str | None, targets: tuple[str, ...]) -> int:
    """Show the log of changes.

    Shows the log of ADDRESS, under the names it had before too; or of every address selected. Exits with 1 if a record
    is damaged or missing.
    """
    if address is not None and targets:
        raise click.UsageError("expected either ADDRESS or -t PATTERN")
    workspace = Workspace(terminal)
    if address is not None:
        only = parse_address(address)
        journal = workspace.read(only.target, closed=True)
        lines = history_text(only.target, all_entries(journal.lines), only)
        if len(lines) == 1:
            raise not_recorded(only, journal.record())
        terminal.print_lines(lines)
        return 0
    return _print_all(terminal, workspace, Selection.of(targets))


def _print_all(terminal: Terminal, workspace: Workspace, selection: Selection) -> int:
    """Print the log of each target selected. One that cannot be read does not stop the others."""
    recorded = workspace.recorded_targets()
    journals: dict[TargetName, Journal] = {}
    whole = True
    for name in filter(selection.touches, recorded):
        try:
            journals[name] = workspace.read(name, closed=True)
        except StateError as problem:
            terminal.print_problem(problem)
            whole = False
    if whole:  # what cannot be read may have what a pattern names
        addresses = {address for journal in journals.values() for address in journal.record().touched}
        refuse_unmatched(selection, recorded, sorted(addresses))
    for name, journal in journals.items():
        lines = history_text(name, all_entries(journal.lines), selection if selection.names_addresses else None)
        if len(lines) > 1:
            terminal.print_lines(lines)
    return 0 if whole else 1
