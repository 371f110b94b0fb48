"""Suggestions for a name that does not exist: the known names that are most like it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LIKE = 0.6  # of 1: two letters exchanged, or one of four wrong
_MOST = 3


def suggestion(names: Iterable[str], known: Iterable[str], before: str = "") -> str:
    """The known names that are most like the unknown ones, as a question in parentheses; empty if none is like them.

    Names of several segments are alike if each segment is: addresses of one target all begin alike. `before` is put
    before each.
    """
    candidates = sorted(set(known))
    meant = [f"{before}{name}" for unknown in names for name in _alike(unknown, candidates)]
    return f" (did you mean {' or '.join(meant[:_MOST])}?)" if meant else ""


def _alike(unknown: str, known: Iterable[str]) -> list[str]:
    segments = unknown.split("/")
    scores = {name: _likeness(segments, name.split("/")) for name in known}
    return sorted((name for name, score in scores.items() if score >= _LIKE), key=lambda name: -scores[name])[:_MOST]


def _likeness(ours: list[str], theirs: list[str]) -> float:
    from difflib import SequenceMatcher  # noqa: PLC0415 - needed only to explain an error

    if len(ours) != len(theirs):
        return 0.0
    return min(1.0 if a == b else SequenceMatcher(None, a, b).ratio() for a, b in zip(ours, theirs, strict=True))
