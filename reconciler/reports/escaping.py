"""Text from elsewhere, made visible: it can neither move a cursor, nor begin a command of a runner."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def visible(text: str) -> str:
    """Return `text` with each character escaped that could move a cursor, start a line or reverse the direction.

    So is `##[`: anywhere in a line, a runner of GitHub Actions takes it for the beginning of a command.
    """
    if not (text.isascii() and text.isprintable()):
        text = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return text.replace("##[", r"##\[")


def harmless_line(text: str) -> str:
    """Return `text` as a line that is no command: a runner takes `::` at its beginning for one, after blanks too."""
    shown = visible(text)
    return f"| {shown}" if shown.lstrip().startswith("::") else shown


def command_line(command: Sequence[str], flags: Sequence[str] = ()) -> str:
    """Return a command to paste, quoted for a shell; `flags` are the global ones in use, for our own commands."""
    words = [command[0], *flags, *command[1:]] if command[0] == "reconciler" else command
    return visible(shlex.join(words))
