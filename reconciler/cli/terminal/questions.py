"""Questions to a person at a terminal. None is ever the only way through."""

from __future__ import annotations

import sys
from getpass import getpass

import click

from reconciler.errors import Refused


def somebody_is_there() -> bool:
    """Whether a question would reach a person."""
    return sys.stdin.isatty()


def says_yes(question: str) -> bool:
    """Whether the person says yes, in full; the end of the input is a no."""
    try:
        click.echo(f"{question} Only 'yes' is taken for a yes: ", nl=False, err=True)
    except OSError:  # a question that nobody sees
        return False
    return sys.stdin.readline().strip() == "yes"


def ask_hidden(prompt: str) -> str:
    """What the person types, unseen; nothing at the end of the input."""
    try:
        return getpass(prompt)
    except EOFError:
        return ""


def confirm(force: bool, question: str) -> None:
    """Raises Refused unless --force was given, or a person at a terminal says yes."""
    if force:
        return
    if not somebody_is_there():
        raise Refused(
            "nobody is there to confirm it", remedy="look at what it would accept, then repeat it with --force"
        )
    ask(question)


def ask(question: str) -> None:
    """Ask whoever is at a terminal; where nobody is, go on. Raises Refused for a no."""
    if somebody_is_there() and not says_yes(question):
        raise Refused("not confirmed; nothing was changed")
