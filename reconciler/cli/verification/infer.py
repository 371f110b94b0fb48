"""`reconciler verification infer`"""

from pathlib import Path

import click

from reconciler.cli.options import cli_command
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.edit import parse_address
from reconciler.operations.kept_secrets import read_identity, secrets_of_address
from reconciler.operations.signing_scheme import infer_scheme, read_captured, secret_in_variable
from reconciler.operations.workspace import Workspace


@cli_command("infer")
@click.argument("request", type=click.Path(path_type=Path))
@click.option("--address", metavar="ADDRESS", help="Subscription that sent it; uses its recorded secret.")
@click.option("--identity", metavar="FILE", type=click.Path(path_type=Path), help="age identity file for --address.")
@click.option("--secret-variable", metavar="NAME", help="Environment variable with the secret.")
def command(
    terminal: Terminal, request: Path, address: str | None, identity: Path | None, secret_variable: str | None
) -> None:
    """Detect how a notification was signed.

    REQUEST is a file with one line written by `listen --record`; use - for standard input. Tries the common signing
    schemes and prints the one that reproduces the signature, as a `verification:` section for any file of config/, at
    the top level. Exits with 1 if none or several match.

    \b
        tail -n 1 notifications.jsonl | reconciler verification infer - --address europe/staging/offers
    """
    if (address is None) == (secret_variable is None):
        raise click.UsageError("expected --address or --secret-variable")
    if identity is not None and address is None:
        raise click.UsageError("--identity requires --address")
    captured = read_captured(request)
    workspace = Workspace(terminal)
    if address is not None:
        secrets = secrets_of_address(workspace, parse_address(address), read_identity(identity))
    else:
        secrets = secret_in_variable(workspace, str(secret_variable))
    terminal.print_document(infer_scheme(workspace, captured, secrets))
    terminal.say("Add this at the top level of any file in config/.")
