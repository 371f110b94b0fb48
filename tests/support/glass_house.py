"""A sandbox and a project that works with it, in which all that is said and written is looked through for secrets."""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING

import pytest
from pyrage import x25519  # type: ignore[import-untyped]

from support.leaks import Secrets, is_private_response
from support.project import end, finish
from support.sandbox_project import SandboxProject

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from support.project import Finished

CLIENT_SECRET = 'p4ss+wörd/"quoted"\\and=more&odd%characters'
SET_SECRET = 'set/by+"hand"-and-never-shown'
MISTAKEN_KEY = str(x25519.Identity.generate())
"""A private key where a public one belongs."""
TARGETS = ("europe/staging", "europe/production", "usa/production")
SHOW_SECRETS = ("token ", "secret show ")
"""The commands whose standard output is there to show a secret."""


class GlassHouse(SandboxProject):
    """All of it is below `path`: the project, the caches, the private files and the temporary ones."""

    def __init__(self, path: Path, targets: Sequence[str] = TARGETS) -> None:
        wanted, credentials = {"offers": ["ONB10011"]}, {targets[0]: ("client-0", CLIENT_SECRET)}
        super().__init__(path / "project", wanted, targets, credentials=credentials)
        self.path = path
        (path / "tmp").mkdir()
        self.project.environment["TMPDIR"] = str(path / "tmp")
        self._heard: list[bytes] = []

    def run(self, line: str, *more: str, stdin: str | None = None, until: signal.Signals | None = None) -> Finished:
        """Run a command to its end, or until it talks and a signal ends it; `more` are words to put behind it."""
        if until is None:
            done = self.project.run(*line.split(), *more, stdin=stdin)
        else:
            process = self.project.start(*line.split(), *more)
            pipes = [pipe for pipe in (process.stdout, process.stderr) if pipe is not None]
            assert select.select(pipes, [], [], 30)[0]
            time.sleep(0.2)
            done = end(process, until)
        return self._hear(line, done)

    def step(self, line: str, *more: str, stdin: str = "") -> Finished:
        """As `run`, the way a `Project` has steps; several may be under way at once."""
        return self._hear(line, finish(self.project.start_step(*line.split(), *more, stdin=stdin)))

    def _hear(self, line: str, done: Finished) -> Finished:
        self._heard.append(done.err.encode())
        if not line.startswith(SHOW_SECRETS):
            self._heard.append(done.out.encode())
        return done

    @property
    def secrets(self) -> Secrets:
        """All secrets there are by now."""
        world = self.sandbox.world
        clients = {secret for target in world.targets.values() for secret in target.provider.clients.values()}
        keys = {key.partition("KEY-1")[2] for key in (MISTAKEN_KEY, MISTAKEN_KEY.lower().replace("key-", "KEY-"))}
        return Secrets({SET_SECRET, *keys, *clients, *world.tokens, *(commit.secret for commit in world.commits)})

    def private_files(self) -> list[Path]:
        """The files that are there to hold responses and secrets."""
        return [path for path in self.path.rglob("*") if path.is_file() and is_private_response(path)]

    def assert_nothing_leaked(self) -> None:
        """No secret was said, nor is one in a file, but for the private ones that are there to hold them."""
        assert set() == self.secrets.leaked_in(b"\n".join(self._heard))
        assert {} == self.secrets.leaked_below(self.path, allowed=is_private_response)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[GlassHouse]:
    """A house that is closed with the test."""
    with GlassHouse(tmp_path) as opened:
        yield opened
