"""`reconciler secret set`"""

from __future__ import annotations

import sys
from secrets import token_hex
from typing import TYPE_CHECKING

import click

from reconciler.cli.options import attempt_option, common_options, pass_terminal
from reconciler.cli.terminal.questions import ask_hidden, somebody_is_there
from reconciler.errors import Refused
from reconciler.model.entry import SecretSet
from reconciler.operations.edit import now_by, parse_address, pick, record_entries
from reconciler.operations.kept_secrets import private_kind
from reconciler.operations.workspace import Workspace
from reconciler.reports.text import Line
from reconciler.reports.visible import visible
from reconciler.state.private.responses import seal

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.record import Record

_LIMIT = 1 << 16


@click.command("set")
@click.argument("address")
@attempt_option
@common_options
@pass_terminal
def command(terminal: Terminal, address: str, attempt: str | None) -> None:
    """Keep a secret that came another way.

    Another way than in the create response of ADDRESS: by mail from the operator, say. It is read from standard input,
    or asked for at a terminal, and never taken as an argument. It is sealed to the `recipients` of config/ where there
    are any, and kept in a private file of this machine where there are none.
    """
    workspace = Workspace(terminal)
    wanted = parse_address(address)
    recipients = workspace.desired.recipients
    secret = _read()

    def draft(record: Record) -> list[SecretSet]:
        attempts = [one for one in record.at_address(wanted) if one.in_force or one.unsettled]
        one = pick(attempts, attempt, wanted, "in force")
        if recipients:
            place = seal(recipients, secret)
        else:
            place = f"file:{token_hex(4)}"
            path = workspace.responses.keep(record.id, one.id, private_kind("secret", place), secret)
            if workspace.in_ci:
                terminal.warn(
                    f"{wanted}: its secret lies on this disk only: {path}; `recipients:` keep it in the record"
                )
        at, by = now_by(workspace)
        return [SecretSet(at=at, by=by, attempt=one.id, secret=place)]

    record_entries(workspace, wanted.target, draft, f"secret set for {wanted.name}")
    terminal.print_lines([Line(f"  {visible(wanted)}: the secret is kept")])


def _read() -> bytes:
    if somebody_is_there():
        secret = ask_hidden("Secret: ").encode(errors="surrogateescape")
    else:
        secret = sys.stdin.buffer.read(_LIMIT + 1)
    secret = secret.removesuffix(b"\n").removesuffix(b"\r")
    if not secret or len(secret) > _LIMIT:
        raise Refused("a secret of 1 byte to 64 KiB is wanted", where="standard input")
    return secret
