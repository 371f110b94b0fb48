"""Which heads are remembered on this machine: the files in their directory, listed again when there may be new ones."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.disk.directories import check_private
from reconciler.errors import SettingsError
from reconciler.state.heads.known_head import load_known_head
from reconciler.state.heads.seen import Seen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from reconciler.model.address import TargetName
    from reconciler.state.heads.known_head import KnownHead

_SUFFIX = ".json"
_MOMENT = 50_000_000
"""Nanoseconds after which two files cannot have the same time: the clocks of file systems stand for less."""


class _Stamp(Struct, frozen=True):
    """What changes with the names in the directory: its time alone may not, since that clock stands for milliseconds.

    `new_names` counts those that other processes of this version have added.
    """

    directory: int
    changed_at: int
    new_names: int


class Listing:
    """The remembered heads in `directory`, one file for each record id; whoever writes one holds `lock`."""

    def __init__(self, cache: Path, directory: Path) -> None:
        self.lock = directory / ".lock"
        self._cache = cache
        self._directory = directory
        self._prefix = f"{directory}/"
        self._latest: tuple[_Stamp | None, Seen] = None, Seen.of(())
        self._loaded: dict[str, tuple[tuple[int, ...], KnownHead]] = {}

    def file(self, record: str) -> Path:
        """The file for the head of a record."""
        return self._directory / f"{record}{_SUFFIX}"

    def read(self, target: TargetName | None) -> Seen:
        """The heads of all records: those of `target` (None: of every target) as they are now, others as last read.

        A record never changes its target, so reading one target costs no more with each other target. Raises
        SettingsError if the directory, or a file in it, cannot be read or is not safe.
        """
        latest = stamp, seen = self._latest
        try:
            now = self._stamp()
            names = None if now == stamp else self._names()
        except FileNotFoundError:
            return Seen.of(())
        except OSError as problem:
            raise SettingsError(
                f"cannot read the last known heads: {problem.strerror}",
                where=self._directory,
                remedy="check the permissions, or use another --cache-dir",
            ) from problem
        again = seen.records if target is None else seen.of_targets.get(target, ())
        if names is None:
            seen = seen.renewed(self._load(again))
        else:
            kept = {record: known for record, known in seen.records.items() if record not in again}
            seen = Seen.of([*kept.values(), *self._load(names - kept.keys())])
        if self._latest is latest:  # else another thread has read meanwhile, perhaps more
            self._latest = now, seen
        return seen

    @contextmanager
    def adding(self, head: KnownHead, lock: int, *, is_new: bool) -> Iterator[None]:
        """While `lock`, the open file, is held and `head` is written: other processes need not list what this one adds.

        The size of the file is the number of new names that there were.
        """
        latest, before = self._latest, self._stamp()
        yield
        if is_new:
            os.ftruncate(lock, os.fstat(lock).st_size + 1)
        stamp, seen = latest
        if stamp == before and self._latest is latest:
            self._latest = self._stamp(), seen.renewed([head])

    def _stamp(self) -> _Stamp:
        """Raises OSError, and SettingsError for a directory that is not safe."""
        check_private(self._cache)
        status = check_private(self._directory)
        try:
            new_names = self.lock.lstat().st_size
        except FileNotFoundError:
            new_names = 0
        return _Stamp(status.st_ino, status.st_mtime_ns, new_names)

    def _names(self) -> set[str]:
        """The records that have a file. Raises OSError."""
        with os.scandir(self._directory) as found:
            names = [entry.name for entry in found]
        return {name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX) and name != _SUFFIX}

    def _load(self, records: Iterable[str]) -> Iterator[KnownHead]:
        """The heads of these records that are still remembered."""
        return (known for record in sorted(records) if (known := self._current(record)) is not None)

    def _current(self, record: str) -> KnownHead | None:
        """The head of a record as it is now. Files are replaced as a whole, so the same one need not be read again."""
        try:
            status = os.lstat(f"{self._prefix}{record}{_SUFFIX}")
        except OSError:
            return load_known_head(self.file(record))
        file = status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
        loaded = self._loaded.get(record)
        if loaded is not None and loaded[0] == file:
            return loaded[1]
        known = load_known_head(self.file(record))
        if known is not None and time.time_ns() - status.st_mtime_ns > _MOMENT:
            self._loaded[record] = file, known
        return known
