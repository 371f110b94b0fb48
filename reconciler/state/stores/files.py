"""Journals as files: `<root>/<region>/<environment>.jsonl`."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.disk.durable import make_directory, settle, settle_name, sync_directory, write_at, written_beside
from reconciler.disk.locks import LockHeld, lock
from reconciler.errors import HeadMoved, StoreUnavailable
from reconciler.model.address import TargetName
from reconciler.state.journal.chain import head_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_SUFFIX = ".jsonl"
_FILE_MODE, _DIRECTORY_MODE = 0o644, 0o755
_REMEDY = "see to the disk and the permissions, and run the command again"
_PATIENCE = 30.0  # seconds to wait for whoever else appends to a journal; an append takes milliseconds
_BRIEFLY = 1.0  # seconds, once that was in vain: an apply tries again for each outcome, and must come to its end


class FileStore:
    """Journals in a directory of this machine.

    Appends lock the journal itself, for their own duration only. Readers take no lock: since a journal only grows,
    what they see of an append under way is a torn tail or whole lines. What they have read is on the disk, even if the
    process that wrote it died before it was: a head is remembered, and a plan made, only of what cannot be lost.
    """

    local = True

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()  # the working directory may be gone by the time it is written to
        self.location = str(root)
        self._patience = _PATIENCE

    def targets(self) -> list[TargetName]:
        """See Store.targets; files of any other name are left alone."""
        with _failures_told(Path(self.location), "listed"):
            return sorted(
                TargetName(f"{region.name}/{journal.name.removesuffix(_SUFFIX)}")
                for region in _visible(self.root)
                if region.is_dir()
                for journal in _visible(Path(region))
                if journal.name.endswith(_SUFFIX)
            )

    def read(self, target: TargetName) -> bytes | None:
        """See Store.read."""
        path = self._path(target)
        with _failures_told(path, "read"):
            try:
                descriptor = _open_regular(path, os.O_RDONLY)
            except FileNotFoundError:
                return None
            with os.fdopen(descriptor, "rb") as file:
                data = file.read()
                settle(descriptor)
            settle_name(path)
            return data

    def append(self, target: TargetName, head: str | None, lines: bytes, note: str) -> None:  # noqa: ARG002
        """See Store.append; files keep no history of their own, so `note` goes nowhere."""
        path = self._path(target)
        with _failures_told(path, "written"):
            if head is None:
                _create(path, lines)
            else:
                self._extend(path, head, lines)

    def _extend(self, path: Path, head: str, lines: bytes) -> None:
        try:
            _extend(path, head, lines, self._patience)
        except LockHeld:
            self._patience = _BRIEFLY
            raise
        self._patience = _PATIENCE

    def _path(self, target: TargetName) -> Path:
        """Where the target's journal really is: a journal may be a symbolic link to one."""
        if any(not part or part.startswith(".") or "/" in part for part in (target.region, target.environment)):
            raise StoreUnavailable(f"{target!r} is no name for a journal", where=self.location)
        return Path(os.path.realpath(self.root / target.region / f"{target.environment}{_SUFFIX}"))


def _visible(root: Path) -> list[os.DirEntry[str]]:
    """What is in a directory and not hidden; nothing where there is none."""
    try:
        with os.scandir(root) as found:
            return [one for one in found if not one.name.startswith(".")]
    except FileNotFoundError:
        return []


def _create(path: Path, lines: bytes) -> None:
    """Begin a journal, whole or not at all: a link fails where the name is taken, and a rename would not."""
    make_directory(path.parent, _DIRECTORY_MODE)
    with written_beside(path, lines, _FILE_MODE) as beside:
        try:
            os.link(beside, path)
        except FileExistsError:
            raise HeadMoved("somebody else has begun this journal", where=path) from None
        sync_directory(path.parent)


def _extend(path: Path, head: str, lines: bytes, patience: float) -> None:
    """Append to a journal, which is as it was if that fails."""
    with _locked(path, patience) as descriptor:
        settle_name(path)
        end, last_line = _last_line(descriptor)
        if head_of(last_line) != head:
            raise HeadMoved("somebody else has appended to this journal", where=path)
        try:
            os.ftruncate(descriptor, end)
            write_at(descriptor, lines, end)
        except BaseException:
            with suppress(OSError):
                os.ftruncate(descriptor, end)
                os.fsync(descriptor)
            raise


@contextmanager
def _locked(path: Path, patience: float) -> Iterator[int]:
    """The journal, open and locked. One that was replaced or deleted while waiting for the lock is opened afresh."""
    while True:
        try:
            descriptor = _open_regular(path, os.O_RDWR)
        except FileNotFoundError:
            raise HeadMoved("this journal is gone", where=path) from None
        try:
            lock(descriptor, path, patience)
            if _is_at(descriptor, path):
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _open_regular(path: Path, flags: int) -> int:
    """Open a regular file; anything else (a directory, a pipe that would never answer) is an OSError."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("this is no regular file")
    return descriptor


def _last_line(descriptor: int) -> tuple[int, bytes]:
    """Where the last whole line ends, and the line without its newline; reads no more than that takes."""
    size = os.fstat(descriptor).st_size
    span = 8192
    while True:
        start = max(0, size - span)
        lines, newline, _ = os.pread(descriptor, size - start, start).rpartition(b"\n")
        _, previous_newline, last_line = lines.rpartition(b"\n")
        if start == 0 or previous_newline:
            return start + len(lines) + len(newline), last_line
        span *= 8


@contextmanager
def _failures_told(path: Path, done: str) -> Iterator[None]:
    """Turns OSError into StoreUnavailable: what could not be `done`, where and why."""
    try:
        yield
    except OSError as problem:
        raise StoreUnavailable(
            f"the state record cannot be {done}: {problem.strerror or problem}",
            where=path,
            remedy=problem.remedy if isinstance(problem, LockHeld) else _REMEDY,
        ) from problem
