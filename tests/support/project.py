"""A working directory as a user has it, and the installed executable run in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from pyrage import x25519  # type: ignore[import-untyped]

from support import warm

EXECUTABLE = Path(sys.executable).parent / "reconciler"

ONE_TARGET = """\
targets:
  europe/staging:
    auth_url: {auth_url}
    base_url: {base_url}
    audience_base: {audience_base}
subscriptions:
  europe/staging:
"""


@dataclass(frozen=True)
class Finished:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Its stdout as JSON."""
        return json.loads(self.out)


@dataclass
class Project:
    """A directory with a `config/`, an environment of its own, and verbs for what a user does there."""

    path: Path
    environment: dict[str, str] = field(default_factory=dict)
    before_steps: str = ""
    """Python code that is run before each `step`."""

    def __post_init__(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, text: str | bytes) -> Path:
        """Write a file below the directory."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def read(self, name: str) -> str:
        return (self.path / name).read_text(encoding="utf-8")

    def declare(self, subscriptions: dict[str, tuple[list[str], str]], **addresses: str) -> None:
        """Write a `config/` with one target, europe/staging, and these subscriptions: name -> (codes, URL)."""
        given = {
            "auth_url": "https://login.service.example",
            "base_url": "https://api.service.example",
            "audience_base": "https://api.service.example",
            **addresses,
        }
        text = ONE_TARGET.format(**given)
        for name, (codes, url) in subscriptions.items():
            text += f"    {name}:\n      eventCodes: [{', '.join(codes)}]\n      webhookUrl: {url}\n"
        self.write("config/all.yaml", text if subscriptions else text.partition("subscriptions:")[0])

    def seal(self) -> None:
        """Have responses sealed, to a new recipient whose identity is in `key.txt`."""
        identity = x25519.Identity.generate()
        self.write("config/recipients.yaml", f"recipients: [{identity.to_public()}]\n")
        self.write("key.txt", f"# made for a test\n{identity}\n")

    def variables(self) -> dict[str, str]:
        """The environment a command runs in: this project's over the test's."""
        return {**os.environ, **self.environment}

    def run(self, *arguments: str | Path, stdin: str | None = None, timeout: float = 60) -> Finished:
        """Run `reconciler` with these arguments to its end; standard input is no terminal."""
        done = subprocess.run(
            [EXECUTABLE, *arguments],
            cwd=self.path,
            env=self.variables(),
            input=(stdin or "").encode(),
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())

    def step(self, *arguments: str | Path, code: int | None = 0, stdin: str = "") -> Finished:
        """As `run`, but fast (see `warm`), for what a test is not about; fails the test if the exit code is another."""
        done = finish(self.start_step(*arguments, stdin=stdin), timeout=None)
        assert code in (done.code, None), f"{arguments}: {done}"
        return done

    def run_fork(self, *arguments: str | Path, stdin: str | None = None) -> Finished:
        """As `run`, but fast (see `warm`), where what a test is about is the same in a fork: neither how a process
        starts and ends, nor its streams.
        """
        return self.step(*arguments, code=None, stdin=stdin or "")

    def start_step(self, *arguments: str | Path, stdin: str = "") -> warm.Started:
        """As `start`, but fast, where it is not the start that a test is about."""
        return warm.Started([*map(str, arguments)], self.path, self.variables(), stdin, self.before_steps)

    def run_raw(self, *arguments: str) -> bytes:
        """The bytes of what a command prints, which must succeed."""
        return subprocess.run(
            [EXECUTABLE, *arguments], cwd=self.path, env=self.variables(), capture_output=True, timeout=60, check=True
        ).stdout

    def succeed(self, *arguments: str | Path, stdin: str | None = None) -> Finished:
        """Run `reconciler`, and fail the test unless it exits with 0."""
        done = self.run(*arguments, stdin=stdin)
        assert done.code == 0, f"{arguments}: {done}"
        return done

    def shell(self, line: str) -> Finished:
        """Run a line of shell, in which `$reconciler` is the executable."""
        variables = {**self.variables(), "reconciler": str(EXECUTABLE)}
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.path,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *arguments: str | Path, stdout: IO[bytes] | int = subprocess.PIPE) -> subprocess.Popen[bytes]:
        """Start `reconciler` and go on; whoever starts it ends it (see `end` and `finish`)."""
        return subprocess.Popen(
            [EXECUTABLE, *arguments],
            cwd=self.path,
            env=self.variables(),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
        )


def finish(process: subprocess.Popen[bytes] | warm.Started, timeout: float | None = 60) -> Finished:
    """Wait until a command that was started comes to its end."""
    out, err = process.communicate(timeout=timeout)
    assert process.returncode is not None
    return Finished(process.returncode, (out or b"").decode(), (err or b"").decode())


def end(
    process: subprocess.Popen[bytes] | warm.Started, number: signal.Signals = signal.SIGTERM, timeout: float = 60
) -> Finished:
    """Send a signal to a started command, unless it has ended, and wait for its end."""
    if process.poll() is None:
        process.send_signal(number)
    return finish(process, timeout)
