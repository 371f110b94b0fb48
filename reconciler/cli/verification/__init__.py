"""`reconciler verification`: one file for each of its commands."""

from __future__ import annotations

import click

from reconciler.cli.lazy import LazyGroup
from reconciler.cli.options import common_options

COMMANDS = {
    "infer": ("reconciler.cli.verification.infer", "Detect how a notification was signed."),
}


@click.group("verification", cls=LazyGroup, table=COMMANDS)
@common_options
def command() -> None:
    """Detect how notifications are signed.

    The service does not document this; it is configured under `verification:` in config/.
    """
