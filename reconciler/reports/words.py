"""Formats plurals, lists and durations for every report, and escapes text from other systems."""

from __future__ import annotations

import shlex
from datetime import datetime
from typing import TYPE_CHECKING

from reconciler.model.plan import Action
from reconciler.model.record import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


SIGNS = dict(zip(Action, "+~±↺-»!", strict=True))
"""The sign of each action, in the order of `Action`."""

STATUS = {
    Status.PENDING: "may be in flight",
    Status.UNKNOWN: "outcome unknown",
    Status.LIVE: "live",
    Status.AWAITING_REMOVAL: "awaiting removal",
    Status.GONE: "gone",
}

_UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60))


def capital(text: str) -> str:
    """Return a sentence with its first letter capitalised."""
    return text[:1].upper() + text[1:]


def counted(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun: "1 code", "3 codes"."""
    return f"{number} {singular if number == 1 else plural or f'{singular}s'}"


def listed(items: Iterable[str], limit: int = 0) -> str:
    """Return items as a list in a sentence: "a", "a and b", "a, b and c". Items beyond `limit` become "4 more"."""
    words = list(items)
    if limit and len(words) > limit + 1:
        words = [*words[:limit], f"{len(words) - limit} more"]
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def ago(at: str, now: float) -> str:
    """Return a timestamp from the record, followed by its age. `now` is in epoch seconds."""
    try:
        seconds = now - datetime.fromisoformat(at).timestamp()
    except ValueError:
        return at
    if seconds < 0:
        return f"{at} (in the future, according to this machine's clock)"
    return f"{at} ({_distance(seconds) or 'less than a minute'} ago)"


def _distance(seconds: float) -> str:
    for name, length in _UNITS:
        if seconds >= length:
            return counted(int(seconds // length), name)
    return ""


def visible(text: str) -> str:
    """Return `text` with escapes for all characters that could move the cursor, start a line or reverse the text.

    `##[` is escaped too: a GitHub Actions runner reads it, anywhere in a line, as the start of a command.
    """
    if not (text.isascii() and text.isprintable()):
        text = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return text.replace("##[", r"##\[")


def harmless_line(text: str) -> str:
    """Return `text` as a line that a GitHub Actions runner does not read as a command.

    Such commands begin with `::`, possibly after spaces.
    """
    shown = visible(text)
    return f"| {shown}" if shown.lstrip().startswith("::") else shown


def harmless_json(text: str) -> str:
    """Return JSON text with the same values, written so that a GitHub Actions runner finds no command in it.

    `##[` occurs in JSON only within strings, where `[` may be written as an escape.
    """
    return text.replace("##[", r"##\u005b")


def command_line(command: Sequence[str], flags: Sequence[str] = ()) -> str:
    """Return a command line quoted for a shell. `flags` are added to commands of this program."""
    words = [command[0], *flags, *command[1:]] if command[0] == "reconciler" else command
    return visible(shlex.join(words))
