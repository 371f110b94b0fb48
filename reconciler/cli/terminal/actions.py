"""What is different on the streams of a step of GitHub Actions: masks and annotations."""

import os
from contextlib import suppress
from pathlib import Path

import click

from reconciler.errors import Refused
from reconciler.mistake import Mistake
from reconciler.operations.actor import in_actions


def mask(text: str) -> None:
    """In Actions, have the runner mask a secret in the log, before it is printed. Raises Refused where it cannot be."""
    if in_actions():
        try:
            for line in text.splitlines():
                if line.strip():
                    click.echo(f"::add-mask::{_data(line)}", err=True)
        except OSError as problem:
            raise Refused(f"the secret cannot be masked: {problem.strerror}", where="standard error") from None


def annotate(mistake: Mistake) -> None:
    """In Actions, show a mistake beside the line it is in."""
    if in_actions():
        place = mistake.place
        where = f"file={_property(_from_root(place.file))},line={place.line},col={place.column}"
        with suppress(OSError):
            click.echo(f"::error {where}::{_data(f'{mistake.what}; {mistake.remedy}')}", err=True)


def _from_root(file: str) -> str:
    """A file's path from the root of the checkout, which annotations are told in."""
    root = os.environ.get("GITHUB_WORKSPACE")
    path = Path(file).absolute()
    return str(path.relative_to(root)) if root and path.is_relative_to(root) else file


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
