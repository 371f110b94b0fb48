"""Processes that have been stopped, at the worst of moments."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_HOLD = """
import fcntl, os, signal, sys
file = open(sys.argv[1], "a")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""


@contextmanager
def held_by_a_stopped_process(path: Path) -> Iterator[int]:
    """The id of a process that has locked a file and was stopped then; a secret is among its arguments."""
    command = [sys.executable, "-c", _HOLD, str(path), "--password=hunter2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"held\n"
            yield process.pid
        finally:
            process.kill()


def process_state(pid: int) -> list[str]:
    """What the system says of a process after its name (proc(5)): its state, its parent, ...; empty once it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def wait_until_stopped(pid: int) -> None:
    """Wait until a process has stopped itself."""
    until = time.monotonic() + 30
    while (state := process_state(pid)[:1]) != ["T"]:
        assert state not in ([], ["Z"]), "it has ended"
        assert time.monotonic() < until, "it does not stop"
        time.sleep(0.005)
