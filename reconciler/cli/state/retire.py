"""`reconciler state retire`"""

import click

from reconciler.cli.options import attempts_option, cli_command, known, within_option
from reconciler.cli.terminal.questions import ask
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.attempts import AttemptSelector
from reconciler.operations.removal import retirement
from reconciler.operations.removals import held_beside
from reconciler.operations.workspace import Workspace
from reconciler.reports.attempts import cancelled_line, preview_line
from reconciler.reports.letters import ALL_TO_KEEP, keeping_lines, removal_text


@cli_command("retire")
@click.argument("address", metavar="ADDRESS|PATTERN", shell_complete=known("pattern"))
@attempts_option
@click.option("--withdraw", is_flag=True, help="Cancel the removal request: the subscription stays.")
@within_option
def command(terminal: Terminal, address: str, attempts: tuple[str, ...], withdraw: bool, within: str | None) -> None:
    """Request the removal of a subscription.

    Records that the subscription is to be removed and prints the request to send to the operator. It keeps delivering
    until the operator deletes it. If config/ still defines it, `plan` replaces it and never restores it. A pattern
    selects live subscriptions only.
    """
    selector = AttemptSelector.of(address, attempts)
    workspace = Workspace(terminal, within)
    edit = retirement(workspace, selector, withdraw=withdraw)
    for chosen in edit.attempts:
        terminal.say_line(preview_line(chosen, "stays" if withdraw else "is to be removed"))
    if selector.is_pattern:
        ask("Cancel their removal?" if withdraw else "Request their removal?")
    for recorded in edit.record():
        if withdraw:
            terminal.print_lines(map(cancelled_line, recorded))
            kept = {attempt.id for attempt in recorded}
            requested = [attempt for attempt in edit.attempts if attempt.id in kept]
            terminal.print_lines(line for attempt in requested for line in keeping_lines(attempt, "  "))
            terminal.say(ALL_TO_KEEP)
            continue
        if not recorded:
            continue
        terminal.print_lines(removal_text(recorded, held_beside(workspace, recorded)))
        for retired in recorded:
            terminal.say(
                "To cancel the removal, run: reconciler state retire"
                f" {retired.address} --attempt {retired.id} --withdraw"
            )
