"""`reconciler lead`: one file for each of its commands."""

from __future__ import annotations

import click

from reconciler.cli.lazy import LazyGroup
from reconciler.cli.options import common_options

COMMANDS = {"create": ("reconciler.cli.lead.create", "Create a lead and print the answer.")}


@click.group("lead", cls=LazyGroup, table=COMMANDS)
@common_options
def command() -> None:
    """Work with leads."""
