"""`reconciler state retire`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options
from reconciler.cli.output import print_lines
from reconciler.cli.recording import attempt_option, now_by, parse_address, pick, record_entries
from reconciler.cli.workspace import Workspace
from reconciler.model.entry import ASKED_FOR, Retired
from reconciler.model.record import Status
from reconciler.reports.text import removal_text

if TYPE_CHECKING:
    from reconciler.model.record import Record


@click.command("retire")
@click.argument("address")
@attempt_option
@common_options
def command(address: str, attempt: str | None) -> None:
    """Ask for the removal of what is in force.

    Records that it has to go, and prints the request to send to the operator. It delivers until the operator has
    deleted it. What is still wanted of it is then planned as a replacement.
    """
    workspace = Workspace()
    wanted = parse_address(address)
    chosen: list[str] = []

    def draft(record: Record) -> list[Retired]:
        attempts = [one for one in record.at_address(wanted) if one.in_force]
        live = [one for one in attempts if one.status is Status.LIVE]
        one = pick(live or attempts, attempt, wanted, "in force")
        chosen[:] = [one.id]
        at, by = now_by(workspace)
        return [Retired(at=at, by=by, attempt=one.id, reason=ASKED_FOR)] if one.status is Status.LIVE else []

    record = record_entries(workspace, wanted.target, draft, f"retired {wanted.name}")
    print_lines(removal_text([record.attempts[one] for one in chosen]))
