"""What is different on the streams of a step of GitHub Actions: masks and annotations."""

import os
from contextlib import suppress
from pathlib import Path

import click
from msgspec.structs import replace

from reconciler.errors import Refused
from reconciler.mistake import Mistake
from reconciler.operations.actor import in_actions


def mask(text: str) -> None:
    """In Actions, have the runner mask a secret in the log, before it is printed. Raises Refused where it cannot be."""
    if in_actions():
        from reconciler.reports.github import data  # noqa: PLC0415 - few runs need it

        try:
            for line in text.splitlines():
                if line.strip():
                    click.echo(f"::add-mask::{data(line)}", err=True)
        except OSError as problem:
            raise Refused(f"the secret cannot be masked: {problem.strerror}", where="standard error") from None


def annotate(mistake: Mistake) -> None:
    """In Actions, show a mistake beside the line it is in."""
    if in_actions():
        from reconciler.reports.github import annotation  # noqa: PLC0415 - few runs need it

        with suppress(OSError):
            click.echo(annotation("error", from_root(mistake)), err=True)


def from_root(mistake: Mistake) -> Mistake:
    """The same, with its file's path from the root of the checkout, which annotations are told in."""
    root = os.environ.get("GITHUB_WORKSPACE")
    path = Path(mistake.place.file).absolute()
    if not root or not path.is_relative_to(root):
        return mistake
    return replace(mistake, place=replace(mistake.place, file=str(path.relative_to(root))))
