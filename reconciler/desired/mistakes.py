"""Collects mistakes without repetition, so that one run can report them all."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby, islice
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from reconciler.errors import Message, Place, Step

if TYPE_CHECKING:
    from collections.abc import Iterable

MASK: Final = "\N{FULL BLOCK}"
"""The replacement for each character of a secret."""

FILE_LIMIT: Final = 100
"""The maximum number of mistakes reported for one file. An invalid generated file may have one on each line."""

_FILE_KEPT = 10 * FILE_LIMIT  # they are not found in order of place
_SHOWN = 60
_CONSIDERED = 400
_OFTEN = 0.4
_NAMES_SHOWN = 20
_COMPARED = 500


class Positioned(Struct, gc=False):
    """A part of a file: the file's name, and the line and column counted from 0."""

    file: str
    line: int
    column: int


def place(of: Positioned) -> Place:
    """Return the place where a part of a file begins. Lines and columns are counted from 1."""
    return Place(of.file, of.line + 1, of.column + 1)


def position(message: Message) -> tuple[Place, str]:
    """Return the sort key of a message; messages without a file come first."""
    return message.place or Place("", 0, 0), message.what


class Mistakes(Struct):
    """The mistakes found in the configuration.

    If a file has very many mistakes, `found` has only some of them, but `count` includes all. `unread` are warnings
    about files that are not read. `hidden` is true if a file or a section could not be read. Missing declarations are
    then not reported, because they may be in that file or section.
    """

    found: set[Message] = field(default_factory=set)
    warnings: set[Message] = field(default_factory=set)
    unread: set[Message] = field(default_factory=set)
    hidden: bool = False
    _places: set[Place] = field(default_factory=set)
    _known: set[tuple[Place, str]] = field(default_factory=set)
    _in_file: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, at: Place | Positioned, what: str, *remedy: str | Step, once: str = "") -> None:
        """Add a mistake, once for each place. `once` identifies the mistake if `what` differs between targets.

        A mistake whose message would show a masked secret is a consequence of the mask, and is left out.
        """
        at = at if isinstance(at, Place) else place(at)
        if MASK in what:
            self.hidden = True
            return
        if (key := (at, once or what)) in self._known:
            return
        self._known.add(key)
        self._places.add(at)
        self._in_file[at.file] += 1
        if self._in_file[at.file] <= _FILE_KEPT:
            self.found.add(_message(name, at, what, remedy))

    def add_first(self, name: str, at: Place | Positioned, what: str, *remedy: str | Step) -> None:
        """Add a mistake unless its place already has one. A value is checked once for each target that inherits it."""
        at = at if isinstance(at, Place) else place(at)
        if at not in self._places:
            self.add(name, at, what, *remedy)

    def hide(self, name: str, at: Place | Positioned, what: str, *remedy: str | Step) -> None:
        """Add a mistake that prevents a part of the configuration from being read."""
        self.add(name, at, what, *remedy)
        self.hidden = True

    def warn(self, name: str, at: Place | Positioned, what: str, remedy: str) -> None:
        """Add a warning."""
        self.warnings.add(_message(name, at if isinstance(at, Place) else place(at), what, (remedy,)))

    def nearest(self, word: str, known: Iterable[str], at: Positioned) -> str | None:
        """Return the known name that `word` was probably meant to be.

        Returns None if no name is similar, or if the file has too many mistakes.
        """
        from difflib import get_close_matches  # noqa: PLC0415 - only a configuration with mistakes pays for it

        candidates = [] if self._in_file[at.file] > FILE_LIMIT else islice(known, _COMPARED)
        return next(iter(get_close_matches(word[:_SHOWN], candidates, n=1)), None)

    @property
    def count(self) -> int:
        return self._in_file.total()

    def first_of_each_file(self) -> list[Message]:
        """Return the first mistakes of each file, sorted by place."""
        files = groupby(sorted(self.found, key=position), lambda mistake: position(mistake)[0].file)
        return [mistake for _, of_file in files for mistake in islice(of_file, FILE_LIMIT)]


def _message(name: str, at: Place, what: str, remedy: Iterable[str | Step]) -> Message:
    steps = tuple(step if isinstance(step, Step) else Step(step) for step in remedy)
    return Message(name, what, "", steps, at) if at.line else Message(name, what, at.file, steps)


def shown(text: str) -> str:
    """Return `text` as a message may show it: quoted, escaped, shortened, and without user info, query or secret."""
    if "@" in text:
        return "a value with an @"
    if _looks_random(text):
        return f"a value of {len(text)} characters that may be a secret"
    before, query, _ = text.partition("?")
    return repr(before + "?…" if query else before) if len(before) <= _SHOWN else f"{before[:_SHOWN]!r}…"


def _looks_random(text: str) -> bool:
    """True if a word switches between capitals, lower-case letters and digits more often than names do."""
    words = re.findall(r"[\w+/=-]{20,}", text[:_CONSIDERED])
    return any(len(re.findall("[a-z]+|[A-Z]+|[0-9]+", word)) >= len(word) * _OFTEN for word in words)


def listed(names: Iterable[str]) -> str:
    """Return names for a message: sorted, separated by commas, and shortened if there are many."""
    known = sorted(names)
    more = [f"and {len(known) - _NAMES_SHOWN} more"] if len(known) > _NAMES_SHOWN else []
    return ", ".join(known[:_NAMES_SHOWN] + more) or "none"


def question(meant: str | None) -> str:
    """Return the question "did you mean …?", or "" if `meant` is None."""
    return "" if meant is None else f" (did you mean {meant!r}?)"
