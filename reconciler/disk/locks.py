"""Locks that are waited for no longer than somebody has patience, and whose holder is named."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from errno import ETIMEDOUT
from pathlib import Path

_LOCKS = Path("/proc/locks")
_LONGEST_PAUSE = 0.05  # seconds between two tries for a lock


class LockHeld(OSError):
    """Another process held a lock for as long as it was waited for; `strerror` says for how long, and which process."""

    remedy = "if that process is stopped or hangs, end it; then run the command again"


def lock(descriptor: int, path: Path, patience: float) -> None:
    """Lock an open file against everybody else who locks it, waiting for at most `patience` seconds.

    Closing the file ends the lock. It is polled for: a wait in the kernel has no end, and only a signal cuts it short.
    Raises LockHeld, and any other OSError on a file system without locks.
    """
    deadline = time.monotonic() + patience
    pause = 0.001
    while not _lock_now(descriptor):
        if time.monotonic() >= deadline:
            waited = f" and was not released within {patience:g} s" if patience else ""
            raise LockHeld(ETIMEDOUT, f"locked by {_holder(descriptor)}{waited}", str(path))
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)


def _lock_now(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> str:
    """The process that holds the lock on an open file, where the system says so.

    It is called by the name of its program alone: its arguments may hold secrets.
    """
    status = os.fstat(descriptor)
    file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    with suppress(OSError, ValueError):
        for line in _LOCKS.read_text(encoding="ascii").splitlines():
            match line.split():
                case [_, "FLOCK", _, _, pid, where, *_] if where == file and int(pid) > 0:
                    name = Path(f"/proc/{pid}/comm").read_text(encoding="ascii", errors="backslashreplace")
                    return f"process {pid} ({name.rstrip()})"
    return "another process"
