"""`reconciler state removed`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options
from reconciler.cli.output import print_lines
from reconciler.cli.recording import attempt_option, now_by, parse_address, pick, record_entries
from reconciler.cli.workspace import Workspace
from reconciler.errors import Refused
from reconciler.model.entry import Removed
from reconciler.model.record import Status
from reconciler.reports.text import Line
from reconciler.reports.visible import visible

if TYPE_CHECKING:
    from reconciler.model.address import Address
    from reconciler.model.record import Attempt, Record


@click.command("removed")
@click.argument("address")
@attempt_option
@click.option("--force", is_flag=True, help="Also what is live and was never asked to be removed.")
@common_options
def command(address: str, attempt: str | None, force: bool) -> None:
    """Record that the operator has deleted it.

    What awaits removal at ADDRESS no longer delivers.
    """
    workspace = Workspace()
    wanted = parse_address(address)
    chosen: list[Attempt] = []

    def draft(record: Record) -> list[Removed]:
        one = _chosen(record.at_address(wanted), attempt, wanted, force)
        chosen[:] = [one]
        at, by = now_by(workspace)
        return [Removed(at=at, by=by, attempt=one.id, forced=force)]

    record_entries(workspace, wanted.target, draft, f"removed {wanted.name}")
    print_lines([Line(f"  {visible(one.address)}: attempt {one.id} is recorded as removed") for one in chosen])


def _chosen(attempts: list[Attempt], attempt: str | None, address: Address, force: bool) -> Attempt:
    """The attempt that is meant: one that awaits removal, or, forced, a live one."""
    awaiting = [one for one in attempts if one.status is Status.AWAITING_REMOVAL]
    named = [one for one in attempts if one.in_force and one.id == attempt]
    candidates = named or awaiting or [one for one in attempts if one.status is Status.LIVE]
    one = pick(candidates, attempt, address, "in force")
    if one.status is Status.LIVE and not force:
        raise Refused(
            f"attempt {one.id} is live, and nobody asked for its removal",
            where=address,
            remedy="if it is gone all the same, say so with --force; the next apply creates it again if it is desired",
        )
    return one
