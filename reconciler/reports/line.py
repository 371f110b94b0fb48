"""A line of text with a tone, which the command line may turn into colour; a row, which it may align with others."""

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import force_setattr

from reconciler.reports.visible import harmless_line, visible


class Tone(StrEnum):
    """How a line is meant."""

    PLAIN = "plain"
    HEADING = "heading"
    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    WARNING = "warning"
    ERROR = "error"
    FAINT = "faint"


class Line(Struct, frozen=True):
    """One line of text without its newline; whatever it was made of, it acts as nothing but text."""

    text: str
    tone: Tone = Tone.PLAIN

    def __post_init__(self) -> None:
        force_setattr(self, "text", harmless_line(self.text))


class Row(Line, frozen=True):
    """A line that a terminal shows as a row of the table with this `head`: `cells` has what `text` says."""

    head: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        Line.__post_init__(self)
        force_setattr(self, "cells", tuple(visible(cell) for cell in self.cells))
