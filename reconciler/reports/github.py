"""Workflow commands of GitHub Actions, which show a mistake beside the line it is in."""

from reconciler.mistake import Mistake, Validation
from reconciler.reports.visible import visible
from reconciler.reports.wording import counted

SHOWN = 10
"""How many errors, and how many warnings, GitHub shows of one step; it drops the others without a word."""


def validation_github(validation: Validation) -> str:
    """A command for each of the first mistakes and warnings, and the others as lines of the log."""
    lines = []
    for kind, found in (("error", validation.mistakes), ("warning", validation.warnings)):
        lines += [annotation(kind, mistake) for mistake in found[:SHOWN]]
    for kind, found in (("error", validation.mistakes), ("warning", validation.warnings)):
        others = found[SHOWN:]
        lines += [f"{counted(len(others), f'more {kind}')}, only in this log:"] if others else []
        lines += [f"  {visible(str(mistake))}" for mistake in others]
    return "".join(f"{line}\n" for line in lines)


def annotation(kind: str, mistake: Mistake) -> str:
    """The command that shows a mistake as an "error" or a "warning"."""
    place = mistake.place
    where = f"file={_property(place.file)},line={place.line},col={place.column}"
    return f"::{kind} {where}::{data(visible(f'{mistake.what}; {mistake.remedy}'))}"


def data(text: str) -> str:
    """`text` as the last part of a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return data(visible(text)).replace(":", "%3A").replace(",", "%2C")
