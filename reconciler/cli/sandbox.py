"""The commands of `reconciler sandbox`, which run a local stand-in for the service, and act as its operator."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.commands import command
from reconciler.desired import load_sound
from reconciler.operations.sandbox import delete_subscription, list_subscriptions, sandbox_served, trigger_event
from reconciler.reports.document import Document, Table
from reconciler.reports.words import counted
from reconciler.sandbox.layout import DOCUMENTED_TARGETS

if TYPE_CHECKING:
    from reconciler.cli.invocation import Invocation

_url_option = click.option("--url", metavar="URL", default="", help="URL of the sandbox.  [RECONCILER_SANDBOX_URL]")


@command(
    "serve",
    "reconciler sandbox serve --data sandbox --env-file .env",
    "reconciler sandbox serve --fault reset-after=0.1 --seed 7",
)
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="Port; 0 picks a free one.  [0]")
@click.option("--data", metavar="DIR", type=click.Path(path_type=Path), help="Keep all data in DIR, across restarts.")
@click.option("--env-file", metavar="FILE", type=click.Path(path_type=Path), help="Also write the variables to FILE.")
@click.option(
    "--retry-interval", metavar="SECONDS", type=float, default=15.0, help="Time between delivery attempts.  [15]"
)
@click.option("--fault", "faults", metavar="NAME=PROBABILITY", multiple=True, help="A fault to inject. Repeatable.")
@click.option("--seed", metavar="N", type=int, help="Repeat the faults of an earlier run.")
def serve(
    invocation: Invocation,
    port: int,
    data: Path | None,
    env_file: Path | None,
    retry_interval: float,
    faults: tuple[str, ...],
    seed: int | None,
) -> None:
    """Run the sandbox until interrupted, with the targets of config/ if it exists.

    Once the sandbox is ready, prints the variables that point reconciler at it, as NAME=value lines.

    \b
    Faults, each with a probability from 0 to 1:
      reset-before, hang                not processed, no answer
      reset-after, hang-after, half     processed, the answer is lost or cut off
      late                              processed 2 s later, no answer
      drip, huge, empty                 processed; 1 byte/s, 32 MiB, no content
      html                              processed, 502 and an HTML page
      500-after, 502-after              processed, this status
      400 401 403 404 408 409 422 429   not processed, this status
      499 500 503                       the same
      401-once                          the token is revoked, another is needed
      429-retry-after, 429-forever      429 with Retry-After of 1 s, of 3 years
      html-200, redirect, redirect-303  not processed; a proxy answers instead
      token-NAME, lead-NAME             fault NAME for token or lead requests
                                        (any except late and 401-once)
    """
    project = invocation.project
    desired, _ = load_sound(project.config)  # an earlier sandbox's addresses in the settings do not matter
    targets = tuple(map(str, desired.targets)) or DOCUMENTED_TARGETS
    with sandbox_served(port, targets, data, env_file, retry_interval, faults, seed) as sandbox:
        invocation.terminal.print("\n".join(f"{name}={value}" for name, value in sandbox.variables()))
        invocation.serves = True
        invocation.terminal.note(f"Serving at {sandbox.url}. Press Ctrl-C to stop, or run: kill {os.getpid()}")
        while True:
            time.sleep(3600)


@command("trigger", "reconciler sandbox trigger ONB10011 -t europe/staging")
@click.argument("code")
@click.option("--properties", metavar="FILE", type=click.Path(path_type=Path), help="The EventProperties, as JSON.")
@click.option("--count", metavar="N", type=click.IntRange(1, 10_000), default=1, help="Number of events.  [1]")
@click.option("-t", "--target", metavar="TARGET", help="Trigger the event only on this target.")
@_url_option
def trigger(
    invocation: Invocation, code: str, properties: Path | None, count: int, target: str | None, url: str
) -> None:
    """Trigger an event: each subscription with this code gets a notification."""
    given = None
    if properties is not None:
        given = sys.stdin.buffer.read() if str(properties) == "-" else properties.read_bytes()
    started = trigger_event(_url(invocation, url), code, given, count, target)
    invocation.terminal.print(f"{counted(started, 'delivery', 'deliveries')} started")


@command("list", "reconciler sandbox list")
@_url_option
def list_(invocation: Invocation, url: str) -> None:
    """List the subscriptions in the sandbox, as the operator sees them."""
    rows = sorted(
        (known["target"], known["subscriptionId"], ", ".join(known["eventCodes"]), known["webhookUrl"])
        for known in list_subscriptions(_url(invocation, url))
    )
    table = Table(("target", "id", "codes", "URL"), tuple(rows))
    verdict = f"{counted(len(rows), 'subscription')} in the sandbox."
    invocation.terminal.show(Document("sandbox", verdict, body=(table,) if rows else ()))


@command("delete", "reconciler sandbox delete 5f0c8f5e-9a1d-4b7c-8e2f-3a4b5c6d7e8f")
@click.argument("subscription", metavar="ID")
@_url_option
def delete(invocation: Invocation, subscription: str, url: str) -> None:
    """Delete a subscription, as the service's operator does on request. The record does not change."""
    delete_subscription(_url(invocation, url), subscription)
    invocation.terminal.print(f"Deleted {subscription}")


def _url(invocation: Invocation, url: str) -> str:
    return url or invocation.project.sources.get("RECONCILER_SANDBOX_URL") or ""
