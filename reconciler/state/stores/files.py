"""Journals as files: `<root>/<region>/<environment>.jsonl`."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from errno import EDQUOT, EFBIG, ENOSPC
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.disk.durable import (
    make_directory,
    open_regular,
    settle,
    settle_name,
    sync_directory,
    write_at,
    written_beside,
)
from reconciler.disk.locks import LockHeld, lock
from reconciler.errors import HeadMoved, StoreUnavailable
from reconciler.model.address import TargetName
from reconciler.state.journal.chain import claimed_head, head_of
from reconciler.state.stores.store import StoreLocation

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Hashable, Iterator

_SUFFIX = ".jsonl"
_FILE_MODE, _DIRECTORY_MODE = 0o644, 0o755
_REMEDY = "check the disk and the permissions, then run the command again"
_FULL = {
    ENOSPC: "first make room on its disk",
    EDQUOT: "first make room on its disk, or have the quota raised",
    EFBIG: "first make room on its disk, or raise the limit on the size of files (ulimit -f)",
}
"""What to do where there is no room for a write. What comes then depends on what was sent, which the caller says."""
_PATIENCE = 30.0  # seconds to wait for another process that appends to a journal; an append takes milliseconds
_BRIEFLY = 1.0  # seconds, after a timeout: an apply retries for each outcome, and must end


class FileStore:
    """Journals in a directory of this machine.

    An append locks the journal file while it writes. Readers take no lock: a journal only grows, so a concurrent append
    shows as an incomplete last line or as complete lines. A read waits until what it read is on the disk, even if the
    process that wrote it was killed before: heads are remembered, and plans made, of durable entries only. What ends
    with a remembered head is the very bytes that were on the disk when it was remembered, since a head is the hash of
    all of them; waiting again, twice for each target, would take most of the time of a plan without changes. If they
    are a copy that somebody put back, and the power fails before it is on the disk, the remembered head says so.
    """

    def __init__(self, root: Path) -> None:
        self.path = root.absolute()  # the working directory may be deleted later
        self.location = str(root)
        self._patience = _PATIENCE

    @cached_property
    def place(self) -> StoreLocation:
        """See Store.place; links are resolved once, since heads are remembered for every target, at every append."""
        return StoreLocation(str(self.path), os.path.realpath(self.path))

    def prepare(self) -> None:
        """See Store.prepare; directories are made with the first journal in them."""

    def targets(self) -> list[TargetName]:
        """See Store.targets; files with other names are ignored."""
        with _failures_mapped(lambda: Path(self.location), "list"):
            return sorted(
                TargetName(f"{region.name}/{journal.name.removesuffix(_SUFFIX)}")
                for region in _visible(self.path)
                if region.is_dir()
                for journal in _visible(Path(region))
                if journal.name.endswith(_SUFFIX)
            )

    def read(self, target: TargetName, durable: Container[str] = ()) -> bytes | None:
        file = self._file(target)
        with _failures_mapped(lambda: self.journal_file(target), "read"):
            try:
                descriptor = open_regular(file, os.O_RDONLY)
            except FileNotFoundError:
                return None
            with os.fdopen(descriptor, "rb") as journal:
                data = journal.read()
                if claimed_head(data) in durable:
                    return data
                settle(descriptor)
            settle_name(self.journal_file(target))
            return data

    def stamp(self, target: TargetName) -> Hashable | None:
        """See Store.stamp; the file is opened, since a network file system asks its server only then."""
        try:
            descriptor = os.open(f"{self.path}/{target}{_SUFFIX}", os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            status = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def append(self, target: TargetName, head: str | None, seq: int, lines: bytes, note: str) -> None:  # noqa: ARG002
        """See Store.append; `head` is found at the end of the file, and files have no history for `note`."""
        path = self.journal_file(target)
        with _failures_mapped(lambda: path, "write"):
            if head is None:
                _create(path, lines)
                return
            try:
                _extend(path, head, lines, self._patience)
            except LockHeld:
                self._patience = _BRIEFLY
                raise
            self._patience = _PATIENCE

    def check_writable(self, target: TargetName) -> None:
        """See Triable.check_writable: opens the journal for writing, and writes a file beside it durably."""
        path = self.journal_file(target)
        with _failures_mapped(lambda: path, "write"):
            os.close(open_regular(path, os.O_RDWR))
            with written_beside(path, b"a write that is only tried\n", _FILE_MODE):
                sync_directory(path.parent)

    def where(self, target: TargetName) -> str:
        """See Store.where."""
        return f"{self.location}/{target}{_SUFFIX}"

    def journal_file(self, target: TargetName) -> Path:
        """The real path of the target's journal, which may be a symbolic link."""
        return Path(os.path.realpath(self._file(target)))

    def _file(self, target: TargetName) -> Path:
        if any(not part or part.startswith(".") or "/" in part for part in (target.region, target.environment)):
            raise StoreUnavailable(f"not a valid target name: {target!r}", where=self.location)
        return self.path / f"{target}{_SUFFIX}"


def _visible(root: Path) -> list[os.DirEntry[str]]:
    """The entries of a directory that are not hidden; none if it does not exist."""
    try:
        with os.scandir(root) as found:
            return [entry for entry in found if not entry.name.startswith(".")]
    except FileNotFoundError:
        return []


def _create(path: Path, lines: bytes) -> None:
    """Create a journal atomically: a link fails if the name exists, and a rename would not."""
    make_directory(path.parent, _DIRECTORY_MODE)
    with written_beside(path, lines, _FILE_MODE) as beside:
        try:
            os.link(beside, path)
        except FileExistsError:
            raise HeadMoved("conflict: another run initialized this journal", where=path) from None
        sync_directory(path.parent)


def _extend(path: Path, head: str, lines: bytes, patience: float) -> None:
    """Append to a journal; if that fails, the journal is unchanged."""
    with _locked(path, patience) as descriptor:
        settle_name(path)
        end, last_line = _last_line(descriptor)
        if head_of(last_line) != head:
            raise HeadMoved("conflict: another run appended to this journal", where=path)
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
    """The journal, open and locked. If it was replaced or deleted during the wait for the lock, it is opened again."""
    while True:
        try:
            descriptor = open_regular(path, os.O_RDWR)
        except FileNotFoundError:
            raise HeadMoved("the journal is missing", where=path) from None
        try:
            lock(descriptor, path, patience)
            if _is_at(descriptor, path):
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the open file still has that name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _last_line(descriptor: int) -> tuple[int, bytes]:
    """Where the last complete line ends, and the line without its newline; reads no more than needed."""
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
def _failures_mapped(where: Callable[[], Path], verb: str) -> Iterator[None]:
    """Turns OSError into StoreUnavailable, which says what failed, where and why."""
    try:
        yield
    except OSError as problem:
        raise StoreUnavailable(
            f"cannot {verb} the state record: {problem.strerror or problem}",
            where=where(),
            remedy=_remedy(problem),
        ) from problem


def _remedy(problem: OSError) -> str:
    if isinstance(problem, LockHeld):
        return problem.remedy
    if isinstance(problem, NotADirectoryError):
        return "a file is in the place of a directory: move it away, or use another directory with --state"
    return _FULL.get(problem.errno or 0, _REMEDY)
