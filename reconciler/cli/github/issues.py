"""`reconciler github issues`"""

from reconciler.cli.options import cli_command, target_option
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.issues import keep_issues
from reconciler.operations.workspace import Workspace


@cli_command("issues")
@target_option
def command(terminal: Terminal, targets: tuple[str, ...]) -> None:
    """Keep an issue for each thing that needs attention.

    One for creates with an unknown outcome; one for changes that are not applied and removals requested more than 7
    days ago; one for state records that are damaged, rolled back or missing. Each is opened, updated, and closed when
    nothing of it is left. A second run changes nothing. The token needs the permission issues: write.
    """
    for line in keep_issues(Workspace(terminal), targets):
        terminal.work_is_done()
        terminal.print_line(line)
