"""`reconciler state`: one file for each of its commands."""

from __future__ import annotations

import click

from reconciler.cli.lazy import LazyGroup
from reconciler.cli.options import common_options

COMMANDS = {
    "init": ("reconciler.cli.state.init", "Start a journal where there is none."),
    "list": ("reconciler.cli.state.list", "List what is known to exist."),
    "show": ("reconciler.cli.state.show", "Show one subscription whole."),
    "history": ("reconciler.cli.state.history", "Show who did what, and when."),
    "verify": ("reconciler.cli.state.verify", "Check that every journal holds together."),
    "observe": ("reconciler.cli.state.observe", "Note notifications that arrived, as evidence."),
    "import": ("reconciler.cli.state.import_", "Record what was created by hand before."),
    "resolve": ("reconciler.cli.state.resolve", "Settle an unknown outcome."),
    "recover": (
        "reconciler.cli.state.recover",
        "Add kept outcomes, or another history of the record.",
    ),
    "retire": ("reconciler.cli.state.retire", "Ask for the removal of what is in force."),
    "removed": ("reconciler.cli.state.removed", "Record that the operator has deleted it."),
    "mv": ("reconciler.cli.state.mv", "Rename a subscription without a create."),
    "rebind": ("reconciler.cli.state.rebind", "Bind a record to another service or account."),
    "accept-rollback": (
        "reconciler.cli.state.accept_rollback",
        "Accept that a record lost entries, or is gone.",
    ),
}


@click.group("state", cls=LazyGroup, table=COMMANDS)
@common_options
def command() -> None:
    """Read and mend the state record.

    The service cannot be asked what exists: the record is the only truth there is. Nothing here merely forgets.
    """
