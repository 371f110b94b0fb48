"""The commands `reconciler secret show` and `reconciler secret set`."""

from __future__ import annotations

import sys
from functools import partial
from getpass import getpass
from typing import TYPE_CHECKING

import click

from reconciler.cli.commands import command
from reconciler.cli.consent import append_with_consent, consent_options
from reconciler.cli.options import attempts_option, identity_option
from reconciler.cli.terminal import mask
from reconciler.errors import Message, SettingsError
from reconciler.operations.responses import field_of
from reconciler.operations.secrets import response_of, save_secret, secret_statement, texts_in
from reconciler.values import SHORTEST_SECRET

if TYPE_CHECKING:
    from pathlib import Path

    from reconciler.cli.consent import Consent
    from reconciler.cli.invocation import Invocation


@command(
    "show",
    "reconciler secret show europe/staging/offers --identity key.txt",
    "reconciler secret show europe/staging/offers --field secretKey",
)
@click.argument("address")
@attempts_option
@identity_option
@click.option(
    "--field",
    metavar="NAME",
    default="",
    help="Print only this field of the response; ignored for a secret recorded with `secret set`.",
)
@click.option("--headers", is_flag=True, help="Print the status line and the headers too.")
def show(
    invocation: Invocation, address: str, attempts: tuple[str, ...], identity: Path | None, field: str, headers: bool
) -> None:
    """Print the response to a create, or one field of it.

    The response may hold the secret of the subscription.
    """
    response = response_of(invocation.project, address, attempts, identity)
    field = "" if response.was_set_by_hand else field
    text = field_of(response.body, field) if field else ""
    head = response.head.decode(errors="backslashreplace").splitlines() if headers else []
    values = (line.partition(":")[2].strip() for line in head)
    body = [*texts_in(response.body), response.body.decode(errors="backslashreplace")]
    mask([text] if field else [*(value for value in values if len(value) >= SHORTEST_SECRET), *body])
    if field:
        invocation.terminal.print_foreign(text.encode())
    else:
        invocation.terminal.print_foreign(response.head + response.body if headers else response.body)


def _refuse(context: click.Context, _: click.Parameter, given: tuple[str, ...]) -> None:
    """Refuse a secret on the command line, where every user of the machine can see it. The error does not repeat it."""
    if given:
        raise click.UsageError("the secret is read from standard input", context)


@command("set", "reconciler secret set europe/staging/offers <secret.txt")
@click.argument("address")
@click.argument("given", nargs=-1, metavar="<FILE", expose_value=False, callback=_refuse)
@attempts_option
@consent_options
def set_(invocation: Invocation, address: str, attempts: tuple[str, ...], consent: Consent) -> None:
    """Record a subscription's secret that you received by other means.

    Reads the secret from standard input, or asks for it on a terminal.
    """
    entered = getpass("Secret: ").encode() if sys.stdin.isatty() else sys.stdin.buffer.read()
    if not (secret := entered.strip()):
        raise SettingsError(Message("no-secret", "no secret was given", "standard input"))
    project = invocation.project
    statement = secret_statement(project, address, attempts, secret)
    append_with_consent(invocation, statement, consent, partial(save_secret, project, statement, secret))
