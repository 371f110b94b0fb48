"""`reconciler lead create`"""

from pathlib import Path

import click

from reconciler.cli.options import cli_command, known
from reconciler.cli.terminal.foreign import print_body
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.workspace import Workspace


@cli_command("create")
@click.option(
    "-t",
    "--target",
    metavar="TARGET",
    required=True,
    shell_complete=known("target"),
    help="Target to create the lead on.",
)
@click.argument("file", type=click.Path(path_type=Path))
def command(terminal: Terminal, target: str, file: Path) -> None:
    """Create a lead and print the answer.

    FILE contains the lead as JSON; use - for standard input. The lead is sent once. If the answer is lost or the
    command is interrupted, the outcome is unknown, and the error message says so.
    """
    from reconciler.operations.lead import LeadCreation, read_lead  # noqa: PLC0415 - an HTTP client takes long to load

    workspace = Workspace(terminal)
    lead = read_lead(file)
    with LeadCreation(workspace, workspace.declared_target(target, f"-t {target}")) as creation:
        answer = creation.send(lead)
        terminal.work_is_done()
        if answer.warning:
            terminal.warn(answer.warning)
        print_body(terminal, answer.body)
