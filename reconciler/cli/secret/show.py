"""`reconciler secret show`"""

from pathlib import Path

import click

from reconciler.cli.options import attempt_option, cli_command, known
from reconciler.cli.terminal.actions import mask
from reconciler.cli.terminal.foreign import mask_body, print_body, print_value
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.edit import parse_address
from reconciler.operations.subscription_secret import SecretReader, field_of
from reconciler.operations.workspace import Workspace
from reconciler.state.private.responses import split_response

_SHORTEST_SECRET = 8


@cli_command("show")
@click.argument("address", shell_complete=known("address"))
@attempt_option
@click.option(
    "--identity", metavar="FILE", type=click.Path(path_type=Path), help="age identity file to decrypt it with."
)
@click.option("--field", metavar="NAME", help="Print only this field of the response.")
@click.option("--headers", is_flag=True, help="Print the response with its status line and headers.")
def command(
    terminal: Terminal, address: str, attempt: str | None, identity: Path | None, field: str | None, headers: bool
) -> None:
    """Print the secret, or the create response that may contain it.

    Prints the secret last set for ADDRESS or, if none was set, the body of its create response.
    """
    if headers and field is not None:
        raise click.UsageError("use either --headers or --field")
    reader = SecretReader(Workspace(terminal), parse_address(address), attempt, identity)
    if headers:
        _print_response(terminal, reader.response())
        return
    secret = reader.secret()
    if field is None:
        mask_body(secret)
        print_body(terminal, secret)
        return
    value = field_of(secret, field)
    mask(value)
    print_value(terminal, value)


def _print_response(terminal: Terminal, response: bytes) -> None:
    head, body = split_response(response)
    if not head:
        terminal.warn("the headers of this response were not saved: an earlier version created the subscription")
    mask_body(body)
    mask_body(head)
    for line in head.decode("latin-1").splitlines()[1:]:
        value = line.partition(":")[2].strip()
        if len(value) >= _SHORTEST_SECRET:  # a mask for `close` or `42` would hide what is not a secret
            mask(value)
    print_body(terminal, response)
