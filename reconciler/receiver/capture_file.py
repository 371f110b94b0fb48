"""Appends captured notifications durably to a file, many at a time."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from fcntl import LOCK_UN, flock
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct, field

from reconciler.disk import lock, sync_directory, write_at
from reconciler.errors import Message, SettingsError, Step
from reconciler.notifications.captured import LINE_LIMIT, parse_line

if TYPE_CHECKING:
    from pathlib import Path

_PATIENCE = 10.0  # seconds to wait for another process to append; the sender of a notification waits meanwhile


class _Batch(Struct):
    """Lines that are written together. `problem` is the error if the write failed, otherwise None."""

    lines: list[bytes] = field(default_factory=list)
    written: bool = False
    problem: OSError | None = None


class CaptureFile:
    """An open capture file. Several processes may append to one file.

    A missing file is created with access for its owner only. Raises SettingsError for a file that cannot be written or
    is not a capture file.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._batch = path, _Batch()
        self._filling, self._writing = Lock(), Lock()
        try:
            # O_NONBLOCK: a device is refused below, but opening it could block (a serial line without a peer does).
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o600)
            sync_directory(path.parent)  # a file is lost if its name is not on disk
        except OSError as problem:
            raise SettingsError(Message("unwritable-capture", f"cannot write: {problem.strerror}", str(path))) from None
        try:
            self._check_ours()
        except BaseException:
            os.close(self._descriptor)
            raise

    def append(self, line: bytes) -> None:
        """Append a line and return once it is on disk. Raises OSError if the write fails.

        This is a group commit: the first thread writes the lines of all waiting threads.
        """
        with self._filling:
            batch = self._batch
            batch.lines.append(line)
        with self._writing:
            if not batch.written:
                with self._filling:
                    self._batch = _Batch()
                try:
                    self._write(b"".join(batch.lines))
                except OSError as problem:
                    batch.problem = problem
                batch.written = True
        if batch.problem is not None:
            raise batch.problem

    def close(self) -> None:
        with self._writing:
            os.close(self._descriptor)

    def _check_ours(self) -> None:
        """Raise SettingsError unless this is a capture file: an append to another file could destroy its last line."""
        is_regular = stat.S_ISREG(os.fstat(self._descriptor).st_mode)
        start = os.pread(self._descriptor, LINE_LIMIT, 0) if is_regular else b""
        first, newline, _ = start.partition(b"\n")
        if newline:
            parse_line(first, f"{self.path}:1")
        elif not is_regular or first[:1] not in (b"", b"{"):
            what, steps = "not a file of captured notifications", (Step("use another file"),)
            raise SettingsError(Message("other-contents", what, str(self.path), steps))

    def _write(self, data: bytes) -> None:
        """Write the data after the last newline, and sync the file. Raises OSError if nothing was written."""
        lock(self._descriptor, self.path, _PATIENCE)
        try:
            end = os.fstat(self._descriptor).st_size
            if end and os.pread(self._descriptor, 1, end - 1) != b"\n":  # an incomplete line, left by a failed write
                begin = max(0, end - LINE_LIMIT)
                end = begin + os.pread(self._descriptor, LINE_LIMIT, begin).rfind(b"\n") + 1
            try:
                os.ftruncate(self._descriptor, end)
                write_at(self._descriptor, data, end)
            except OSError:
                with suppress(OSError):  # otherwise an incomplete line remains, which readers ignore
                    os.ftruncate(self._descriptor, end)
                raise
        finally:
            flock(self._descriptor, LOCK_UN)
