"""Prints what the service said: as it is where a program reads it, harmless where a terminal or Actions does.

What is printed may be a secret: in Actions it is masked first.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

from reconciler.cli.terminal.actions import mask
from reconciler.errors import Refused
from reconciler.operations.actor import in_actions
from reconciler.reports.line import Line
from reconciler.reports.visible import visible

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal

_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
"""A string of JSON, as it is spelt."""


def print_body(terminal: Terminal, body: bytes) -> None:
    """Print a response body; on a terminal and in Actions such that nothing in it can act as anything."""
    lines = [visible(line) for line in body.decode(errors="backslashreplace").splitlines()]
    if sys.stdout.isatty():
        terminal.print_lines(map(Line, lines))
    elif not in_actions():
        terminal.print_bytes(body)
    elif _is_json(body):
        # No line of it begins with two colons, as a command does there; what stands in a string can be spelt otherwise.
        terminal.print_bytes(_without_command(body.decode()).encode())
    else:
        terminal.print_lines(Line(f"| {line}") for line in lines)


def _without_command(text: str) -> str:
    """JSON that says the same, without what Actions takes for a command anywhere in a line."""
    return text.replace("##[", r"##\u005b")


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body.decode())
    except (ValueError, RecursionError):
        return False
    return True


def print_value(terminal: Terminal, text: str) -> None:
    """Print a single value, bare. Raises Refused where Actions would take it for a command."""
    if in_actions() and any(line.lstrip().startswith("::") or "##[" in line for line in text.splitlines()):
        raise Refused("the value begins as a workflow command does", remedy="read it elsewhere than in Actions")
    shown = visible(text) if sys.stdout.isatty() else text
    terminal.print_bytes(shown.encode(errors="backslashreplace"))


def mask_body(body: bytes) -> None:
    """Mask every string of a response, any of which may be the secret: as it is, as it is spelt there, and as shown."""
    if not in_actions():
        return
    text = body.decode(errors="backslashreplace")
    try:
        strings = _strings(json.loads(body))
    except (ValueError, RecursionError):
        strings = text.splitlines()
    escaped = [literal for literal in _LITERAL.findall(text) if "\\" in literal]
    shown = (form for string in strings + escaped for form in (string, visible(string), _without_command(string)))
    for form in dict.fromkeys(shown):
        mask(form)


def _strings(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return [text for one in value for text in _strings(one)]
        case dict():
            return [text for one in value.values() for text in _strings(one)]
        case _:
            return []
