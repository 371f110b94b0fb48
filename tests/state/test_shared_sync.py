"""Syncs of a directory: shared by the threads that wait for one, and never one that began too early."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from reconciler.disk import shared_sync
from reconciler.disk.shared_sync import SharedSync

if TYPE_CHECKING:
    from pathlib import Path


class Disk:
    """A disk whose first sync lasts until it is released; `synced` are the names that each sync found."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.synced: list[set[str]] = []
        self.begun, self.released = threading.Event(), threading.Event()
        self.problem: OSError | None = None

    def sync(self, _directory: Path) -> None:
        found = set(self.names)
        self.begun.set()
        assert self.released.wait(20)
        if self.problem is not None:
            problem, self.problem = self.problem, None
            raise problem
        self.synced.append(found)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    """A disk that stands for the real one."""
    made = Disk()
    monkeypatch.setattr(shared_sync, "sync_directory", made.sync)
    return made


class Writer(threading.Thread):
    """Makes a name and waits until it is on the disk."""

    def __init__(self, disk: Disk, sync: SharedSync, name: str) -> None:
        super().__init__(daemon=True)
        self.problem: OSError | None = None
        self.found: set[str] = set()
        self._disk, self._sync, self._name = disk, sync, name
        self.start()

    def run(self) -> None:
        self._disk.names.append(self._name)
        try:
            self._sync.wait()
        except OSError as problem:
            self.problem = problem
        self.found = {name for names in self._disk.synced for name in names}


def wait_until_asked(sync: SharedSync, number: int) -> None:
    """Wait until so many threads have asked."""
    until = time.monotonic() + 20
    while sync._asked < number and time.monotonic() < until:
        time.sleep(0.001)
    assert sync._asked == number


def test_names_made_during_a_sync_share_the_next(tmp_path: Path, disk: Disk) -> None:
    """Nobody goes on before a sync that began after the name was made; and one does for all that wait."""
    sync = SharedSync(tmp_path)
    first = Writer(disk, sync, "first")
    assert disk.begun.wait(20)
    others = [Writer(disk, sync, f"other-{number}") for number in range(6)]
    wait_until_asked(sync, 7)
    disk.released.set()
    for writer in (first, *others):
        writer.join(20)
        assert writer._name in writer.found
    assert 2 == len(disk.synced)


def test_a_sync_that_fails_counts_for_nobody(tmp_path: Path, disk: Disk) -> None:
    """The thread that did it hears of it; those that wait do their own."""
    sync, disk.problem = SharedSync(tmp_path), OSError("no disk")
    first = Writer(disk, sync, "first")
    assert disk.begun.wait(20)
    second = Writer(disk, sync, "second")
    wait_until_asked(sync, 2)
    disk.released.set()
    first.join(20)
    second.join(20)
    assert (True, None, {"first", "second"}) == (first.problem is not None, second.problem, second.found)
