"""`reconciler secret show`"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.options import attempt_option, common_options, pass_terminal
from reconciler.cli.terminal.actions import mask
from reconciler.cli.terminal.foreign import mask_body, print_body, print_value
from reconciler.errors import Refused, StateError
from reconciler.model.record import Status
from reconciler.operations.edit import parse_address, pick
from reconciler.operations.kept_secrets import private_kind, read_identity, with_response
from reconciler.operations.workspace import Workspace
from reconciler.state.private.responses import decrypt, split_response

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.address import Address
    from reconciler.model.record import Attempt, Record

_SHORTEST_SECRET = 8


@click.command("show")
@click.argument("address")
@attempt_option
@click.option(
    "--identity", metavar="FILE", type=click.Path(path_type=Path), help="age identity file to decrypt it with."
)
@click.option("--field", metavar="NAME", help="Print only this field of the response.")
@click.option("--headers", is_flag=True, help="Print the response with its status line and headers.")
@common_options
@pass_terminal
def command(
    terminal: Terminal, address: str, attempt: str | None, identity: Path | None, field: str | None, headers: bool
) -> None:
    """Print the secret, or the create response that may contain it.

    Prints the secret last set for ADDRESS or, if none was set, the body of its create response.
    """
    if headers and field is not None:
        raise click.UsageError("use either --headers or --field")
    workspace = Workspace(terminal)
    wanted = parse_address(address)
    record = workspace.read(wanted.target).record()
    here = [with_response(workspace, record, one) for one in record.attempts.values() if one.address == wanted]
    chosen = _choose([replace(one, secrets=()) for one in here] if headers else here, attempt, wanted)
    if headers:
        _print_response(terminal, _read_response(workspace, record, chosen, identity))
        return
    body = _read_secret(workspace, record, chosen, identity)
    if field is None:
        mask_body(body)
        print_body(terminal, body)
        return
    value = _field(body, field)
    mask(value)
    print_value(terminal, value)


def _choose(here: list[Attempt], named: str | None, address: Address) -> Attempt:
    """The attempt that is meant, of those at an address. Raises Refused."""
    attempts = [one for one in here if one.response or one.secrets]
    _refuse_untold(here, named, address)
    live = [one for one in attempts if one.status is Status.LIVE]
    current = live or [one for one in attempts if one.in_force] or attempts
    return pick(attempts if named else current, named, address, "with a response or a secret")


def _print_response(terminal: Terminal, response: bytes) -> None:
    head, body = split_response(response)
    if not head:
        terminal.warn("the headers of this response were not kept: it was created by an earlier version")
    mask_body(body)
    mask_body(head)
    for line in head.decode("latin-1").splitlines()[1:]:
        value = line.partition(":")[2].strip()
        if len(value) >= _SHORTEST_SECRET:  # a mask for `close` or `42` would hide what no secret is
            mask(value)
    print_body(terminal, response)


def _refuse_untold(attempts: list[Attempt], wanted: str | None, address: Address) -> None:
    """Raises Refused where what is meant exists, and no response told its secret. What awaits removal has another."""
    here = [one for one in attempts if one.in_force and wanted in (None, one.id)]
    meant = [one for one in here if one.status is Status.LIVE] or here
    if meant and not any(one.response or one.secrets for one in meant):
        live = " that is live" if meant != here else ""
        named = "" if wanted is None else f" --attempt {wanted}"
        raise Refused(
            f"it has no attempt with a response or a secret{live}",
            where=address,
            remedy=f"ask the operator for its secret, and keep it with: reconciler secret set {address}{named}",
        )


def _read_secret(workspace: Workspace, record: Record, attempt: Attempt, identity: Path | None) -> bytes:
    """The secret that was set last for an attempt, else the body of its response. Raises StateError and Refused."""
    if attempt.secrets:
        return _read(workspace, record, attempt, "secret", attempt.secrets[-1], identity)
    _, body = split_response(_read_response(workspace, record, attempt, identity))
    if not body:
        raise Refused(
            "the response has no body",
            where=attempt.address,
            remedy=f"read its headers with `reconciler secret show {attempt.address} --headers`, or ask the operator"
            f" for its secret, and keep it with: reconciler secret set {attempt.address}",
        )
    return body


def _read_response(workspace: Workspace, record: Record, attempt: Attempt, identity: Path | None) -> bytes:
    """The response to the create call of an attempt, as it is kept. Raises StateError."""
    return _read(workspace, record, attempt, "response", attempt.response or "", identity)


def _read(
    workspace: Workspace, record: Record, attempt: Attempt, kind: str, place: str, identity: Path | None
) -> bytes:
    """What was kept last at a place that an attempt names. Raises StateError."""
    if place.startswith("age:"):
        return decrypt(place, read_identity(identity))
    kept = workspace.responses.read(record.id, attempt.id, private_kind(kind, place))
    if not kept:
        doer = "set it" if kind == "secret" else "applied"
        raise StateError(
            f"it is kept in a private file of another machine or user, the one that {doer}",
            where=attempt.address,
            remedy="run this command there, or ask the operator for the secret and run:"
            f" reconciler secret set {attempt.address} --attempt {attempt.id}",
        )
    return kept[-1]


def _field(body: bytes, name: str) -> str:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or name not in found:
        known = ", ".join(found) if isinstance(found, dict) else ""
        raise Refused("the response has no such field", where=f"--field {name}", remedy=f"it has: {known or 'none'}")
    value = found[name]
    return value if isinstance(value, str) else json.dumps(value)
