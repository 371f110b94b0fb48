"""Where mistakes are gathered: each once, so that one run can report them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from reconciler.errors import Mistake, Place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from yaml.error import Mark

_SHOWN = 60


class Marked(Protocol):
    """Whatever YAML's parser marked with its beginning; the mark knows its file."""

    @property
    def start_mark(self) -> object: ...


def place(of: Marked) -> Place:
    """Where a node begins."""
    mark = cast("Mark", of.start_mark)
    return Place(mark.name, mark.line + 1, mark.column + 1)


class Mistakes:
    """What was found wrong, and what is doubtful.

    `hidden` says that something could not be read, a file or a section, so that nothing may be concluded from what
    is absent: a target may well be declared in the file that could not be read.
    """

    def __init__(self) -> None:
        self.found: set[Mistake] = set()
        self.warnings: set[Mistake] = set()
        self.hidden = False
        self._places: set[Place] = set()

    def add(self, at: Place, what: str, remedy: str) -> None:
        self.found.add(Mistake(at, what, remedy))
        self._places.add(at)

    def add_first(self, at: Place, what: str, remedy: str) -> None:
        """Add it unless a mistake is known there: one value is judged again for each target that it is merged into."""
        if at not in self._places:
            self.add(at, what, remedy)

    def hide(self, at: Place, what: str, remedy: str) -> None:
        """Add a mistake that keeps a part of the configuration from being read."""
        self.add(at, what, remedy)
        self.hidden = True

    def warn(self, at: Place, what: str, remedy: str) -> None:
        self.warnings.add(Mistake(at, what, remedy))


def shown(text: str) -> str:
    """`text` for a message: quoted, escaped, cut; without what may be user info or a query of a URL."""
    if "@" in text:
        return "a value with an @"
    before, query, _ = text.partition("?")
    return repr(before + "?…" if query else before) if len(before) <= _SHOWN else f"{before[:_SHOWN]!r}…"


def listed(names: Iterable[str]) -> str:
    """Names for a message: sorted, with commas."""
    return ", ".join(sorted(names)) or "none"


def suggest(word: str, known: Iterable[str]) -> str:
    """A question naming what `word` was probably meant to be, or nothing."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a configuration with mistakes pays for it

    near = get_close_matches(word[:_SHOWN], list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
