"""Durable writes: data and names that are on the disk before the program goes on."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from errno import EACCES, EINVAL, ENOTDIR, ENOTSUP, EPERM, EROFS
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CANNOT_BE_SYNCED = {EACCES, EPERM, EINVAL, EROFS, ENOTSUP}
"""Errors of a sync that mean: not permitted for this user, or not a writable disk."""


def open_regular(path: Path, flags: int) -> int:
    """Open a regular file; raises OSError for anything else, such as a directory or a pipe, which could block."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("not a regular file")
    return descriptor


def write_at(descriptor: int, data: bytes, offset: int) -> None:
    """Write all of `data` at `offset`, in several writes if needed, and wait until it is on the disk."""
    rest = memoryview(data)
    while rest:
        written = os.pwrite(descriptor, rest, offset)
        rest, offset = rest[written:], offset + written
    os.fsync(descriptor)


def make_directory(path: Path, mode: int) -> None:
    """Create a directory and its parents, durably; the mode of existing ones is not changed.

    Raises NotADirectoryError if something else has the name, and any other OSError.
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
    """Wait until a file that was read is on the disk: its writer may have been killed before that."""
    try:
        os.fsync(descriptor)
    except OSError as problem:
        if problem.errno not in _CANNOT_BE_SYNCED:
            raise


@cache
def settle_name(path: Path) -> None:
    """Wait until the name of an existing file is on the disk: its creator may have been killed before that.

    Once per process is enough: a name that is on the disk stays there.
    """
    try:
        sync_directory(path.parent)
    except OSError as problem:
        if problem.errno not in _CANNOT_BE_SYNCED:
            raise


def replace_file(path: Path, data: bytes, mode: int) -> None:
    """Replace a file, or create it, as a whole: with a new one whose `data` is on the disk."""
    beside = _write_beside(path, data, mode)
    try:
        beside.replace(path)
    except BaseException:
        _delete(beside)
        raise


@contextmanager
def written_beside(path: Path, data: bytes, mode: int) -> Iterator[Path]:
    """A new file with `data`, on the disk, in the directory of `path`: to be linked to it. It is deleted afterwards."""
    beside = _write_beside(path, data, mode)
    try:
        yield beside
    finally:
        _delete(beside)


def _write_beside(path: Path, data: bytes, mode: int) -> Path:
    """Write a new file in the directory of `path`. Its name starts with a dot: no reader takes it for a journal."""
    beside = path.with_name(f".{path.name}.{os.urandom(8).hex()}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        try:
            write_at(descriptor, data, 0)
        finally:
            os.close(descriptor)
    except BaseException:
        _delete(beside)
        raise
    return beside


def _delete(path: Path) -> None:
    with suppress(FileNotFoundError):
        path.unlink()
