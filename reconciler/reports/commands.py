"""The commands within a message: what follows "run:" or "see:", to the semicolon after it."""

from __future__ import annotations

import re
import shlex

INTRODUCED = r"(?<=run|see): (?=(?:reconciler|git|chmod|tail|psql|pip|export) )"
_END = r"; (?=\S|$)"


def divided(text: str) -> tuple[str, str]:
    """A command, and what follows it: it ends at the first semicolon that is not quoted."""
    for end in re.finditer(_END, text):
        command = text[: end.start()]
        try:
            shlex.split(command)
        except ValueError:  # within quotes
            continue
        return command, text[end.end() :]
    return text, ""


def with_commands(text: str) -> list[tuple[str, str]]:
    """A message in pieces: each a piece of prose and the command that it ends with, empty if it has none."""
    prose, *rest = re.split(INTRODUCED, text)
    pieces = []
    for part in rest:
        command, following = divided(part)
        pieces.append((f"{prose}:", command))
        prose = following
    return [*pieces, (prose, "")] if prose or not pieces else pieces
