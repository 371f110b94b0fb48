"""Show or set the secret of a subscription.

The service signs its notifications with this secret.
"""

from reconciler.cli.lazy import LazyGroup

COMMANDS = {
    "show": "Print the secret, or the create response that may contain it.",
    "set": "Store a secret obtained outside of the create response.",
    "reseal": "Encrypt recorded responses and secrets to other age keys as well.",
}
command = LazyGroup("secret", help=__doc__, package=__name__, table=COMMANDS)
