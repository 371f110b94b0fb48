"""`reconciler secret set`"""

import sys

import click

from reconciler.cli.options import attempt_option, cli_command, known, within_option
from reconciler.cli.terminal.questions import ask_hidden, has_terminal
from reconciler.cli.terminal.terminal import Terminal
from reconciler.errors import Refused
from reconciler.operations.edit import parse_address
from reconciler.operations.subscription_secret import store_secret
from reconciler.operations.workspace import Workspace

_LIMIT = 1 << 16


@cli_command("set")
@click.argument("address", shell_complete=known("address"))
@attempt_option
@within_option
def command(terminal: Terminal, address: str, attempt: str | None, within: str | None) -> None:
    """Store a secret obtained outside of the create response.

    Use this if the secret of ADDRESS was not in its create response, for example if the operator sent it. Reads the
    secret from standard input or prompts on a terminal; it is never an argument. Encrypts it to the `recipients` of
    config/; without recipients, stores it in a private file on this machine.
    """
    workspace = Workspace(terminal, within)
    owner = parse_address(address)
    store_secret(workspace, owner, attempt, _read)
    terminal.print_line(f"  {owner}: secret saved")


def _read() -> bytes:
    if has_terminal():
        secret = ask_hidden("Secret: ").encode(errors="surrogateescape")
    else:
        secret = sys.stdin.buffer.read(_LIMIT + 1)
    secret = secret.removesuffix(b"\n").removesuffix(b"\r")
    if not secret or len(secret) > _LIMIT:
        raise Refused("expected a secret of 1 byte to 64 KiB", where="standard input")
    return secret
