"""`reconciler sandbox`: one file for each of its commands."""

from __future__ import annotations

import click

from reconciler.cli.lazy import LazyGroup
from reconciler.cli.options import common_options

COMMANDS = {
    "serve": ("reconciler.cli.sandbox.serve", "Serve until interrupted."),
    "trigger": ("reconciler.cli.sandbox.trigger", "Make an event happen in a sandbox that serves."),
}


@click.group("sandbox", cls=LazyGroup, table=COMMANDS)
@common_options
def command() -> None:
    """Play the service itself, on loopback."""
