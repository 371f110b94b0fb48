"""Inspect and repair the state record.

The service cannot list its subscriptions, so the state record is the only source of truth. No command here simply
forgets a subscription.
"""

from reconciler.cli.lazy import LazyGroup

COMMANDS = {
    "init": "Initialize the state record.",
    "list": "List recorded subscriptions.",
    "show": "Show every detail of one subscription.",
    "history": "Show the log of changes.",
    "verify": "Verify the integrity of the state record.",
    "observe": "Record received notifications as evidence.",
    "import": "Import subscriptions that were created manually.",
    "resolve": "Resolve an unknown outcome.",
    "recover": "Recover unsaved results or another copy of the record.",
    "retire": "Request the removal of a subscription.",
    "removed": "Record that the operator has deleted a subscription.",
    "mv": "Rename a subscription (no call).",
    "copy": "Copy the record to another store.",
    "rebind": "Point the record at the service and account in the current settings.",
    "accept-rollback": "Accept a rolled back or lost record.",
}
command = LazyGroup("state", help=__doc__, package=__name__, table=COMMANDS)
