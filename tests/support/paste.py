"""What a user pastes from a text: commands, options with their values, and words such as addresses, URLs and paths."""

from __future__ import annotations

import re
from functools import cache

import click

from reconciler.cli.main import COMMANDS, cli
from support.pages import without_progress

_COMMAND = re.compile(rf"(?<![`\w/.'-])reconciler (?:--\S+ \S+ )*(?:{'|'.join(COMMANDS)})\b")
_INTRODUCED = ("run:", "see:")
_MARKS = "(),;:.'\"`[]…|"
_PROMPT = re.compile(r"(\]|to continue|Secret): (?=\S)")
_ESCAPE = re.compile(r"\x1b\[[\d;?]*[A-Za-z]|\r")


def lines_of(shown: str) -> list[str]:
    """The lines of what a terminal has shown, without live ones and colour; what was typed ends that of a prompt."""
    return _PROMPT.sub(r"\1:\n", _ESCAPE.sub("", without_progress(shown))).splitlines()


def commands(lines: list[str]) -> list[str]:
    """The lines that are commands: of the program, or of another where one is advised."""
    before = ["", *lines]
    return [
        line
        for line, above in zip(map(_bare, lines), before, strict=False)
        if _COMMAND.match(line) or above.endswith(_INTRODUCED)
    ]


def commands_amid(lines: list[str]) -> list[str]:
    """The lines in which a command is amid words: not the line, nor a mention between backquotes, nor the usage."""
    alone = [*commands(lines), *(line for line in map(_bare, lines) if line.startswith("Usage: "))]
    return [line for line in lines if _COMMAND.search(line) and _bare(line) not in alone]


def _bare(line: str) -> str:
    return line.strip().removeprefix("$ ")


def mentions(lines: list[str]) -> set[str]:
    """What is mentioned between backquotes, each on one line."""
    return {found for line in lines for found in re.findall(r"`[^`]+`", line)}


def valued(lines: list[str]) -> set[str]:
    """The options that take a value, each with the word after it."""
    pattern = rf"(?<![\w-])(?:{'|'.join(map(re.escape, _taking_values()))}) [^\s-]\S*"
    return {found.rstrip(_MARKS) for line in lines for found in re.findall(pattern, line)}


def words(lines: list[str]) -> set[str]:
    """The words that are no plain ones: addresses, URLs, paths, ids, digests, options, variables."""
    stripped = {word.strip(_MARKS) for line in lines for word in line.split()}
    return {word for word in stripped if re.search(r"[/\d_@=-]", word) and re.search(r"\w", word)}


@cache
def _taking_values() -> list[str]:
    """The options of all commands that take a value, the longest first."""
    return sorted({name for one in _options(cli) if not one.is_flag for name in one.opts}, key=len, reverse=True)


def _options(command: click.Command) -> list[click.Option]:
    found = [one for one in command.params if isinstance(one, click.Option) and not one.count]
    if isinstance(command, click.Group):
        context = click.Context(command)
        below = [command.get_command(context, name) for name in command.list_commands(context)]
        found += [option for one in below if one is not None for option in _options(one)]
    return found
