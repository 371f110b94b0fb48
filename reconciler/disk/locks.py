"""Locks on files, with a limit on the wait and the holder's name in the error."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager, suppress
from errno import ETIMEDOUT
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROC_LOCKS = Path("/proc/locks")
_LONGEST_PAUSE = 0.05  # seconds between two attempts to take a lock


class LockHeld(OSError):
    """Another process held the lock until the wait timed out; `strerror` names the process and the wait."""

    remedy = "if that process hangs, stop it; then run the command again"


@contextmanager
def locked_file(path: Path, patience: float) -> Iterator[int]:
    """Hold an exclusive lock on a file that exists for nothing else; it is created with mode 0600, and given open.

    Raises LockHeld after `patience` seconds, and any other OSError.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        lock(descriptor, path, patience)
        yield descriptor
    finally:
        os.close(descriptor)


def lock(descriptor: int, path: Path, patience: float) -> None:
    """Take an exclusive lock on an open file, waiting at most `patience` seconds; closing the file releases it.

    The lock is polled for: a wait in the kernel has no timeout.
    Raises LockHeld, and any other OSError on a file system without locks.
    """
    deadline = time.monotonic() + patience
    pause = 0.001
    while not _lock_now(descriptor):
        if time.monotonic() >= deadline:
            waited = f" (waited {patience:g} s)" if patience else ""
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
    """The process that holds the lock on an open file, if /proc shows it.

    Only the program's name is given: its arguments may contain secrets.
    """
    status = os.fstat(descriptor)
    file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    with suppress(OSError, ValueError):
        for line in _PROC_LOCKS.read_text(encoding="ascii").splitlines():
            match line.split():
                case [_, "FLOCK", _, _, pid, where, *_] if where == file and int(pid) > 0:
                    name = Path(f"/proc/{pid}/comm").read_text(encoding="ascii", errors="backslashreplace")
                    return f"process {pid} ({name.rstrip()})"
    return "another process"
