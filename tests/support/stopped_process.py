"""Another process, stopped at the worst of moments."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
