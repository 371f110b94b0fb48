"""`reconciler state init`"""

import click

from reconciler.cli.options import cli_command, target_option, within_option
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.init import Initialized, initialize
from reconciler.operations.workspace import Workspace
from reconciler.planning.reasons import rebind_to_service


@cli_command("init")
@target_option
@click.option("--force", is_flag=True, help="Initialize even on a CI runner's disk, or if a record existed before.")
@within_option
def command(terminal: Terminal, targets: tuple[str, ...], force: bool, within: str | None) -> None:
    """Initialize the state record.

    Creates an empty journal for each selected target that has none. An empty journal means that nothing exists at the
    service; if subscriptions were created manually, import them with `state import`.
    """
    any_new = False
    for initialized in initialize(Workspace(terminal, within), targets, force=force):
        any_new = any_new or initialized.new
        _show(terminal, initialized)
    if any_new:
        terminal.say(
            "If subscriptions were created manually, import them before the first apply, or it creates them again; run:"
            " reconciler state import --all"
        )
        terminal.say(
            "If one of these had a record before (another machine, CI), do not apply: restore it, or import all that"
            " exists first; an apply creates again whatever is not recorded."
        )


def _show(terminal: Terminal, initialized: Initialized) -> None:
    shown = initialized.target
    if not initialized.new:
        terminal.print_line(f"  {shown}: already initialized")
        if other := initialized.other_service:
            terminal.warn(
                f"{shown}: the record belongs to the service at {other}, but the current settings use"
                f" {initialized.base_url}; {rebind_to_service(shown, other, initialized.base_url)}"
            )
        return
    terminal.print_line(f"  {shown}: initialized for the service at {initialized.base_url}")
    for seen in initialized.lost:
        terminal.say(
            f"{initialized.target}: accepted the loss of the record with {seen.length}; its subscriptions may be"
            " created again"
        )
