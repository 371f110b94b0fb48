"""What a drill is."""

import shlex
from collections.abc import Callable

from msgspec import Struct

from reconciler.operations.drills.commands import may_change
from reconciler.operations.drills.finding import Finding, Section
from reconciler.operations.drills.scene import Scene


def nothing_more(_: Scene) -> list[Finding]:
    """The check of a drill that has none of its own."""
    return []


class Drill(Struct, frozen=True):
    """A bad day: `set_up` plays it, and gives what the person is told; `check` finds what is wrong besides the usual.

    `besides` is a clause that tells the person what `check` wants. `way` is what a person types who follows the
    `section`, line by line; words in capitals stand for what differs.
    """

    name: str
    summary: str
    section: Section
    set_up: Callable[[Scene], str]
    way: tuple[str, ...]
    check: Callable[[Scene], list[Finding]] = nothing_more
    besides: str = ""

    @property
    def enough(self) -> int:
        """How many commands of the `way` change something."""
        commands = (line.rpartition("reconciler ") for line in self.way if not line.startswith("#"))
        return sum(may_change(shlex.split(arguments)) for _, name, arguments in commands if name)
