"""Run a local sandbox of the service.

You are its operator: you see what exists, whatever was answered, and delete it by its subscriptionId:

\b
    curl -s "$RECONCILER_SANDBOX_URL/_sandbox/state"
    curl -s "$RECONCILER_SANDBOX_URL/_sandbox/remove" \\
      -H 'Content-Type: application/json' -d '{"subscriptionId": "ID"}'
"""

from reconciler.cli.lazy import LazyGroup

COMMANDS = {
    "serve": "Run the sandbox until interrupted.",
    "delete": "Delete a subscription in a running sandbox.",
    "trigger": "Trigger an event in a running sandbox.",
}
command = LazyGroup("sandbox", help=__doc__, package=__name__, table=COMMANDS)
