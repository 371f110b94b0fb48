"""`reconciler state`: one file for each of its commands."""

from __future__ import annotations

import click

from reconciler.cli.lazy import LazyGroup
from reconciler.cli.options import common_options

COMMANDS = {
    "init": ("reconciler.cli.state.init", "Initialize the state record."),
    "list": ("reconciler.cli.state.list", "List recorded subscriptions."),
    "show": ("reconciler.cli.state.show", "Show every detail of one subscription."),
    "history": ("reconciler.cli.state.history", "Show the log of changes."),
    "verify": ("reconciler.cli.state.verify", "Verify the integrity of the state record."),
    "observe": ("reconciler.cli.state.observe", "Record received notifications as evidence."),
    "import": ("reconciler.cli.state.import_", "Import subscriptions that were created manually."),
    "resolve": ("reconciler.cli.state.resolve", "Resolve an unknown outcome."),
    "recover": ("reconciler.cli.state.recover", "Recover unsaved results or another copy of the record."),
    "retire": ("reconciler.cli.state.retire", "Request the removal of a subscription."),
    "removed": ("reconciler.cli.state.removed", "Record that the operator has deleted a subscription."),
    "mv": ("reconciler.cli.state.mv", "Rename a subscription (no call)."),
    "rebind": (
        "reconciler.cli.state.rebind",
        "Point the record at the service and account in the current settings.",
    ),
    "accept-rollback": ("reconciler.cli.state.accept_rollback", "Accept a rolled back or lost record."),
}


@click.group("state", cls=LazyGroup, table=COMMANDS)
@common_options
def command() -> None:
    """Inspect and repair the state record.

    The service cannot list its subscriptions, so the state record is the only source of truth. No command here simply
    forgets a subscription.
    """
