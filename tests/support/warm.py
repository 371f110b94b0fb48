"""Commands in processes that are forked from one that has loaded the program: real ones, without the start of Python.

`WarmProgram` starts that one, which runs `serve`: it forks a keeper for each command, and the keeper the command.
"""

from __future__ import annotations

import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NoReturn

_PATIENCE = 60.0  # seconds for a command to end, at most


class Forked:
    """A command, as `subprocess.Popen` has it; what it writes to stdout and stderr is kept in files, unless given."""

    def __init__(
        self, program: WarmProgram, words: Sequence[str], cwd: Path, environment: Mapping[str, str], streams: Any
    ) -> None:
        self.returncode: int | None = None
        self.args = words
        self._kept: dict[int, IO[bytes]] = {}
        given = [self._stream(number, streams.get(name)) for number, name in enumerate(("stdin", "stdout", "stderr"))]
        self._connection = program.connect()
        self._connection.settimeout(_PATIENCE)
        socket.send_fds(self._connection, [b"!"], given)
        request = {"words": words, "cwd": str(cwd), "environment": dict(environment)}
        self._connection.sendall(json.dumps(request).encode() + b"\n")
        self._answers = self._connection.makefile("r")
        self.pid = int(self._answers.readline())
        self._nowhere.close()

    def _stream(self, number: int, stream: int | None) -> int:
        """Return the descriptor of a stream; PIPE is a file."""
        if number == 0:
            self._nowhere = Path(os.devnull).open("rb")  # noqa: SIM115 - closed once it was handed over
        if stream == subprocess.PIPE:
            self._kept[number] = tempfile.TemporaryFile()  # noqa: SIM115 - closed once it was read
            return self._kept[number].fileno()
        return self._nowhere.fileno() if stream in (None, subprocess.DEVNULL) else int(stream)

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float = _PATIENCE) -> int:
        """Return its exit code once it has ended. Raises TimeoutExpired if it does not."""
        if self.returncode is None:
            self._connection.settimeout(timeout)
            try:
                self.returncode = int(self._answers.readline())
            except TimeoutError:
                raise subprocess.TimeoutExpired(list(self.args), timeout) from None
            self._answers.close()
            self._connection.close()
        return self.returncode

    def communicate(self, *, timeout: float = _PATIENCE) -> tuple[bytes, bytes]:
        """Wait for its end, and return what it has written."""
        self.wait(timeout)
        written = []
        for number in (1, 2):
            with self._kept[number] as file:
                file.seek(0)
                written.append(file.read())
        return written[0], written[1]


class WarmProgram:
    """The process from which commands are forked. It ends with the process that has started it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="reconciler-warm-", dir="/tmp")
        self._path = str(Path(self._folder.name, "socket"))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", "support.warm", self._path]
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def connect(self) -> socket.socket:
        """Return a connection for one command."""
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._path)
        return connection

    def start(self, words: Sequence[str], cwd: Path, environment: Mapping[str, str], **streams: Any) -> Forked:
        """Start a command; streams are as those of `subprocess.Popen`."""
        return Forked(self, words, cwd, environment, streams)

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10)
        self._folder.cleanup()


_ahead = [0.0]
"""By how many seconds the clock of this process is ahead; the last one counts."""


def serve(path: str) -> None:
    """Load the program, with a clock that can be moved on, and fork a keeper for each connection until stdin ends."""
    real = time.time
    time.time = lambda: real() + _ahead[-1]
    import reconciler  # noqa: PLC0415 - only the process that serves loads it

    for module in pkgutil.walk_packages(reconciler.__path__, "reconciler."):
        import_module(module.name)
    for name in ("obstore.store", "psycopg", "pyrage", "httpx", "rich.live", "deepdiff", "pydantic_settings"):
        import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen(100)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while sys.stdin not in select.select([server, sys.stdin], [], [])[0]:
            connection, _ = server.accept()
            if not os.fork():
                server.close()
                _keep(connection)
            connection.close()


def _keep(connection: socket.socket) -> NoReturn:
    """Run the command that a connection asks for, and tell its process id, and its exit code."""
    _, streams, *_ = socket.recv_fds(connection, 1, 3)
    with connection.makefile("rw") as file:
        request = json.loads(file.readline())
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        pid = os.fork()
        if not pid:
            _run(streams, **request)
        for stream in streams:
            os.close(stream)
        with suppress(BrokenPipeError):
            file.write(f"{pid}\n")
            file.flush()
            status = os.waitpid(pid, 0)[1]
            file.write(f"{os.waitstatus_to_exitcode(status)}\n")
            file.flush()
    os._exit(0)


def _run(streams: Sequence[int], words: Sequence[str], cwd: str, environment: Mapping[str, str]) -> NoReturn:
    """Become the command."""
    from reconciler.cli.main import main  # noqa: PLC0415 - loaded before

    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, 256)
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115 - as a new process has them
    sys.stderr = open(2, "w", buffering=1)  # noqa: SIM115 - likewise
    time.tzset()
    _ahead.append(float(environment.get("TEST_CLOCK_AHEAD") or 0))
    sys.argv = ["reconciler", *words]
    main()


if __name__ == "__main__":
    serve(sys.argv[1])
