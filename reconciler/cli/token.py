"""`reconciler token`"""

import click

from reconciler.cli.options import cli_command, known
from reconciler.cli.terminal.actions import mask
from reconciler.cli.terminal.foreign import print_value
from reconciler.cli.terminal.terminal import Terminal
from reconciler.model.desired import API_NAMES
from reconciler.operations.workspace import Workspace


@cli_command("token")
@click.option(
    "-t",
    "--target",
    metavar="TARGET",
    required=True,
    shell_complete=known("target"),
    help="Target whose account to use.",
)
@click.option(
    "--api", type=click.Choice(API_NAMES), default="notification", help="API to get the token for.  [notification]"
)
def command(terminal: Terminal, target: str, api: str) -> None:
    """Print an access token.

    Uses the cached token if it has not expired.
    """
    from reconciler.operations.service_client import ServiceClient  # noqa: PLC0415 - an HTTP client takes long to load

    workspace = Workspace(terminal)
    with ServiceClient(workspace) as client:
        token = client.token(workspace.declared_target(target, f"-t {target}"), api)
    mask(token)
    print_value(terminal, token)
