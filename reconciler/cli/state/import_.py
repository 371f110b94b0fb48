"""`reconciler state import`"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal, target_option
from reconciler.errors import Refused
from reconciler.model.entry import Imported
from reconciler.model.plan import Block
from reconciler.model.selection import Selection
from reconciler.model.url import normal_url
from reconciler.operations.edit import now_by, parse_address, record_entries
from reconciler.operations.known_results import with_known_results
from reconciler.operations.plan import with_neighbours
from reconciler.operations.workspace import Workspace, refuse_unmatched
from reconciler.planning.planner import plan_target
from reconciler.reports.text import Line
from reconciler.reports.visible import visible
from reconciler.reports.wording import how_to_settle_attempt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.address import Address, TargetName
    from reconciler.model.desired import Subscription
    from reconciler.model.record import Record


@click.command("import")
@click.argument("address", required=False)
@click.option("--all", "everything", is_flag=True, help="Everything that is desired and not recorded.")
@target_option
@common_options
@pass_terminal
def command(terminal: Terminal, address: str | None, everything: bool, targets: tuple[str, ...]) -> None:
    """Record what was created by hand before.

    ADDRESS is recorded as existing, as it is desired now; with --all, whatever is desired. What is recorded already,
    be it under another address, is skipped. Nothing is sent.
    """
    if (address is None) != everything or (targets and not everything):
        raise click.UsageError("name an ADDRESS, or give --all, with -t if need be")
    workspace = Workspace(terminal)
    wanted = _wanted(workspace, address, targets)
    if not wanted:
        terminal.print_lines([Line("Nothing is desired there.")])
    for target in sorted({one.address.target for one in wanted}):
        _import(terminal, workspace, target, [one for one in wanted if one.address.target == target])


def _wanted(workspace: Workspace, address: str | None, targets: tuple[str, ...]) -> list[Subscription]:
    """The desired subscriptions that are meant.

    Raises Refused for an address that is not desired, and SelectionError for patterns that match nothing.
    """
    subscriptions = workspace.desired.subscriptions
    if address is None:
        selection = Selection.of(targets)
        refuse_unmatched(selection, [*workspace.desired.targets], [*subscriptions])
        return [one for one in subscriptions.values() if selection.has(one.address)]
    wanted = parse_address(address, "name one that config/ declares; several are taken with --all -t PATTERN")
    if wanted not in subscriptions:
        raise Refused("it is not desired", where=wanted, remedy="declare it in config/ as it exists, then import it")
    return [subscriptions[wanted]]


def _import(terminal: Terminal, workspace: Workspace, target: TargetName, wanted: Iterable[Subscription]) -> None:
    """Record what is missing of `wanted`, all of it on one target, and say what was skipped."""
    lines: list[Line] = []

    def draft(recorded: Record) -> list[Imported]:
        lines.clear()
        record = with_known_results(workspace, recorded)
        hindered = _hindered(workspace, record)
        return [entry for one in wanted for entry in _draft(workspace, record, one, hindered, lines)]

    record_entries(workspace, target, draft, "imported")
    terminal.print_lines(lines)


def _hindered(workspace: Workspace, record: Record) -> Mapping[Address, tuple[str, ...]]:
    """Why what is desired on a target would not be created there, as a plan says it: it is, or may be, in force.

    What is recorded under another address is that subscription. Recorded once more, one of the two would be retired,
    and the operator asked to delete the only one there is.
    """
    records = with_neighbours(workspace, workspace.desired, {record.target: record}, workspace.store.targets())
    plan = plan_target(record.target, workspace.desired, records, Selection())
    blocked = (one for one in plan.changes if one.block in (Block.ELSEWHERE, Block.UNSETTLED))
    return {change.address: change.reasons for change in blocked}


def _draft(
    workspace: Workspace,
    record: Record,
    wanted: Subscription,
    hindered: Mapping[Address, tuple[str, ...]],
    lines: list[Line],
) -> list[Imported]:
    attempts = record.at_address(wanted.address)
    shown = visible(wanted.address)
    unsettled = [one for one in attempts if one.unsettled]
    if unsettled:
        settle = visible(how_to_settle_attempt(unsettled[0]))
        lines.append(Line(f"  {shown}: skipped: a create has an unknown outcome; {settle}"))
        return []
    url = normal_url(wanted.url)
    recorded = {code for one in attempts if normal_url(one.url) == url for code in one.codes}
    missing = tuple(code for code in wanted.codes if code not in recorded)
    if not missing:
        lines.append(Line(f"  {shown}: skipped: it is recorded"))
        return []
    if wanted.address in hindered:
        lines.extend(Line(f"  {shown}: skipped: {visible(why)}") for why in hindered[wanted.address])
        return []
    lines.append(Line(f"  {shown}: imported, {', '.join(missing)} to {visible(wanted.url)}"))
    at, by = now_by(workspace)
    return [
        Imported(at=at, by=by, attempt=uuid.uuid4().hex[:16], address=wanted.address, codes=missing, url=wanted.url)
    ]
