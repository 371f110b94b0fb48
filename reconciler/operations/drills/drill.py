"""What a drill is."""

from collections.abc import Callable

from msgspec import Struct

from reconciler.operations.drills.scene import Scene


def nothing_more(_: Scene) -> list[str]:
    """The check of a drill that has none of its own."""
    return []


class Drill(Struct, frozen=True):
    """A bad day: `set_up` plays it, and gives what the person is told; `check` finds what is wrong besides the usual.

    `commands` is how many commands of this program the recommended way takes.
    """

    name: str
    summary: str
    set_up: Callable[[Scene], str]
    commands: int
    check: Callable[[Scene], list[str]] = nothing_more
