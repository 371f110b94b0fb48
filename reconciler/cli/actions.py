"""The differences in a step of GitHub Actions: masks, annotations, and text from elsewhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.errors import Message, Refused

if TYPE_CHECKING:
    from collections.abc import Iterable


def in_actions() -> bool:
    """True in a step of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def run_facts() -> tuple[tuple[str, str], ...]:
    """Return the commit, the author, the branch or pull request, and the run of a step, as far as they are known."""
    get = os.environ.get
    run = f"{get('GITHUB_SERVER_URL')}/{get('GITHUB_REPOSITORY')}/actions/runs/{get('GITHUB_RUN_ID')}"
    number, _, merge = get("GITHUB_REF_NAME", "").partition("/")
    place = ("Pull request", f"#{number}") if merge == "merge" else ("Ref", get("GITHUB_REF_NAME", ""))
    known = (("Commit", get("GITHUB_SHA", "")), ("Author", get("GITHUB_ACTOR", "")), place)
    return tuple((name, value) for name, value in (*known, ("Run", run if get("GITHUB_RUN_ID") else "")) if value)


def mask(secrets: Iterable[str]) -> None:
    """Have the runner mask secrets in the log, before they are printed. Raises Refused if that cannot be asked for."""
    if not in_actions():
        return
    lines = dict.fromkeys(line for secret in secrets for line in secret.splitlines() if line.strip())
    try:
        for line in lines:
            click.echo(f"::add-mask::{_data(line)}", err=True)
    except OSError as problem:
        what = f"the secret cannot be masked: {problem.strerror}"
        raise Refused(Message("secret-not-masked", what, "standard error")) from None


def annotation(message: Message, level: str) -> str:
    """Return a message as a command that shows it beside its line in a pull request."""
    fields = {}
    if message.place:
        file = Path(message.place.file).absolute()
        root = os.environ.get("GITHUB_WORKSPACE")
        shown = file.relative_to(root) if root and file.is_relative_to(root) else message.place.file
        fields = {"file": str(shown), "line": str(message.place.line), "col": str(message.place.column)}
    listed = ",".join(f"{name}={_property(value)}" for name, value in fields.items())
    return f"::{level}{' ' if listed else ''}{listed}::{_data(message.what)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
