"""Commands as forks of one process that has loaded the program: starting it is most of what a command costs.

What a test does on the way to what it is about, or to look at the result, it does so; and so it starts processes that
meet, are stopped or are killed, where it is their meeting that the test is about. `warm_server` is the process,
`warm_python` a program with which other programs ask for such forks.
"""

from __future__ import annotations

import marshal
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Lock
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_servers: list[_Server] = []
_starting = Lock()


class Started:
    """A command that was started: as much of a `subprocess.Popen` as tests use, its streams read at its end."""

    def __init__(
        self,
        arguments: Sequence[str],
        path: Path,
        environment: Mapping[str, str],
        stdin: str = "",
        before: str = "",
        streams: Sequence[int] = (),
    ) -> None:
        """Start `reconciler` in a directory, with these streams, if any; run Python code `before` it."""
        self.returncode: int | None = None
        self._files = [] if streams else [_file(stdin), _file(), _file()]
        self._connection = _server().connect()
        call = ("reconciler", [*arguments], str(path), dict(environment), before)
        socket.send_fds(self._connection, [marshal.dumps(call)], [*streams] or [file.fileno() for file in self._files])
        self.pid = int(self._connection.recv(64))

    def poll(self) -> int | None:
        """Its exit code, once it has ended."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        if self.returncode is None:
            self._connection.settimeout(timeout)
            try:
                self.returncode = int(self._connection.recv(64))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(["reconciler"], timeout or 0) from None
            self._connection.close()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        """What it has written to stdout and to stderr, once it has ended."""
        self.wait(timeout)
        said = []
        for file in self._files:
            with file:
                file.seek(0)
                said.append(file.read())
        _, out, err = said or [b""] * 3
        assert b"Traceback" not in err, err
        assert b"internal error" not in err, err
        return out, err


def _file(text: str = "") -> IO[bytes]:
    file = TemporaryFile()  # noqa: SIM115 - open for as long as a process has it
    file.write(text.encode())
    file.seek(0)
    return file


def python() -> Path:
    """A program that stands in for Python where that is called with `-m` and a module of this one."""
    return _server().folder / "python"


class _Server:
    """The process, in a session of its own, so that no terminal is asked, and a folder with its socket."""

    def __init__(self) -> None:
        self._temporary = TemporaryDirectory(prefix="warm-")
        self.folder = Path(self._temporary.name)
        stand_in = Path(__file__).with_name("warm_python.py").read_text(encoding="utf-8")
        self.folder.joinpath("python").write_text(f"#!{sys.executable} -IS\n{stand_in}", encoding="utf-8")
        self.folder.joinpath("python").chmod(0o700)
        program = Path(__file__).with_name("warm_server.py")
        command = [sys.executable, "-P", str(program), str(self.folder / "socket")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"listening\n"

    def connect(self) -> socket.socket:
        """A connection for one command."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(str(self.folder / "socket"))
        return connection

    def end(self) -> None:
        self._process.communicate(timeout=10)
        self._temporary.cleanup()


def _server() -> _Server:
    with _starting:
        if not _servers:
            _servers.append(_Server())
        return _servers[0]


def end() -> None:
    """End the process, if there is one."""
    while _servers:
        _servers.pop().end()
