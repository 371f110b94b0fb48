"""`reconciler secret show`"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.actions import mask
from reconciler.cli.foreign import mask_body, print_body, print_value
from reconciler.cli.options import common_options
from reconciler.cli.recording import attempt_option, parse_address, pick
from reconciler.cli.secrets_of import private_kind, read_identity, with_response
from reconciler.cli.workspace import Workspace
from reconciler.errors import Refused, StateError
from reconciler.model.record import Status
from reconciler.state.responses import open_sealed

if TYPE_CHECKING:
    from reconciler.model.address import Address
    from reconciler.model.record import Attempt, Record


@click.command("show")
@click.argument("address")
@attempt_option
@click.option("--identity", metavar="FILE", type=click.Path(path_type=Path), help="The age identity to open it with.")
@click.option("--field", metavar="NAME", help="Print one field of the response, bare.")
@common_options
def command(address: str, attempt: str | None, identity: Path | None, field: str | None) -> None:
    """Print the secret, or the create response that may hold it.

    Of ADDRESS: the secret that was set for it last, or else the response to its create call.
    """
    workspace = Workspace()
    wanted = parse_address(address)
    record = workspace.read(wanted.target).record()
    here = [with_response(workspace, record, one) for one in record.attempts.values() if one.address == wanted]
    attempts = [one for one in here if one.response or one.secrets]
    _refuse_untold(here, attempt, wanted)
    live = [one for one in attempts if one.status is Status.LIVE]
    current = live or [one for one in attempts if one.in_force] or attempts
    chosen = pick(attempts if attempt else current, attempt, wanted, "with a response or a secret")
    body = read_secret(workspace, record, chosen, identity)
    if field is None:
        mask_body(body)
        print_body(body)
        return
    value = _field(body, field)
    mask(value)
    print_value(value)


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


def read_secret(workspace: Workspace, record: Record, attempt: Attempt, identity: Path | None) -> bytes:
    """The secret that was set last for an attempt, else its response. Raises StateError."""
    place = attempt.secrets[-1] if attempt.secrets else attempt.response or ""
    if place.startswith("age:"):
        return open_sealed(place, read_identity(identity))
    kind, doer = ("secret", "set it") if attempt.secrets else ("response", "applied")
    kept = workspace.responses.read(record.id, attempt.id, private_kind(kind, place))
    if not kept:
        raise StateError(
            f"it is kept in a private file of another machine or user, the one that {doer}",
            where=attempt.address,
            remedy="ask there, or ask the operator and keep what they say with: reconciler secret set",
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
