"""`reconciler validate`"""

from reconciler.cli.options import cli_command
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.workspace import Workspace
from reconciler.reports.wording import counted


@cli_command("validate")
def command(terminal: Terminal) -> None:
    """Check the configuration.

    Prints every mistake with its file, line, column and a fix. Needs no credentials, no state record and no network.
    """
    desired = Workspace(terminal).desired
    counts = f"{counted(len(desired.subscriptions), 'subscription')} on {counted(len(desired.targets), 'target')}"
    terminal.print_line(f"The configuration is valid: {counts}.")
