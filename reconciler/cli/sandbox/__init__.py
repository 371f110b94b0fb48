"""`reconciler sandbox`: one file for each of its commands."""

from __future__ import annotations

import click

from reconciler.cli.lazy import LazyGroup
from reconciler.cli.options import common_options

COMMANDS = {
    "serve": ("reconciler.cli.sandbox.serve", "Run the sandbox until interrupted."),
    "trigger": ("reconciler.cli.sandbox.trigger", "Trigger an event in a running sandbox."),
}


@click.group("sandbox", cls=LazyGroup, table=COMMANDS)
@common_options
def command() -> None:
    """Run a local sandbox of the service."""
