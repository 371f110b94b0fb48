"""`reconciler state list`"""

from reconciler.cli.options import cli_command, format_option
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.workspace import Workspace
from reconciler.reports.formats import LIST


@cli_command("list")
@format_option(LIST)
def command(terminal: Terminal, form: str) -> int:
    """List recorded subscriptions.

    Lists every subscription that is in force or has an unknown outcome. Targets without a record are listed on stderr.
    Exits with 1 if a record is damaged or missing.
    """
    workspace = Workspace(terminal)
    if not workspace.targets_seen():
        workspace.recorded_targets()  # raises if no target has a record
    records, whole = workspace.usable_records(lambda name: workspace.read(name).record(), workspace.known_targets())
    if not records and not whole:  # "Nothing is in force" would be wrong
        return 1
    terminal.print_report(LIST[form](records))
    return 0 if whole else 1
