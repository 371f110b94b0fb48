"""Commands as forks of one process that has loaded the program: starting it is most of what a command costs.

What a test does on the way to what it is about, or to look at the result, it does so; and so it starts processes that
meet, are stopped or are killed, where it is their meeting that the test is about.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping, Sequence

_PROGRAM = """\
import atexit, importlib, json, os, pkgutil, sys
import reconciler
for module in pkgutil.walk_packages(reconciler.__path__, "reconciler."):
    importlib.import_module(module.name)
from reconciler.__main__ import main

def run(call):
    os.chdir(call["path"])
    os.environ.clear()
    os.environ.update(call["environment"])
    for number, name in enumerate(("in", "out", "err")):
        os.dup2(os.open(call["streams"] + "/" + name, os.O_RDWR | os.O_CREAT, 0o600), number)
    exec(call["before"], {})
    sys.argv = ["reconciler", *call["arguments"]]
    main()

def start(call):
    child = os.fork()
    if child:
        return child
    code = 70
    atexit._clear()  # what is registered is for the end of this process, not of each of its forks
    try:
        run(call)
    except SystemExit as ended:
        code = ended.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

for line in sys.stdin:
    call = json.loads(line)
    if "ended" in call:
        child, status = os.waitpid(call["ended"], os.WNOHANG if call["poll"] else 0)
        print(json.dumps(os.waitstatus_to_exitcode(status) if child else None), flush=True)
    else:
        print(start(call), flush=True)
"""


_processes: list[subprocess.Popen[bytes]] = []
_asking = Lock()


class Started:
    """A command that was started: as much of a `subprocess.Popen` as tests use, its streams read at its end."""

    def __init__(
        self, arguments: Sequence[str], path: Path, environment: Mapping[str, str], stdin: str = "", before: str = ""
    ) -> None:
        """Start `reconciler` in a directory, and run Python code `before` it."""
        self.returncode: int | None = None
        self._streams = TemporaryDirectory()
        Path(self._streams.name, "in").write_text(stdin, encoding="utf-8")
        call = {"arguments": [*arguments], "path": str(path), "environment": dict(environment), "before": before}
        self.pid: int = _ask({**call, "streams": self._streams.name})

    def poll(self) -> int | None:
        """Its exit code, once it has ended."""
        return self._ended(poll=True)

    def _ended(self, *, poll: bool) -> int | None:
        if self.returncode is None:
            self.returncode = _ask({"ended": self.pid, "poll": poll})
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; without a timeout no other command can be started meanwhile."""
        until = time.monotonic() + (timeout or 0)
        while (code := self._ended(poll=timeout is not None)) is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired(["reconciler"], timeout or 0)
            time.sleep(0.005)
        return code

    def communicate(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        """What it has written to stdout and to stderr, once it has ended."""
        self.wait(timeout)
        with self._streams:
            out, err = (Path(self._streams.name, name).read_bytes() for name in ("out", "err"))
        assert b"Traceback" not in err, err
        assert b"internal error" not in err, err
        return out, err


def _ask(call: Mapping[str, object]) -> int:
    with _asking:
        if not _processes:
            command = [sys.executable, "-P", "-c", _PROGRAM]
            _processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        (process,) = _processes
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(call).encode() + b"\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())  # type: ignore[no-any-return]


def end() -> None:
    """End the process, if there is one."""
    for process in _processes:
        process.communicate(timeout=10)
