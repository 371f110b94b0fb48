"""Commands that call the service directly: `reconciler token` and `reconciler lead`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.commands import command
from reconciler.cli.options import one_target_option
from reconciler.cli.progress import log_to
from reconciler.cli.terminal import mask
from reconciler.errors import Interrupted, Message, SettingsError
from reconciler.model.desired import API_NAMES
from reconciler.model.outcome import Outcome
from reconciler.operations.credentials import credentials_of
from reconciler.service.api import ServiceClient, lead_failure

if TYPE_CHECKING:
    from reconciler.cli.invocation import Invocation


@command("token", "reconciler token -t europe/staging", "reconciler token -t usa/production --api loan")
@one_target_option
@click.option(
    "--api",
    type=click.Choice(API_NAMES),
    default="notification",
    help="The API to call with the token.  [notification]",
)
def token(invocation: Invocation, target: str, api: str) -> None:
    """Print an access token for one of the six APIs. A valid token in the cache is used."""
    with _service(invocation, target) as service:
        text = service.token(api)
    mask([text])
    invocation.terminal.print_foreign(text.encode())


@command("create", "reconciler lead create -t europe/staging lead.json")
@one_target_option
@click.argument("file", type=click.Path(path_type=Path))
def create_lead(invocation: Invocation, target: str, file: Path) -> None:
    """Create a lead and print the answer.

    FILE holds the lead as JSON; use - for standard input. The lead is sent once and never retried: if the answer is
    lost, the error says so.
    """
    lead = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    try:
        is_object = isinstance(json.loads(lead), dict)
    except (ValueError, RecursionError):
        is_object = False
    if not is_object:
        raise SettingsError(Message("lead-not-json", "expected a JSON object", str(file)))
    sent = False

    def may_send() -> bool:
        nonlocal sent
        sent = True
        return True

    with _service(invocation, target) as service:
        try:
            answer = service.create_lead(lead, may_send)
        except Interrupted:
            if sent:
                invocation.terminal.complain(*lead_failure(Outcome.UNKNOWN, "interrupted", target).messages)
            raise
    invocation.terminal.work_is_done()
    if answer.warning:
        invocation.terminal.warn(Message("lead-answer-cut", answer.warning, target))
    invocation.terminal.print_foreign(answer.body)


def _service(invocation: Invocation, name: str) -> ServiceClient:

    log_to(invocation.terminal)
    project = invocation.project
    target = project.desired.target(name, f"-t {name}")
    credentials = credentials_of(target.name, project.sources)
    return ServiceClient(target, credentials, timeout=project.flags.timeout, cache_dir=project.cache_directory)
