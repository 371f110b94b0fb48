"""A line of text with a tone, which the command line may turn into colour."""

from dataclasses import dataclass
from enum import StrEnum

from reconciler.reports.visible import harmless_line


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


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text without its newline; whatever it was made of, it acts as nothing but text."""

    text: str
    tone: Tone = Tone.PLAIN

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", harmless_line(self.text))
