"""`reconciler state show`"""

from __future__ import annotations

import click

from reconciler.cli.options import common_options
from reconciler.cli.output import print_lines
from reconciler.cli.recording import parse_address
from reconciler.cli.workspace import Workspace
from reconciler.errors import Refused
from reconciler.reports.text import attempt_text


@click.command("show")
@click.argument("address")
@common_options
def command(address: str) -> None:
    """Show one subscription whole.

    Every attempt of ADDRESS, those that came to nothing too.
    """
    workspace = Workspace()
    wanted = parse_address(address)
    record = workspace.read(wanted.target).record()
    attempts = [one for one in record.attempts.values() if one.address == wanted]
    if not attempts:
        raise Refused("nothing is recorded of it", where=wanted, remedy="see: reconciler state list")
    print_lines(attempt_text(attempts))
