"""Collects mistakes, each once, so that one run can report them all."""

from __future__ import annotations

from collections import Counter
from itertools import groupby, islice
from typing import TYPE_CHECKING, Final, Protocol

from reconciler.mistake import Mistake, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MASK: Final = "\N{FULL BLOCK}"
"""What stands for each character of a secret."""

FILE_LIMIT: Final = 100
"""Mistakes of one file that are reported: a file that was generated wrongly has one on each line."""

_FILE_KEPT = 10 * FILE_LIMIT  # they are not found in the order of their places
_SHOWN = 60
_CONSIDERED = 400
_OFTEN = 0.4
_NAMES_SHOWN = 20
_COMPARED = 500


class Positioned(Protocol):
    """Whatever knows its beginning: a file, and line and column counted from 0."""

    @property
    def file(self) -> str: ...

    @property
    def line(self) -> int: ...

    @property
    def column(self) -> int: ...


def place(of: Positioned) -> Place:
    """Where a node begins, as people count."""
    return Place(of.file, of.line + 1, of.column + 1)


class Mistakes:
    """Mistakes and warnings. Of very many in one file, `found` has some; `count` counts all. `unread` are warnings too.

    `hidden` says that something could not be read, a file or a section, so that nothing follows from what is
    missing: a target may be declared in the file that could not be read. `secrets` are the texts that must not be
    shown, each with the name of the variable that holds it.
    """

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self.secrets = secrets or {}
        self.found: set[Mistake] = set()
        self.warnings: set[Mistake] = set()
        self.unread: set[Mistake] = set()
        self.hidden = False
        self._places: set[Place] = set()
        self._said: set[int] = set()
        self._in_file: Counter[str] = Counter()

    def add(self, at: Place, what: str, remedy: str, once: str | None = None) -> None:
        """Add a mistake, unless the same is known there: `once` is what it says there of whatever target."""
        said = hash((at.file, at.line, at.column, once or what))
        if said in self._said:
            return
        self._said.add(said)
        self._places.add(at)
        self._in_file[at.file] += 1
        if self._in_file[at.file] <= _FILE_KEPT:
            self.found.add(Mistake(at, what, remedy))

    def crowd(self, at: Place) -> bool:
        """Whether the file has so many mistakes that no advice on another one would be read."""
        return self._in_file[at.file] > FILE_LIMIT

    @property
    def count(self) -> int:
        return self._in_file.total()

    def first_of_each_file(self) -> list[Mistake]:
        """The mistakes, sorted by place: of each file the first, and how many more it has."""
        mistakes: list[Mistake] = []
        for file, of_file in groupby(sorted(self.found), lambda mistake: mistake.place.file):
            first = list(islice(of_file, FILE_LIMIT + 1))
            mistakes += first[:FILE_LIMIT]
            for rest in first[FILE_LIMIT:]:
                what = f"{self._in_file[file] - FILE_LIMIT} more mistakes not shown"
                mistakes.append(Mistake(rest.place, what, "fix the ones above first"))
        return mistakes

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
    """`text` for a message: quoted, escaped, cut; without what may be user info, a query of a URL or a secret."""
    if "@" in text:
        return "a value with an @"
    if _looks_random(text):
        return f"a value of {len(text)} characters that may be a secret"
    before, query, _ = text.partition("?")
    return repr(before + "?…" if query else before) if len(before) <= _SHOWN else f"{before[:_SHOWN]!r}…"


def _looks_random(text: str) -> bool:
    """Whether a word in it changes between capitals, small letters and digits as often as no name does."""
    import re  # noqa: PLC0415 - only a configuration with mistakes pays for it

    words = re.findall(r"[\w+/=-]{20,}", text[:_CONSIDERED])
    return any(len(re.findall("[a-z]+|[A-Z]+|[0-9]+", word)) >= len(word) * _OFTEN for word in words)


def listed(names: Iterable[str]) -> str:
    """Names for a message: sorted, with commas; of very many the first."""
    known = list(names)
    more = [f"and {len(known) - _NAMES_SHOWN} more"] if len(known) > _NAMES_SHOWN else []
    return ", ".join(sorted(known)[:_NAMES_SHOWN] + more) or "none"


def suggest(word: str, known: Iterable[str]) -> str:
    """A question naming what `word` was probably meant to be, or nothing."""
    return question(nearest(word, known))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """What `word` was probably meant to be."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a configuration with mistakes pays for it

    return next(iter(get_close_matches(word[:_SHOWN], islice(known, _COMPARED), n=1)), None)


def question(meant: str | None) -> str:
    """The question whether that was meant; nothing for None."""
    return "" if meant is None else f" (did you mean {meant!r}?)"
