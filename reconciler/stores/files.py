"""Stores a record in a file on this machine.

An append locks the file while it writes. Readers take no lock: a record only grows, so they see an append in progress
as an incomplete last line or as complete lines. A read first syncs the lines to disk, because the process that wrote
them may have been killed. Remembered heads and plans thus always refer to durable lines.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from errno import EDQUOT, EFBIG, ELOOP, ENOSPC
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.disk import (
    LockHeld,
    host_only_locks,
    lock,
    make_directory,
    open_regular,
    settle,
    settle_name,
    sync_directory,
    write_at,
    written_beside,
)
from reconciler.errors import Message, RecordError, Step, StoreUnavailable
from reconciler.record.store import Stored, head_moved, require_head

if TYPE_CHECKING:
    from collections.abc import Iterator

_FILE_MODE, _DIRECTORY_MODE = 0o644, 0o755
_PATIENCE = 30.0  # seconds to wait for another process to append, which normally takes milliseconds
_STEPS = {
    ENOSPC: "make room on the disk",
    EDQUOT: "make room on the disk, or have the quota raised",
    EFBIG: "raise the limit on the size of files (ulimit -f)",
    ELOOP: "name the file itself, not a symbolic link",
}


class FileStore:
    """Stores the record in one file. Symbolic links are resolved, so that the file has one name on this machine."""

    path: Path | None

    def __init__(self, path: Path) -> None:
        self._file = self.path = Path(os.path.realpath(path))
        self.place = str(self._file)

    def read(self) -> Stored:
        """Return the file's bytes after syncing them to disk."""
        with self._failures_named("read"):
            try:
                descriptor = open_regular(self._file, os.O_RDONLY | os.O_NOFOLLOW)
            except FileNotFoundError:
                return Stored(None)
            with os.fdopen(descriptor, "rb") as file:
                data = file.read()
                settle(descriptor)
            settle_name(self._file)
            return Stored(data)

    def append(self, head: str | None, lines: bytes, summary: str, *, second: str | None = None) -> None:  # noqa: ARG002
        """Append the lines under a lock; a failure leaves the file unchanged."""
        with self._failures_named("write"):
            if head is None:
                self._begin(lines)
                return
            with self._locked() as descriptor:
                settle_name(self._file)
                tail = _last_line(descriptor)
                require_head(tail[1], head, self.place)
                _write_after(descriptor, tail[0], lines)

    def prepare(self) -> None:
        """Raise RecordError if other hosts do not see locks on this file system. The first append creates the file."""
        if kind := host_only_locks(self._file):
            what = f"other hosts do not see locks on this file system ({kind}), so two runs could both append"
            raise RecordError(Message("host-only-locks", what, self.place, (Step("keep the record elsewhere"),)))

    def check_writable(self) -> None:
        """Check that the file can be opened for writing, and that a file can be written beside it."""
        self.prepare()
        with self._failures_named("write"):
            with suppress(FileNotFoundError):
                os.close(open_regular(self._file, os.O_RDWR | os.O_NOFOLLOW))
            directory = next(parent for parent in self._file.parents if parent.is_dir())
            with written_beside(directory / self._file.name, b"\n", _FILE_MODE):
                sync_directory(directory)

    def _begin(self, lines: bytes) -> None:
        """Create the file by linking a temporary file: unlike a rename, a link fails if the file exists."""
        make_directory(self._file.parent, _DIRECTORY_MODE)
        with written_beside(self._file, lines, _FILE_MODE) as beside:
            try:
                os.link(beside, self._file)
            except FileExistsError:
                raise head_moved(self.place, "there is a record already") from None
            sync_directory(self._file.parent)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Lock the file and yield its descriptor. If the file is replaced during the wait, the new file is opened."""
        while True:
            try:
                descriptor = open_regular(self._file, os.O_RDWR | os.O_NOFOLLOW)
            except FileNotFoundError:
                raise head_moved(self.place, "the record is missing") from None
            try:
                lock(descriptor, self._file, _PATIENCE)
                if self._is_named(descriptor):
                    yield descriptor
                    return
            finally:
                os.close(descriptor)

    def _is_named(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self._file.stat())
        except FileNotFoundError:
            return False

    @contextmanager
    def _failures_named(self, verb: str) -> Iterator[None]:
        """Raise StoreUnavailable in place of OSError. Its message says what failed, where and why."""
        try:
            yield
        except LockHeld as problem:
            what = f"cannot {verb} the record: {problem.strerror}"
            raise StoreUnavailable(Message("record-locked", what, self.place, (Step(problem.remedy),))) from None
        except OSError as problem:
            what = f"cannot {verb} the record: {problem.strerror or problem}"
            step = Step(_STEPS.get(problem.errno or 0, "check the path, the disk and the permissions"))
            name = "record-unwritable" if verb == "write" else "record-not-read"
            raise StoreUnavailable(Message(name, what, self.place, (step,))) from problem


def _write_after(descriptor: int, end: int, lines: bytes) -> None:
    """Replace everything after the offset `end` with `lines`. If this fails, the new lines are removed.

    Bytes after `end` are left over from an interrupted write.
    """
    try:
        os.ftruncate(descriptor, end)
        write_at(descriptor, lines, end)
    except BaseException:
        with suppress(OSError):
            os.ftruncate(descriptor, end)
            os.fsync(descriptor)
        raise


def _last_line(descriptor: int) -> tuple[int, bytes]:
    """Return the offset at which the last complete line ends, and that line. Only the end of the file is read."""
    size = os.fstat(descriptor).st_size
    span = 8192
    while True:
        start = max(0, size - span)
        data = os.pread(descriptor, size - start, start)
        end = data.rfind(b"\n") + 1
        line_start = data.rfind(b"\n", 0, max(0, end - 1)) + 1
        if start == 0 or line_start:
            return start + end, data[line_start:end]
        span *= 8
