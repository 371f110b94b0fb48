"""Questions at a terminal; for each there is a flag that makes it unnecessary."""

import sys
from getpass import getpass

import click

from reconciler.errors import Refused


def has_terminal() -> bool:
    """Whether there is a terminal to ask at."""
    return sys.stdin.isatty()


def shows_questions() -> bool:
    """Whether there is a terminal to ask at, and a question, which goes to stderr, appears on one."""
    return has_terminal() and sys.stderr.isatty()


def says_yes(question: str) -> bool:
    """Whether the answer is yes, in full; the end of the input is a no."""
    try:
        click.echo(f"{question} Type 'yes' to continue: ", nl=False, err=True)
    except OSError:  # the question cannot be seen
        return False
    return sys.stdin.readline().strip() == "yes"


def ask_line(question: str, default: str, shown: str | None = None) -> str:
    """The answer to a question, `default` if it is empty, which may be `shown` otherwise.

    Raises Refused at the end of the input.
    """
    click.echo(f"{question} [{default if shown is None else shown}]: ", nl=False, err=True)
    answer = sys.stdin.readline()
    if not answer:
        raise Refused("no answer; nothing was changed")
    return answer.strip() or default


def ask_choice(question: str, *, default: bool) -> bool:
    """Whether the answer is yes, asked until it is yes or no. Raises Refused at the end of the input."""
    while True:
        answer = ask_line(f"{question} yes or no", "yes" if default else "no").lower()
        if answer in ("y", "yes", "n", "no"):
            return answer.startswith("y")
        click.echo("Expected yes or no, or Enter for the answer in brackets.", err=True)


def ask_hidden(prompt: str) -> str:
    """What is typed, without showing it; empty at the end of the input."""
    try:
        return getpass(prompt)
    except EOFError:
        return ""


def confirm(force: bool, question: str) -> None:
    """Raises Refused unless --force was given, or the answer at a terminal is yes."""
    if force:
        return
    if not has_terminal():
        raise Refused(
            "no terminal: cannot ask for confirmation",
            remedy="review the output above, then repeat the command with --force",
        )
    ask(question)


def ask(question: str) -> None:
    """Ask at a terminal, and go on without one. Raises Refused for any answer but yes."""
    if has_terminal() and not says_yes(question):
        raise Refused("not confirmed; nothing was changed")
