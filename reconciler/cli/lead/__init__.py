"""Work with leads."""

from reconciler.cli.lazy import LazyGroup

COMMANDS = {
    "create": "Create a lead and print the answer.",
}
command = LazyGroup("lead", help=__doc__, package=__name__, table=COMMANDS)
