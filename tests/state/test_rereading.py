"""Records that are read again and again: only what has changed costs a read, and everything is noticed all the same."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from support.journal_samples import OTHER, TARGET, entries, imported, journal, journal_bytes

from reconciler.errors import RecordDamaged, RecordLost, RecordMissing, RecordRolledBack
from reconciler.state.heads.remembered import Heads
from reconciler.state.heads.rereading import Rereader
from reconciler.state.journal.chain import link
from reconciler.state.stores.files import FileStore

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

    from reconciler.model.address import TargetName


class Counting(FileStore):
    """A file store that counts its reads."""

    reads = 0

    def read(self, target: TargetName, durable: Container[str] = ()) -> bytes | None:
        self.reads += 1
        return super().read(target, durable)


class Scenery:
    """A store with a journal of two entries, which is read again and again."""

    def __init__(self, root: Path) -> None:
        self.cache = root / "cache"
        self.store = Counting(root / "state")
        self.store.append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
        self.path = self.store.path / f"{TARGET}.jsonl"
        self.rereader = Rereader(self.store, Heads(self.cache))
        self.known = [self.entries() for _ in range(3)]
        self.store.reads = 0

    def entries(self, target: TargetName = TARGET) -> int:
        """How many entries the record has that is read now."""
        return self.rereader.begin()(target).entries

    def append(self, number: int) -> None:
        """Another run appends an entry."""
        lines, _ = link(journal(number - 1).head, number - 1, [imported(f"a{number}")])
        FileStore(self.store.path).append(TARGET, journal(number - 1).head, number, lines, "import")


@pytest.fixture
def scenery(tmp_path: Path) -> Scenery:
    """The store and what was read."""
    return Scenery(tmp_path)


def test_what_has_not_changed_is_not_read(scenery: Scenery) -> None:
    """It is the same record."""
    assert [2, 2, 2] == scenery.known
    read = scenery.rereader.begin()
    assert read(TARGET) is scenery.rereader.begin()(TARGET)
    assert 0 == scenery.store.reads


def test_what_others_append_is_read(scenery: Scenery) -> None:
    """Once each time."""
    scenery.append(3)
    assert [3, 3, 3] == [scenery.entries() for _ in range(3)]
    scenery.append(4)
    assert [4, 4, 4] == [scenery.entries() for _ in range(3)]
    assert scenery.store.reads <= 4


def test_an_edited_journal_is_read(scenery: Scenery) -> None:
    """Of the same length, and put in the place of the other."""
    edited = scenery.path.read_bytes().replace(b"ONB10011", b"ONB10012")
    beside = scenery.path.with_name("beside")
    beside.write_bytes(edited)
    beside.replace(scenery.path)
    with pytest.raises(RecordDamaged):
        scenery.entries()


def test_an_incomplete_line_is_read_each_time(scenery: Scenery) -> None:
    """Another line of its length may take its place."""
    with scenery.path.open("ab") as file:
        file.write(b'{"seq":3')
    assert [2, 2, 2] == [scenery.entries() for _ in range(3)]
    assert 3 == scenery.store.reads


def test_a_later_head_is_missed(scenery: Scenery) -> None:
    """One that another run has remembered, in a journal that is as it was."""
    Heads(scenery.cache).remember(journal(3), scenery.store.place)
    for _ in range(2):
        with pytest.raises(RecordRolledBack, match="the last 1 of 3 entries"):
            scenery.entries()


def test_another_record_of_the_target_is_missed(scenery: Scenery) -> None:
    """One that another run has seen in its place meanwhile."""
    Heads(scenery.cache).remember(journal(3, record="f" * 32), scenery.store.place)
    for _ in range(2):
        with pytest.raises(RecordRolledBack, match="was replaced"):
            scenery.entries()


def test_a_journal_that_is_gone_is_missed(scenery: Scenery) -> None:
    """Each time, until it is back."""
    hidden = scenery.path.rename(scenery.path.with_name("hidden"))
    for _ in range(2):
        with pytest.raises(RecordLost):
            scenery.entries()
    hidden.rename(scenery.path)
    assert 2 == scenery.entries()


def test_one_that_never_was(scenery: Scenery) -> None:
    """It is missing each time."""
    for _ in range(2):
        with pytest.raises(RecordMissing):
            scenery.entries(OTHER)


def test_a_store_that_cannot_tell(scenery: Scenery, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read each time."""
    monkeypatch.setattr(scenery.store, "stamp", lambda _target: None)
    assert [2, 2, 2] == [scenery.entries() for _ in range(3)]
    assert 3 == scenery.store.reads


def test_no_head_that_is_old_is_opened_again(scenery: Scenery, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is another if the head is; only within a moment of the file system's clock may it look the same."""
    (head,) = (scenery.cache / "heads").glob("*.json")
    os.utime(head, ns=(0, 0))
    scenery.entries()
    opened: list[str] = []
    really = os.open

    def opening(path: str, *more: int) -> int:
        opened.append(str(path))
        return really(path, *more)

    monkeypatch.setattr(os, "open", opening)
    scenery.entries()
    assert [str(scenery.path)] == opened
