"""`reconciler state rebind`"""

import click

from reconciler.cli.options import cli_command, target_option, within_option
from reconciler.cli.terminal.questions import confirm
from reconciler.cli.terminal.terminal import Terminal
from reconciler.model.account import short_account
from reconciler.operations.rebind import rebind, rebindings
from reconciler.operations.workspace import Workspace


@cli_command("rebind")
@target_option
@click.option("--force", is_flag=True, help="Skip the confirmation.")
@within_option
def command(terminal: Terminal, targets: tuple[str, ...], force: bool, within: str | None) -> None:
    """Point the record at the service and account in the current settings.

    Use this only if the service moved to another URL or the operator issued a new client id: first check that the
    settings are not those of another environment. The recorded subscriptions must exist there; reconciler cannot check
    this. An account is shown as the hash of its client id.
    """
    workspace = Workspace(terminal, within)
    changes = rebindings(workspace, targets)
    if not changes:
        terminal.print_line(
            "Nothing to change: every record belongs to the service and account in the current settings."
        )
        return
    for change in changes:
        if change.changes_service:
            terminal.say(f"  {change.target}: service: {change.recorded_url} -> {change.base_url}")
        if change.changes_account:
            here, there = short_account(change.recorded_account), short_account(change.account)
            variable = f"{change.target.variable_prefix}CLIENT_ID"
            terminal.say(f"  {change.target}: account: {here} -> {there}, that of {variable}")
    confirm(force, "Rebind these records?")
    for change in changes:
        rebind(workspace, change.target, force=force)
        terminal.print_line(f"  {change.target}: rebound")
