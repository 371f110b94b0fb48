"""Run a local sandbox of the service."""

from reconciler.cli.lazy import LazyGroup

COMMANDS = {
    "serve": "Run the sandbox until interrupted.",
    "delete": "Delete a subscription in a running sandbox.",
    "trigger": "Trigger an event in a running sandbox.",
}
command = LazyGroup("sandbox", help=__doc__, package=__name__, table=COMMANDS)
