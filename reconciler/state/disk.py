"""What writing durably to a disk takes, beyond writing."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager, suppress
from errno import EACCES, EINVAL, ENOTDIR, ENOTSUP, EPERM, EROFS, ETIMEDOUT
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCKS = Path("/proc/locks")
_CANNOT_BE_SYNCED = {EACCES, EPERM, EINVAL, EROFS, ENOTSUP}
"""How a system says that a file or directory is not this user's to sync, or is on no disk that can be written."""
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


def write_at(descriptor: int, data: bytes, offset: int) -> None:
    """Write all of `data` at `offset`, however little a single write takes, and wait until it is on the disk."""
    rest = memoryview(data)
    while rest:
        written = os.pwrite(descriptor, rest, offset)
        rest, offset = rest[written:], offset + written
    os.fsync(descriptor)


def make_directory(path: Path, mode: int) -> None:
    """Make a directory and those above it, durably; the mode of those that are there stays as it is.

    Raises NotADirectoryError where something else has the name, and any other OSError.
    """
    if path.is_dir():
        settle_name(path)
        return
    make_directory(path.parent, mode)
    try:
        path.mkdir(mode=mode, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR), str(path)) from None
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Wait until the names in a directory are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def settle(descriptor: int) -> None:
    """Wait until what was read of a file is on the disk: whoever wrote it may have died before it was."""
    try:
        os.fsync(descriptor)
    except OSError as problem:
        if problem.errno not in _CANNOT_BE_SYNCED:
            raise


@cache
def settle_name(path: Path) -> None:
    """Wait until the name of something that exists is on the disk: whoever made it may have died before it was.

    Once in a process is enough, since a name stays where it is.
    """
    try:
        sync_directory(path.parent)
    except OSError as problem:
        if problem.errno not in _CANNOT_BE_SYNCED:
            raise


@contextmanager
def written_beside(path: Path, data: bytes, mode: int) -> Iterator[Path]:
    """A new file that holds `data`, on the disk, in the directory of `path`: to be linked or renamed to it.

    It is gone afterwards. Its name starts with a dot, so that nobody takes it for anything.
    """
    beside = path.with_name(f".{path.name}.{os.urandom(8).hex()}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        try:
            write_at(descriptor, data, 0)
        finally:
            os.close(descriptor)
        yield beside
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()
