"""Lines in colour."""

import click

from reconciler.reports.line import Tone

_STYLES: dict[Tone, dict[str, object]] = {
    Tone.PLAIN: {},
    Tone.HEADING: {"bold": True},
    Tone.ADDED: {"fg": "green"},
    Tone.CHANGED: {"fg": "yellow"},
    Tone.REMOVED: {"fg": "red"},
    Tone.WARNING: {"fg": "yellow"},
    Tone.ERROR: {"fg": "red", "bold": True},
    Tone.FAINT: {"dim": True},
}


def styled(rows: list[str], tone: Tone, *, follows: bool) -> list[str]:
    """The rows of one line in colour; of a warning or an error the label or what is wrong, and not the remedy."""
    style = _STYLES[tone]
    left = _painted("\n".join(rows), tone, follows=follows) if style else 0
    styled = []
    for row in rows:
        head, rest = row[: max(left, 0)], row[max(left, 0) :]
        styled.append(click.style(head, **style) + rest if head else rest)  # type: ignore[arg-type]
        left -= len(row) + 1
    return styled


def _painted(text: str, tone: Tone, *, follows: bool) -> int:
    """How many characters of a line have its colour; `follows`: it is what comes after a command."""
    if tone not in (Tone.WARNING, Tone.ERROR):
        return len(text)
    label, colon, _ = text.partition(":")
    if follows:
        return 0
    return len(label + colon) if label.strip().lower() in ("error", "warning") else len(text.partition(";")[0])
