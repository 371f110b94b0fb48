"""`reconciler state retire`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import attempt_option, common_options, pass_terminal
from reconciler.cli.terminal.questions import ask
from reconciler.model.entry import ASKED_FOR, Restored, Retired
from reconciler.model.record import Status
from reconciler.operations.edit import now_by
from reconciler.operations.scope import Scope, record_chosen
from reconciler.operations.workspace import Workspace
from reconciler.reports.mending import shown_line, withdrawn_line
from reconciler.reports.text import removal_text

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.record import Attempt, Record


@click.command("retire")
@click.argument("address", metavar="ADDRESS|PATTERN")
@attempt_option
@click.option("--withdraw", is_flag=True, help="It stays after all, and the request to the operator is withdrawn.")
@common_options
@pass_terminal
def command(terminal: Terminal, address: str, attempt: str | None, withdraw: bool) -> None:
    """Ask for the removal of what is in force.

    Records that it has to go, and prints the request to send to the operator. It delivers until the operator has
    deleted it. What is still wanted of it is then planned as a replacement: no plan restores it. A pattern means what
    is live.
    """
    workspace = Workspace(terminal)
    scope = Scope.of(address, attempt)
    narrow = _awaiting if withdraw else (_live if scope.is_pattern else _in_force)
    what = "that awaits removal" if withdraw else "in force"

    def choose(record: Record) -> list[Attempt]:
        return scope.pick(record, narrow, what)

    def draft(_record: Record, one: Attempt) -> list[Retired | Restored]:
        at, by = now_by(workspace)
        if withdraw:
            return [Restored(at=at, by=by, attempt=one.id)]
        asked_before = one.status is not Status.LIVE and one.on_purpose
        return [] if asked_before else [Retired(at=at, by=by, attempt=one.id, reason=ASKED_FOR)]

    chosen = scope.choose(workspace, choose, what)
    for one in (one for attempts in chosen.values() for one in attempts):
        terminal.say_line(shown_line(one, "stays" if withdraw else "is to be removed"))
    if scope.is_pattern:
        ask("Record that they stay?" if withdraw else "Ask for their removal?")
    note = f"{'withdrawn' if withdraw else 'retired'} {address}"
    for target, attempts in chosen.items():
        done = record_chosen(workspace, target, attempts, choose, draft, note)
        terminal.print_lines([withdrawn_line(one) for one in done] if withdraw else removal_text(done))
        for one in () if withdraw else done:
            terminal.say(
                f"If it is to stay after all: reconciler state retire {one.address} --attempt {one.id} --withdraw"
            )


def _live(attempts: list[Attempt]) -> list[Attempt]:
    return [one for one in attempts if one.status is Status.LIVE]


def _awaiting(attempts: list[Attempt]) -> list[Attempt]:
    return [one for one in attempts if one.status is Status.AWAITING_REMOVAL]


def _in_force(attempts: list[Attempt]) -> list[Attempt]:
    """What is live, or else what awaits removal, whose request is printed once more."""
    return _live(attempts) or _awaiting(attempts)
