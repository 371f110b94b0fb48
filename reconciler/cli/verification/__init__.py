"""Detect how notifications are signed.

The service does not document this; it is configured under `verification:` in config/.
"""

from reconciler.cli.lazy import LazyGroup

COMMANDS = {
    "infer": "Detect how a notification was signed.",
}
command = LazyGroup("verification", help=__doc__, package=__name__, table=COMMANDS)
