"""Commands that are run in turns, and the medians of what they took."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

TIMEOUT = 1800
"""Seconds after which a command is killed."""
_PASSED_ON = ("PATH", "LANG", "TMPDIR")


class Failed(Exception):
    """A command did not do what is measured; the text says which, and how it ended."""


@dataclass(frozen=True)
class Usage:
    """What a process and its children took: processor time and time in seconds, peak of memory in MiB."""

    cpu: float
    wall: float
    peak: float


@dataclass(frozen=True)
class Runner:
    """One of those that run: its command, and where.

    `before` each run, things are made ready, and `after` it, it is checked that the work was done; neither is measured.
    `code` is the exit code of success.
    """

    command: Sequence[str | Path]
    directory: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    before: Callable[[], object] = lambda: None
    after: Callable[[], object] = lambda: None
    code: int = 0

    @property
    def stdout(self) -> Path:
        """What the last run printed."""
        return self.directory / "stdout"


def plain_environment(directory: Path, **more: str) -> dict[str, str]:
    """An environment that holds nothing of this machine's, and in which Python keeps what it compiles."""
    home = directory / "home"
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**kept, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "XDG_DATA_HOME": str(home), **more}


class Track:
    """Where races are run: a launcher, for as long as the context lasts."""

    def __init__(self, rounds: int | None = None) -> None:
        """`rounds` overrides how often the runners of each race run."""
        self._rounds = rounds
        command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("launcher.py"))]
        self._launcher = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._launcher.communicate()

    def run(self, runner: Runner) -> Usage:
        """Run once. Raises Failed if it ends with another exit code than that of success."""
        runner.before()
        call = {
            "command": [*map(str, runner.command)],
            "directory": str(runner.directory),
            "environment": plain_environment(runner.directory, **runner.environment),
            "streams": [os.devnull, str(runner.stdout), str(runner.directory / "stderr")],
            "timeout": TIMEOUT,
        }
        assert self._launcher.stdin is not None
        assert self._launcher.stdout is not None
        self._launcher.stdin.write(json.dumps(call).encode() + b"\n")
        self._launcher.stdin.flush()
        took = json.loads(self._launcher.stdout.readline())
        if took.pop("code") != runner.code:
            said = (runner.directory / "stderr").read_text(encoding="utf-8", errors="replace")
            raise Failed(f"{' '.join(map(str, runner.command))}: {said.strip()[-500:]}")
        runner.after()
        return Usage(**took)

    def race(self, rounds: int, **runners: Runner | None) -> dict[str, Usage]:
        """The medians of what each took in that many rounds; of those that are None, nothing.

        Each runs once more before, so that what is compiled or cached for the first time does not count. Every other
        round has the opposite order.
        """
        entered = {name: runner for name, runner in runners.items() if runner is not None}
        for runner in entered.values():
            self.run(runner)
        took: dict[str, list[Usage]] = {name: [] for name in entered}
        for number in range(self._rounds or rounds):
            for name in [*entered][:: -1 if number % 2 else 1]:
                took[name].append(self.run(entered[name]))
        return {name: medians(usages) for name, usages in took.items()}


def medians(usages: Sequence[Usage]) -> Usage:
    """The median of each of the three."""
    return Usage(*(median(getattr(usage, name) for usage in usages) for name in ("cpu", "wall", "peak")))
