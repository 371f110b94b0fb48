"""`reconciler verification infer`"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal
from reconciler.errors import Refused, SettingsError
from reconciler.operations.edit import parse_address
from reconciler.operations.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Collection

    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.desired import Verification
    from reconciler.receiver import Captured


@click.command("infer")
@click.argument("request", type=click.Path(path_type=Path))
@click.option("--address", metavar="ADDRESS", help="The subscription that it came from, whose secret is recorded.")
@click.option("--identity", metavar="FILE", type=click.Path(path_type=Path), help="The age identity for --address.")
@click.option("--secret-variable", metavar="NAME", help="The environment variable that holds the secret.")
@common_options
@pass_terminal
def command(
    terminal: Terminal, request: Path, address: str | None, identity: Path | None, secret_variable: str | None
) -> None:
    """Find out how a captured notification was signed.

    REQUEST is a file with one request, a line as `listen --record` writes it; - is standard input. Of all schemes of
    the usual kind, the one that gives the signature in its headers is printed: `verification:` as it goes into any file
    of config/, at the top level. Exit code 1 where none does, or more than one.

    \b
        tail -n 1 notifications.jsonl | reconciler verification infer - --address europe/staging/offers
    """
    if (address is None) == (secret_variable is None):
        raise click.UsageError("the secret is wanted, from --address or from --secret-variable")
    if identity is not None and address is None:
        raise click.UsageError("--identity opens what is recorded for --address, which is not given")
    captured = _read(request)
    secrets = _secrets(terminal, address, identity, secret_variable)
    from reconciler.service.signatures import infer  # noqa: PLC0415 - only once there is something to look for

    terminal.print_document(_block(_only(terminal, infer(secrets, captured.headers, captured.body))))
    terminal.say("This goes into any file of config/, at the top level.")


def _secrets(terminal: Terminal, address: str | None, identity: Path | None, variable: str | None) -> Collection[bytes]:
    """The secrets that may have signed. Raises StateError, Refused or SettingsError."""
    workspace = Workspace(terminal)
    if address is not None:
        from reconciler.operations.kept_secrets import read_identity, secrets_of_address  # noqa: PLC0415

        return secrets_of_address(workspace, parse_address(address), read_identity(identity))
    value = workspace.variables.get(str(variable))
    if value is None:
        raise SettingsError("this variable is not set", where=f"--secret-variable {variable}", remedy="set it")
    return [os.fsencode(value)]


def _read(path: Path) -> Captured:
    """The one request in a file, on one line or on several; `-` is standard input. Raises SettingsError."""
    from reconciler.receiver.captured import LINE_LIMIT, parse_captured  # noqa: PLC0415

    is_stdin = str(path) == "-"
    where = "standard input" if is_stdin else str(path)
    try:
        with nullcontext(sys.stdin.buffer) if is_stdin else path.open("rb") as file:
            content = file.read(LINE_LIMIT + 1)
    except OSError as problem:
        raise SettingsError(f"cannot be read: {problem.strerror}", where=where) from None
    lines = content.split(b"\n")
    if len(content) > LINE_LIMIT or sum(line.startswith(b'{"') for line in lines) > 1:
        raise SettingsError(
            "it holds more than one captured request",
            where=where,
            remedy="give one line of it: tail -n 1 FILE | reconciler verification infer -",
        )
    return parse_captured(content, where)


def _only(terminal: Terminal, found: list[Verification]) -> Verification:
    """The one scheme found. Raises Refused where there is none, or several, which are told."""
    if len(found) == 1:
        return found[0]
    if found:
        for line in "".join(map(_block, found)).splitlines():
            terminal.say(line)
        raise Refused(
            f"{len(found)} schemes fit this request",
            remedy="capture another notification, and see which of them fits that one too",
        )
    raise Refused(
        "no scheme fits this request",
        remedy="see that the secret is that of the subscription it came from, and that the headers and the body are"
        " as they were received",
    )


def _block(how: Verification) -> str:
    """`verification:` as it goes into config/."""
    import yaml  # noqa: PLC0415

    fields = {name: value for name, value in asdict(how).items() if name != "enforce"}
    return str(yaml.safe_dump({"verification": fields}, sort_keys=False))
