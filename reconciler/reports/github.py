"""Workflow commands of GitHub Actions, which show a mistake beside the line it is in."""

from reconciler.mistake import Mistake, Validation
from reconciler.reports.visible import visible


def validation_github(validation: Validation) -> str:
    """A command for each mistake and each warning."""
    commands = [annotation("error", mistake) for mistake in validation.mistakes]
    commands += [annotation("warning", warning) for warning in validation.warnings]
    return "".join(f"{command}\n" for command in commands)


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
