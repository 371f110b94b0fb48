"""Questions at a terminal. None is the only way through: for each there is a flag."""

from __future__ import annotations

import sys

import click

from reconciler.errors import Message, Refused


def has_terminal() -> bool:
    """True if there is a terminal to ask at."""
    return sys.stdin.isatty()


def says_yes(question: str) -> bool:
    """Return True if the answer is yes, in full; the end of the input is a no."""
    try:
        click.echo(f"{question} Type 'yes' to continue: ", nl=False, err=True)
    except OSError:  # the question cannot be seen
        return False
    return sys.stdin.readline().strip() == "yes"


def line(question: str, default: str) -> str:
    """Return the answer to a question, `default` if it is empty. Raises Refused at the end of the input."""
    click.echo(f"{question} [{default}]: ", nl=False, err=True)
    answer = sys.stdin.readline()
    if not answer:
        raise Refused(Message("no-answer", "no answer; nothing was changed"))
    return answer.strip() or default
