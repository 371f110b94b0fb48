"""`reconciler verification`: one file for each of its commands."""

from __future__ import annotations

import click

from reconciler.cli.lazy import LazyGroup
from reconciler.cli.options import common_options

COMMANDS = {
    "infer": ("reconciler.cli.verification.infer", "Find out how a captured notification was signed."),
}


@click.group("verification", cls=LazyGroup, table=COMMANDS)
@common_options
def command() -> None:
    """Find out how notifications are signed.

    That is not documented, so `verification:` in config/ says it.
    """
