"""The command line, called within the process, in a project of its own; and a sandbox for it."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest

from reconciler.cli.commands import Command, Group
from reconciler.cli.main import cli, run
from reconciler.errors import Message

CONFIG = """\
targets:
  europe/staging: {auth_url: https://login.staging.test, base_url: https://api.staging.test}
subscriptions:
  europe/staging:
    offers: {eventCodes: [ONB10011], webhookUrl: https://hooks.partner.test/offers}
    applications: {eventCodes: [ONB10001, LOA10013], webhookUrl: "https://hooks.partner.test/a/{attempt}"}
"""


class Screen(io.StringIO):
    """A terminal: what is written to it, or what somebody types there."""

    def isatty(self) -> bool:
        return True


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Stdout, read as JSON."""
        return json.loads(self.out)


def run_here(*words: str) -> int:
    """Run `reconciler` with these words in this process, and return its exit code."""
    environment = dict(os.environ)  # a command hides secrets from its children
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        return run(words)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.environ.update(environment)


class CommandLine:
    """Runs commands in `directory`."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self.environment = monkeypatch
        self._capsys = capsys
        monkeypatch.chdir(directory)

    def write_config(self, text: str = CONFIG) -> None:
        """Write `config/a.yaml`."""
        (self.directory / "config").mkdir(exist_ok=True)
        (self.directory / "config" / "a.yaml").write_text(text, encoding="utf-8")

    def answer(self, text: str) -> None:
        """Have this typed at a terminal."""
        self.environment.setattr("sys.stdin", Screen(text))

    def __call__(self, *words: str) -> Ran:
        """Run `reconciler` with these words."""
        code = run_here(*words)
        out, err = self._capsys.readouterr()
        for pasted in re.findall(r"(?m)^ +(reconciler\S* .*)$", err):
            require_usable(*shlex.split(pasted))
        return Ran(code, out, err)

    def fine(self, *words: str) -> Ran:
        """Run a command that must succeed."""
        ran = self(*words)
        assert ran.code == 0, ran
        return ran


def commands(group: Group = cli, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Command]]:
    """Yield every command of the program with the words of its name."""
    context = click.Context(cli)
    for name in group.list_commands(context):
        entry = group.get_command(context, name)
        if isinstance(entry, Group):
            yield from commands(entry, (*before, name))
        else:
            assert isinstance(entry, Command)
            yield (*before, name), entry


@cache
def require_usable(*words: str) -> None:
    """Have the command line parse a command that a message names; what its values mean is not looked at."""
    first, *rest = words
    if first == "git" or rest[-1:] == ["--help"]:
        return
    assert first == "reconciler", words
    entry: click.Command = cli
    while isinstance(entry, Group):
        _, rest, _ = entry.make_parser(click.Context(entry)).parse_args(rest)
        found = entry.get_command(click.Context(entry), rest.pop(0))
        assert found, words
        entry = found
    given, left, _ = entry.make_parser(click.Context(entry)).parse_args(rest)
    missing = [param.name for param in entry.params if param.required and not given.get(str(param.name))]
    assert ([], []) == (left, missing), words


def commands_in(messages: Iterable[Message]) -> list[str]:
    """Return the commands that messages name, each of which the command line takes."""
    named = [step.command for message in messages for step in message.steps if step.command]
    for words in named:
        require_usable(*map(str, words))
    return [" ".join(words) for words in named]
