"""The file that captured requests are appended to, durably, many at a time."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from fcntl import LOCK_UN, flock
from pathlib import Path
from threading import Lock
from typing import Self

from msgspec import Struct, field

from reconciler.disk.durable import sync_directory, write_at
from reconciler.disk.locks import lock
from reconciler.errors import SettingsError
from reconciler.receiver.captured import LINE_LIMIT, Captured, captured_in, parse_captured

_REMEMBERED = 64 * 1024 * 1024  # bytes at the end of a file that are read when it is opened
_PATIENCE = 10.0  # seconds to wait for another process that appends; the sender of a notification waits as long
_LINE_START = b'{"at": '


class _Batch(Struct):
    """Lines that are written together. `problem` is why they could not be."""

    lines: list[bytes] = field(default_factory=list)
    written: bool = False
    problem: OSError | None = None


class CaptureFile:
    """An open capture file. Several processes may append to one file.

    A missing file is created, for its owner only. Raises SettingsError for a file that cannot be written or has other
    contents.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filling = Lock()
        self._writing = Lock()
        self._batch = _Batch()
        self._descriptor = _open(path)

    def append(self, line: bytes) -> None:
        """Append a line, and return after it is on the disk. Raises OSError if it is not.

        This is a group commit: the first thread writes the lines of all that wait.
        """
        with self._filling:
            batch = self._batch
            batch.lines.append(line)
        with self._writing:
            if not batch.written:
                with self._filling:
                    self._batch = _Batch()
                self._write(batch)
        if batch.problem is not None:
            raise batch.problem

    def _write(self, batch: _Batch) -> None:
        try:
            _append(self._descriptor, self.path, b"".join(batch.lines))
        except OSError as problem:
            batch.problem = problem
        batch.written = True

    def latest(self) -> Iterator[Captured]:
        """The requests in the file; of a long file, those at the end. Raises SettingsError."""
        size = os.fstat(self._descriptor).st_size
        if size <= _REMEMBERED:
            yield from captured_in(self.path)
            return
        tail = os.pread(self._descriptor, _REMEMBERED, size - _REMEMBERED)
        for line in tail.split(b"\n")[1:-1]:  # the first and the last may be incomplete
            yield parse_captured(line, self.path)

    def close(self) -> None:
        with self._writing:
            os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _open(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o600)
    except OSError as problem:
        raise SettingsError(f"cannot write: {problem.strerror}", where=path) from None
    try:
        _check_ours(descriptor, path)
        sync_directory(path.parent)  # a file whose name is not on the disk is lost
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check_ours(descriptor: int, path: Path) -> None:
    """Raises SettingsError for a file with other contents: an append would remove an incomplete last line from it."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise SettingsError("not a regular file, so notifications would not be saved", where=path)
    first, newline, _ = os.pread(descriptor, LINE_LIMIT, 0).partition(b"\n")
    if newline:
        parse_captured(first, f"{path}:1")
    elif not (first.startswith(_LINE_START) or _LINE_START.startswith(first)):
        raise SettingsError(
            "the file contains something other than captured requests", where=path, remedy="use another file"
        )


def _append(descriptor: int, path: Path, data: bytes) -> None:
    """Write at the end, after the last newline, and wait for the disk. Raises OSError, with nothing written."""
    lock(descriptor, path, _PATIENCE)
    try:
        end = _whole_size(descriptor)
        try:
            os.ftruncate(descriptor, end)
            write_at(descriptor, data, end)
        except OSError:
            with suppress(OSError):  # otherwise an incomplete line stays, which readers ignore
                os.ftruncate(descriptor, end)
            raise
    finally:
        flock(descriptor, LOCK_UN)


def _whole_size(descriptor: int) -> int:
    """The file's size up to and including its last newline."""
    size = os.fstat(descriptor).st_size
    if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n":
        return size
    begin = max(0, size - LINE_LIMIT)
    return begin + os.pread(descriptor, LINE_LIMIT, begin).rfind(b"\n") + 1
