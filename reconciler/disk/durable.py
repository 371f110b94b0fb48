"""What writing durably to a disk takes, beyond writing."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from errno import EACCES, EINVAL, ENOTDIR, ENOTSUP, EPERM, EROFS
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CANNOT_BE_SYNCED = {EACCES, EPERM, EINVAL, EROFS, ENOTSUP}
"""How a system says that a file or directory is not this user's to sync, or is on no disk that can be written."""


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
