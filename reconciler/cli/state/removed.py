"""`reconciler state removed`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import attempt_option, common_options, pass_terminal
from reconciler.cli.terminal.questions import ask
from reconciler.errors import Refused
from reconciler.model.entry import Removed
from reconciler.model.record import Status
from reconciler.operations.edit import now_by
from reconciler.operations.scope import Scope, record_chosen
from reconciler.operations.workspace import Workspace
from reconciler.reports.mending import shown_line
from reconciler.reports.text import Line
from reconciler.reports.visible import visible

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.record import Attempt, Record


@click.command("removed")
@click.argument("address", metavar="ADDRESS|PATTERN")
@attempt_option
@click.option("--force", is_flag=True, help="Also what is live and was never asked to be removed.")
@common_options
@pass_terminal
def command(terminal: Terminal, address: str, attempt: str | None, force: bool) -> None:
    """Record that the operator has deleted it.

    What awaits removal at ADDRESS no longer delivers. A pattern means what awaits removal, and never what is live.
    """
    workspace = Workspace(terminal)
    scope = Scope.of(address, attempt)
    if scope.is_pattern and force:
        raise Refused("--force is for one address", where=address, remedy="name the address whose subscription is gone")

    def choose(record: Record) -> list[Attempt]:
        chosen = scope.pick(record, _awaiting if scope.is_pattern else _meant, "in force")
        _refuse_live(chosen, force)
        return chosen

    def draft(_record: Record, one: Attempt) -> list[Removed]:
        at, by = now_by(workspace)
        return [Removed(at=at, by=by, attempt=one.id, forced=one.status is Status.LIVE)]

    chosen = scope.choose(workspace, choose, "that awaits removal" if scope.is_pattern else "in force")
    for one in (one for attempts in chosen.values() for one in attempts):
        terminal.say_line(shown_line(one, "is gone"))
    if scope.is_pattern:
        ask("Has the operator deleted all of them?")
    for target, attempts in chosen.items():
        done = record_chosen(workspace, target, attempts, choose, draft, f"removed {address}")
        terminal.print_lines(
            [Line(f"  {visible(one.address)}: attempt {one.id} is recorded as removed") for one in done]
        )


def _awaiting(attempts: list[Attempt]) -> list[Attempt]:
    return [one for one in attempts if one.status is Status.AWAITING_REMOVAL]


def _meant(attempts: list[Attempt]) -> list[Attempt]:
    """What awaits removal, or else what is live, which is refused unless it is forced."""
    return _awaiting(attempts) or [one for one in attempts if one.status is Status.LIVE]


def _refuse_live(attempts: list[Attempt], force: bool) -> None:
    """Raises Refused for what is live, unless forced."""
    for one in attempts:
        if one.status is Status.LIVE and not force:
            raise Refused(
                f"attempt {one.id} is live, and nobody asked for its removal",
                where=one.address,
                remedy="if it is gone all the same, repeat with --force;"
                " the next apply creates it again if config/ still declares it",
            )
