"""Locks that somebody else does not give back: what waits for one waits for a while only, and says who has it."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from typing import TYPE_CHECKING

import pytest
from support.journal_samples import TARGET, entries, imported, journal, journal_bytes
from support.stopped_process import held_by_a_stopped_process
from support.store_conformance import append_one, read_back

from reconciler.disk import locks
from reconciler.disk.locks import LockHeld, lock
from reconciler.errors import StoreUnavailable
from reconciler.state.heads import remembered as heads
from reconciler.state.heads.remembered import Heads
from reconciler.state.journal.chain import link
from reconciler.state.stores import files
from reconciler.state.stores.files import FileStore
from reconciler.state.stores.store import StoreLocation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """A file to lock, open."""
    path = tmp_path / "file"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    yield descriptor, path
    os.close(descriptor)


def test_a_free_lock_is_taken(opened: tuple[int, Path]) -> None:
    """Then nobody else gets it until the file is closed."""
    lock(*opened, patience=0)
    with opened[1].open("rb") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_lock_that_comes_free_is_taken(opened: tuple[int, Path]) -> None:
    """Whoever waits gets it once the holder has closed the file."""
    other = opened[1].open("rb")
    fcntl.flock(other, fcntl.LOCK_EX)
    timer = threading.Timer(0.1, other.close)
    timer.start()
    lock(*opened, patience=30)
    timer.join()


def test_the_holder_is_named(opened: tuple[int, Path]) -> None:
    """The message has the id and the program of the process, and none of its arguments."""
    with held_by_a_stopped_process(opened[1]) as pid, pytest.raises(LockHeld) as caught:
        lock(*opened, patience=0)
    assert str(caught.value.strerror).startswith(f"locked by process {pid} (python")
    assert (str(opened[1]), False) == (caught.value.filename, "hunter2" in str(caught.value))


def test_a_holder_that_the_system_does_not_name(opened: tuple[int, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a table of locks it is another process."""
    monkeypatch.setattr(locks, "_PROC_LOCKS", opened[1].parent / "missing")
    with opened[1].open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(LockHeld, match="locked by another process"):
            lock(*opened, patience=0)


def test_a_signal_gets_through(opened: tuple[int, Path]) -> None:
    """A handler that raises ends the wait."""

    def stop(number: int, frame: object) -> None:
        raise InterruptedError

    before = signal.signal(signal.SIGUSR1, stop)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
    try:
        with opened[1].open("rb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            timer.start()
            with pytest.raises(InterruptedError):
                lock(*opened, patience=60)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_journal_that_a_stopped_process_has_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An append fails, says why, changes nothing, and works once the process has ended."""
    monkeypatch.setattr(files, "_PATIENCE", 0.2)
    store = FileStore(tmp_path)
    path = tmp_path / f"{TARGET}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(journal_bytes(entries(2)))
    lines = link(journal(2).head, 2, [imported("a3")])[0]
    with held_by_a_stopped_process(path) as pid:
        with pytest.raises(StoreUnavailable) as caught:
            store.append(TARGET, read_back(store).head, 3, lines, "note")
        assert str(path) == caught.value.where
        assert f"cannot write the state record: locked by process {pid} (python" in caught.value.what
        assert "if that process hangs, stop it; then run the command again" == caught.value.remedy
        assert journal_bytes(entries(2)) == store.read(TARGET)
    assert append_one(store, "a3")


def test_heads_that_a_stopped_process_has_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are waited for once in a run, then not remembered, with a warning."""
    monkeypatch.setattr(heads, "_PATIENCE", 0.6)
    remembered = Heads(tmp_path)
    assert None is remembered.remember(journal(1), StoreLocation("here"))
    with held_by_a_stopped_process(tmp_path / "heads" / ".lock"):
        first = remembered.remember(journal(2), StoreLocation("here"))
        again = remembered.remember(journal(3), StoreLocation("here"))
    assert " (waited 0.6 s); a later rollback would not be detected" in str(first)
    assert "(waited " not in str(again)
    assert "locked by process" in str(again)
    assert None is remembered.remember(journal(3), StoreLocation("here"))
