"""Journals out of a store and back into it, with what was seen of them before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.journal_samples import OTHER, TARGET, begun, entries, imported, journal, journal_bytes

from reconciler.errors import (
    HeadMoved,
    RecordDamaged,
    RecordForeign,
    RecordLost,
    RecordMissing,
    RecordRolledBack,
    StateError,
    StoreUnavailable,
)
from reconciler.state.heads.remembered import Heads
from reconciler.state.heads.tracking import append_entries, begin_journal, read_journal
from reconciler.state.stores.files import FileStore

if TYPE_CHECKING:
    from collections.abc import Container

    from reconciler.model.address import TargetName


class Flaky(FileStore):
    """A file store whose answers get lost: `fault` is raised after each append, or before it."""

    location = "memory"

    def __init__(self, root: Path, fault: Exception, *, arrives: bool) -> None:
        super().__init__(root)
        self.fault = fault
        self.arrives = arrives
        self.meanwhile = b""
        self.blind = False

    def read(self, target: TargetName, durable: Container[str] = ()) -> bytes | None:
        if self.blind:
            raise StoreUnavailable("no connection")
        return super().read(target, durable)

    def append(self, target: TargetName, head: str | None, seq: int, lines: bytes, note: str) -> None:
        if self.arrives:
            super().append(target, head, seq, lines + self.meanwhile, note)
        raise self.fault


@pytest.fixture
def heads(tmp_path: Path) -> Heads:
    """Heads in a cache of their own."""
    return Heads(tmp_path / "cache")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The directory of the store."""
    return tmp_path / "state"


@pytest.fixture
def store(root: Path) -> FileStore:
    """A store with a journal of two entries."""
    store = FileStore(root)
    store.append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
    return store


def path_of(root: Path) -> Path:
    """Where the journal of TARGET is."""
    return root / "europe" / "staging.jsonl"


def test_read(store: FileStore, heads: Heads) -> None:
    """A journal is read, and remembered with where it was."""
    assert journal(2) == read_journal(store, TARGET, heads)
    (found,) = heads.seen().at(TARGET, store.place)
    assert (journal(2).head, 2) == (found.head, found.entries)


def test_missing(store: FileStore, heads: Heads) -> None:
    """A target without a journal is an error that names the place and `state init`."""
    with pytest.raises(
        RecordMissing, match=r"no state record for usa/production; .*reconciler state init -t usa/production"
    ) as caught:
        read_journal(store, OTHER, heads)
    assert store.location == caught.value.where
    assert "reconciler state init -t usa/production" in str(caught.value.remedy)


def test_vanished(store: FileStore, heads: Heads, root: Path) -> None:
    """A journal that was here before must be found, not begun again."""
    read_journal(store, TARGET, heads)
    path_of(root).unlink()
    told = (
        r"it was last read here with 2 entries; until it is restored, nothing is created there; restore it .* can be"
        r" imported; run: .* accept-rollback"
    )
    with pytest.raises(RecordLost, match=told):
        read_journal(store, TARGET, heads)


def test_same_path_elsewhere(heads: Heads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was seen at a relative path of one directory says nothing of another directory."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "one")
    store = FileStore(Path("state"))
    begin_journal(store, begun(), heads, "begin")
    assert str(tmp_path / "one" / "state") == store.place.location
    monkeypatch.chdir(tmp_path / "two")
    with pytest.raises(RecordMissing, match="no state record for europe/staging"):
        read_journal(FileStore(Path("state")), TARGET, heads)


def test_damaged(store: FileStore, heads: Heads, root: Path) -> None:
    """Damage is an error with file and line, and nothing of it is remembered."""
    path_of(root).write_bytes(journal_bytes(entries(2)) + b"\n")
    with pytest.raises(RecordDamaged, match=r"state/europe/staging.jsonl:3: line 3 is empty"):
        read_journal(store, TARGET, heads)
    assert not heads.seen().records


def test_foreign(store: FileStore, heads: Heads, root: Path) -> None:
    """A journal in another's place is an error."""
    (root / "usa").mkdir()
    path_of(root).rename(root / "usa" / "production.jsonl")
    with pytest.raises(RecordForeign, match=r"usa/production.jsonl: this journal belongs to target europe/staging"):
        read_journal(store, OTHER, heads)


def test_rolled_back(store: FileStore, heads: Heads, root: Path) -> None:
    """A journal without its last line is whole, and an error here all the same; it stays one."""
    read_journal(store, TARGET, heads)
    path_of(root).write_bytes(journal_bytes(entries(1)))
    for _ in range(2):
        with pytest.raises(RecordRolledBack, match="the last 1 of 2 entries"):
            read_journal(store, TARGET, heads)


def test_heads_are_read_before_the_record(store: FileStore, heads: Heads) -> None:
    """A head that another run remembers while this one reads is no rollback."""

    class Slow(FileStore):
        def read(self, target: TargetName, durable: Container[str] = ()) -> bytes | None:
            data = super().read(target, durable)
            heads.remember(journal(3), self.place)
            return data

    slow = Slow(store.path)
    assert journal(2) == read_journal(slow, TARGET, heads)
    assert heads.seen().records[journal(3).record().id].entries == 3


def test_begin(root: Path, heads: Heads) -> None:
    """A journal begun is there, and remembered; it is not begun twice."""
    store = FileStore(root)
    assert journal(1) == begin_journal(store, begun(), heads, "begin") == read_journal(store, TARGET, heads)
    with pytest.raises(HeadMoved):
        begin_journal(store, begun(record="f" * 32), heads, "begin")
    assert [journal(1).head] == [one.head for one in heads.seen().records.values()]


def test_append(store: FileStore, heads: Heads) -> None:
    """Entries appended give the journal as it is then, and its head is remembered."""
    read = read_journal(store, TARGET, heads)
    appended = append_entries(store, read, [imported("a3"), imported("a4")], heads, "import")
    assert journal(4) == appended == read_journal(store, TARGET, heads)
    assert [one.entries for one in heads.seen().records.values()] == [4]


def test_the_number_of_the_first_line(store: FileStore, heads: Heads, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store is told the number of the first line it appends, which the line has too."""
    given: list[int] = []

    def note(_store: FileStore, target: TargetName, head: str | None, seq: int, lines: bytes, note: str) -> None:
        given.append(seq)
        assert lines.startswith(b'{"seq":%d,' % seq)
        append(store, target, head, seq, lines, note)

    append = FileStore.append
    monkeypatch.setattr(FileStore, "append", note)
    append_entries(store, read_journal(store, TARGET, heads), [imported("a3"), imported("a4")], heads, "import")
    begin_journal(store, begun(OTHER), heads, "begin")
    assert [3, 1] == given


def test_append_too_late(store: FileStore, heads: Heads) -> None:
    """Entries for an older journal are refused, and the head is not remembered."""
    read = read_journal(store, TARGET, heads)
    append_entries(store, read, [imported("a3")], heads, "import")
    with pytest.raises(HeadMoved):
        append_entries(store, read, [imported("b3")], heads, "import")
    assert (journal(3).head, 3) == (
        read_journal(store, TARGET, heads).head,
        heads.seen().records[read.record().id].entries,
    )


def test_append_what_cannot_follow(store: FileStore, heads: Heads) -> None:
    """What no reader would accept is never written."""
    read = read_journal(store, TARGET, heads)
    with pytest.raises(StateError, match="europe/staging: cannot append this entry: attempt a2 is started twice"):
        append_entries(store, read, [imported("a2")], heads, "import")
    assert journal(2) == read_journal(store, TARGET, heads)


@pytest.mark.parametrize("fault", [HeadMoved("moved"), StoreUnavailable("timeout")])
@pytest.mark.parametrize("meanwhile", [0, 1])
def test_lost_answer(root: Path, heads: Heads, fault: Exception, meanwhile: int) -> None:
    """An append that arrived counts, whatever its answer was, and whoever appended after it."""
    store = Flaky(root, fault, arrives=True)
    all_lines = journal_bytes(entries(3 + meanwhile))
    store.meanwhile = all_lines[len(journal_bytes(entries(3))) :]
    FileStore(root).append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
    appended = append_entries(store, journal(2), [imported("a3")], heads, "import")
    assert journal(3 + meanwhile) == appended
    assert [3 + meanwhile] == [one.entries for one in heads.seen().records.values()]


@pytest.mark.parametrize("fault", [HeadMoved("moved"), StoreUnavailable("timeout")])
@pytest.mark.parametrize("obstacle", ["none", "blind", "gone", "damaged"])
def test_lost_append(root: Path, heads: Heads, fault: Exception, obstacle: str) -> None:
    """An append that did not arrive, or of which that cannot be seen, fails as it failed."""
    store = Flaky(root, fault, arrives=False)
    FileStore(root).append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
    match obstacle:
        case "blind":
            store.blind = True
        case "gone":
            path_of(root).unlink()
        case "damaged":
            path_of(root).write_bytes(b"")
    with pytest.raises(type(fault), match=str(fault)):
        append_entries(store, journal(2), [imported("a3")], heads, "import")
    assert not heads.seen().records
