"""The command line, called within the process, in a project of its own; and a sandbox for it."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from reconciler.cli.lazy import Command, Group
from reconciler.cli.main import cli, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

CONFIG = """\
targets:
  europe/staging: {auth_url: https://login.staging.test, base_url: https://api.staging.test}
subscriptions:
  europe/staging:
    offers: {eventCodes: [ONB10011], webhookUrl: https://hooks.partner.test/offers}
    applications: {eventCodes: [ONB10001, LOA10013], webhookUrl: "https://hooks.partner.test/a/{attempt}"}
"""


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Stdout, read as JSON."""
        return json.loads(self.out)


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

    def __call__(self, *words: str) -> Ran:
        """Run `reconciler` with these words."""
        environment = dict(os.environ)  # a command hides secrets from its children
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        try:
            code = run(words)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            os.environ.update(environment)
        out, err = self._capsys.readouterr()
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
