"""`reconciler state removed`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import attempt_option, common_options, pass_terminal
from reconciler.cli.terminal.questions import ask
from reconciler.operations.attempts import AttemptSelector
from reconciler.operations.removed import removal
from reconciler.operations.workspace import Workspace
from reconciler.reports.attempts import preview_line
from reconciler.reports.line import Line
from reconciler.reports.visible import visible

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal


@click.command("removed")
@click.argument("address", metavar="ADDRESS|PATTERN")
@attempt_option
@click.option("--force", is_flag=True, help="Also record a live subscription whose removal was not requested.")
@common_options
@pass_terminal
def command(terminal: Terminal, address: str, attempt: str | None, force: bool) -> None:
    """Record that the operator has deleted a subscription.

    Records that the subscriptions awaiting removal at ADDRESS no longer exist. A pattern selects only those awaiting
    removal, never live ones.
    """
    selector = AttemptSelector.of(address, attempt)
    edit = removal(Workspace(terminal), selector, force=force)
    for chosen in edit.attempts:
        terminal.say_line(preview_line(chosen, "was deleted"))
    if selector.is_pattern:
        ask("Has the operator deleted all of them?")
    for recorded in edit.record():
        terminal.print_lines(
            Line(f"  {visible(removed.address)}: attempt {removed.id} is recorded as removed") for removed in recorded
        )
