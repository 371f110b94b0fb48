"""`reconciler state removed`"""

import click

from reconciler.cli.options import attempts_option, cli_command, known, target_option, within_option
from reconciler.cli.terminal.commands import say_commands
from reconciler.cli.terminal.questions import ask
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.attempts import AttemptSelector
from reconciler.operations.removal import WaysBack, removal, ways_back
from reconciler.operations.workspace import Workspace
from reconciler.reports.attempts import preview_line
from reconciler.reports.line import Line


@cli_command("removed")
@click.argument("address", metavar="ADDRESS|PATTERN", required=False, shell_complete=known("pattern"))
@target_option
@attempts_option
@click.option("--force", is_flag=True, help="Also record a live subscription whose removal was not requested.")
@within_option
def command(
    terminal: Terminal,
    address: str | None,
    targets: tuple[str, ...],
    attempts: tuple[str, ...],
    force: bool,
    within: str | None,
) -> None:
    """Record that the operator has deleted a subscription.

    Records that the subscriptions awaiting removal at ADDRESS no longer exist. A pattern selects only those awaiting
    removal, never live ones. `removals` prints the command for all that one message to the operator asked for.
    """
    if (address is None) == (not targets):
        raise click.UsageError("expected either ADDRESS|PATTERN or -t PATTERN")
    selector = AttemptSelector.of(address, attempts) if address else AttemptSelector.of_targets(targets, attempts)
    workspace = Workspace(terminal, within)
    edit = removal(workspace, selector, force=force)
    for chosen in edit.attempts:
        terminal.say_line(preview_line(chosen, "was deleted"))
    if selector.is_pattern:
        ask("Has the operator deleted all of them?")
    gone = []
    for recorded in edit.record():
        terminal.print_lines(
            Line(f"  {removed.address}: attempt {removed.id} is recorded as removed") for removed in recorded
        )
        gone += recorded
    _name_the_way_back(terminal, ways_back(workspace, gone))
    terminal.say("To see what the next apply does, run: reconciler plan")


def _name_the_way_back(terminal: Terminal, back: WaysBack) -> None:
    """What to run before the next apply creates what exists after all, or leaves it to deliver unseen."""
    say_commands(
        terminal.say,
        [f"reconciler state import {address}" for address in back.as_defined],
        "If it turns out to exist, then before the next apply creates it again,",
        "If one of them turns out to exist, then run its command before the next apply creates it again:",
    )
    say_commands(
        terminal.say,
        [f"reconciler state import {address}" for address in back.once_defined],
        "If it turns out to exist, define it in config/ exactly as it exists; then, before any apply,",
        "If one of them turns out to exist, define it in config/ exactly as it exists; then, before any apply, run its"
        " command:",
    )
    if back.once_defined:
        terminal.say("Put config/ back after that, and apply: this requests the removal of what was imported.")
