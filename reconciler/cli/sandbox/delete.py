"""`reconciler sandbox delete`"""

import click

from reconciler.cli.options import cli_command
from reconciler.cli.terminal.terminal import Terminal
from reconciler.operations.sandbox_events import SANDBOX_URL, delete_subscription, existing_subscriptions
from reconciler.operations.workspace import Workspace


@cli_command("delete")
@click.argument("subscription", metavar="[ID]", required=False)
@click.option("--url", metavar="URL", help=f"URL of the sandbox.  [{SANDBOX_URL}]")
def command(terminal: Terminal, subscription: str | None, url: str | None) -> None:
    """Delete a subscription in a running sandbox.

    Does what the operator of the service does on request; the state record does not change. ID is a subscription id of
    the service, as `removals` shows it. Without ID, lists what exists in the sandbox.
    """
    workspace = Workspace(terminal)
    if subscription is not None:
        delete_subscription(workspace, url, subscription)
        terminal.work_is_done()
        terminal.print_line(f"Deleted {subscription}")
        return
    existing = existing_subscriptions(workspace, url)
    for one in existing:
        terminal.print_line(f"{one.subscription_id}  {one.target}  {', '.join(one.event_codes)}  {one.webhook_url}")
    if not existing:
        terminal.print_line("No subscription exists in the sandbox")
