"""The commands `reconciler listen` and `reconciler signature detect`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import asdict, replace

from reconciler.cli.commands import command
from reconciler.cli.options import identity_option
from reconciler.errors import Message, SettingsError, step
from reconciler.notifications.captured import read_captured
from reconciler.operations.listening import Listening, SignatureCheck, detect_signature
from reconciler.operations.secrets import secrets_by_template, secrets_of
from reconciler.receiver.receiver import Behaviour
from reconciler.reports.words import harmless_json, harmless_line

if TYPE_CHECKING:
    from reconciler.cli.invocation import Invocation
    from reconciler.model.desired import Verification
    from reconciler.receiver.receiver import Delivery

_LINES_SHOWN = 200


@command("listen", "reconciler listen --port 8080 --record notifications.jsonl", "reconciler listen --verify")
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="Port; 0 picks a free one.  [0]")
@click.option("--record", metavar="FILE", type=click.Path(path_type=Path), help="Append notifications to FILE.")
@click.option("--fail-first", metavar="N", type=click.IntRange(0), default=0, help="Answer the first N with 503.  [0]")
@click.option(
    "--respond", metavar="STATUS", type=click.IntRange(200, 599), default=200, help="Status to answer with.  [200]"
)
@click.option(
    "--delay",
    metavar="SECONDS",
    type=click.FloatRange(0, 3600),
    default=0.0,
    help="Wait this long before each answer.  [0]",
)
@click.option("--verify", is_flag=True, help="Check signatures as `verification:` in config/ says.")
@identity_option
def listen(
    invocation: Invocation,
    port: int,
    record: Path | None,
    fail_first: int,
    respond: int,
    delay: float,
    verify: bool,
    identity: Path | None,
) -> None:
    """Receive notifications until interrupted.

    Listens on 127.0.0.1, on every path. Each notification is saved to disk before it is answered with 2xx, and is then
    printed: as text on a terminal, otherwise as one line of JSON. Use a tunnel so that the service can reach this port.
    """
    if identity is not None and not verify:
        raise click.UsageError("--identity requires --verify")
    behaviour, check = Behaviour(respond, fail_first, delay), None
    if verify:
        behaviour, check = _with_signature_check(invocation, behaviour, identity)
    directory = invocation.project.data_directory
    with Listening(port, record, directory, behaviour, check) as listening:
        invocation.serves = True
        invocation.terminal.note(f"Listening at {listening.url}. Notifications are saved to {listening.file}.")
        try:
            for delivery in listening.deliveries():
                invocation.terminal.print(_shown(delivery))
                if invocation.terminal.reader_has_left:
                    return
        finally:
            for delivery in listening.rest():
                invocation.terminal.print(_shown(delivery))


def _with_signature_check(
    invocation: Invocation, behaviour: Behaviour, identity: Path | None
) -> tuple[Behaviour, SignatureCheck]:
    """Return the behaviour, with `enforce` as set in `config/`, and the check of signatures."""
    project = invocation.project
    verification = project.desired.verification
    if verification is None:
        steps = (step("to find out how notifications are signed, run", "reconciler", "signature", "detect", "FILE"),)
        raise SettingsError(Message("no-verification", "config/ has no `verification:`", "--verify", steps))
    check = SignatureCheck(verification, lambda: secrets_by_template(project, identity), invocation.terminal.warn)
    return replace(behaviour, enforce=verification.enforce), check


def _shown(delivery: Delivery) -> str:
    request = delivery.request
    if not sys.stdout.isatty():
        document = {
            "at": request.at,
            "method": delivery.method,
            "path": request.path,
            "status": delivery.status,
            "delivery": delivery.number,
            "verified": request.verified,
            "problem": delivery.problem,
            "eventCode": request.code or None,
            "body": request.body.decode(errors="replace"),
        }
        return harmless_json(json.dumps(document))
    verified = {True: "verified", False: "unverified", None: ""}[request.verified]
    again = f"delivery {delivery.number}" if (delivery.number or 1) > 1 else ""
    time_of_day = request.at[11:19]
    head = (time_of_day, str(delivery.status), request.code, request.path, verified, again, delivery.problem)
    body = request.body.decode(errors="replace").splitlines()[:_LINES_SHOWN]
    return "\n".join([harmless_line("  ".join(filter(None, head))), *(harmless_line(f"    {line}") for line in body)])


@command(
    "detect",
    "reconciler signature detect events.jsonl --address usa/staging/offers",
    "reconciler signature detect events.jsonl --secret-variable SECRET",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--address", metavar="ADDRESS", help="Subscription of the notifications; its recorded secret is used.")
@identity_option
@click.option("--secret-variable", metavar="NAME", help="The environment variable that holds the secret.")
def detect(
    invocation: Invocation, file: Path, address: str | None, identity: Path | None, secret_variable: str | None
) -> None:
    """Detect how notifications are signed, and print the scheme as `verification:` for config/.

    FILE is a file written by `listen --record`; use - for standard input. Exits with 1 unless exactly one scheme
    matches.
    """
    if address is not None and secret_variable is None:
        secrets = secrets_of(invocation.project, address, identity)
    elif address is None and secret_variable is not None:
        if not (value := invocation.project.sources.get(secret_variable)):
            raise click.UsageError(f"{secret_variable} is not set")
        secrets = {value.encode()}
    else:
        raise click.UsageError("expected --address or --secret-variable")
    invocation.terminal.print(_yaml(detect_signature(read_captured(file), secrets)))
    invocation.terminal.note("Add this at the top level of a file in config/.")


def _yaml(scheme: Verification) -> str:
    fields = {name: value for name, value in asdict(scheme).items() if name != "enforce"}
    return "\n".join(["verification:", *(f"  {name}: {json.dumps(value)}" for name, value in fields.items())])
