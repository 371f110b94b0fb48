"""`reconciler validate`"""

from __future__ import annotations

import click

from reconciler.cli.options import common_options
from reconciler.cli.output import print_lines
from reconciler.cli.workspace import Workspace
from reconciler.reports.text import Line


@click.command("validate")
@common_options
def command() -> None:
    """Find every mistake in the configuration.

    Each is printed with its file, line and column, and with what to do about it. Needs no credentials, no state record
    and no network.
    """
    desired = Workspace().desired
    counts = f"{_count(len(desired.subscriptions), 'subscription')} on {_count(len(desired.targets), 'target')}"
    print_lines([Line(f"The configuration is valid: {counts}.")])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
