"""Prints responses of the service: as they are for a program, escaped for a terminal or GitHub Actions.

A response may contain a secret: in Actions it is masked first.
"""

import json
import re
import sys

from reconciler.cli.terminal.actions import mask
from reconciler.cli.terminal.terminal import Terminal
from reconciler.errors import Refused
from reconciler.operations.actor import in_actions
from reconciler.reports.line import Line
from reconciler.reports.visible import visible, without_commands

_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
"""A string literal of JSON."""


def print_body(terminal: Terminal, body: bytes) -> None:
    """Print a response body; on a terminal and in Actions it is escaped, so that it has no effect but to be read."""
    lines = [visible(line) for line in body.decode(errors="backslashreplace").splitlines()]
    if sys.stdout.isatty():
        terminal.print_bytes("\n".join(Line(line).text for line in lines).encode(errors="backslashreplace"))
    elif not in_actions():
        terminal.print_bytes(body)
    elif _is_json(body):
        terminal.print_bytes(without_commands(body.decode()).encode())  # no line of JSON begins with `::`
    else:
        terminal.print_lines(Line(f"| {line}") for line in lines)


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body.decode())
    except (ValueError, RecursionError):
        return False
    return True


def print_value(terminal: Terminal, text: str) -> None:
    """Print a single value and nothing else. Raises Refused if Actions would take it for a command."""
    if in_actions() and any(line.lstrip().startswith("::") or "##[" in line for line in text.splitlines()):
        raise Refused(
            "the value contains a GitHub Actions workflow command", remedy="run this outside of GitHub Actions"
        )
    shown = visible(text) if sys.stdout.isatty() else text
    terminal.print_bytes(shown.encode(errors="backslashreplace"))


def mask_body(body: bytes) -> None:
    """Mask every string of a response, any of which may be the secret: decoded, as a literal, and as shown."""
    if not in_actions():
        return
    text = body.decode(errors="backslashreplace")
    try:
        strings = _strings(json.loads(body))
    except (ValueError, RecursionError):
        strings = text.splitlines()
    escaped = [literal for literal in _LITERAL.findall(text) if "\\" in literal]
    shown = (form for string in strings + escaped for form in (string, visible(string), without_commands(string)))
    for form in dict.fromkeys(shown):
        mask(form)


def _strings(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return [text for item in value for text in _strings(item)]
        case dict():
            return [text for item in value.values() for text in _strings(item)]
        case _:
            return []
