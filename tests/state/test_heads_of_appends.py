"""What an apply appends is remembered at once, as long as it goes on from what was read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.journal_samples import OTHER, RECORD, TARGET, entries, imported, journal, journal_bytes

from reconciler.errors import HeadMoved, RecordRolledBack, StoreUnavailable
from reconciler.state.heads.remembered import Heads
from reconciler.state.heads.tracking import HeadTrackingStore, read_journal
from reconciler.state.journal.chain import link
from reconciler.state.stores.files import FileStore

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from reconciler.model.address import TargetName


class Fickle(FileStore):
    """A file store whose next append fails: before it is written, or, `late`, after it."""

    fails = False
    late = False

    def append(self, target: TargetName, head: str | None, seq: int, lines: bytes, note: str) -> None:
        if self.late or not self.fails:
            super().append(target, head, seq, lines, note)
        if self.fails:
            self.fails = False
            raise StoreUnavailable("no connection")


class Scenery:
    """A store with a journal of two entries, which a run has read and appends to."""

    def __init__(self, root: Path) -> None:
        self.cache = root / "cache"
        self.plain = Fickle(root / "state")
        self.plain.append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
        self.heads = Heads(self.cache)
        self.store = HeadTrackingStore(self.plain, self.heads)
        self.store.follow(read_journal(self.plain, TARGET, self.heads))

    def append(self, numbers: Iterable[int], through: HeadTrackingStore | FileStore | None = None) -> None:
        """Append entries that make the journal one of the samples, by default through the store of the run."""
        first, *_ = numbers = list(numbers)
        head = journal(first - 1).head
        lines, _ = link(head, first - 1, [imported(f"a{number}") for number in numbers])
        (through or self.store).append(TARGET, head, first, lines, "import")

    @property
    def remembered(self) -> int:
        """How many entries are remembered, which are the sample's."""
        seen = Heads(self.cache).seen().records[RECORD]
        assert (journal(seen.entries).head, str(self.plain.path)) == (seen.head, seen.location)
        return seen.entries


@pytest.fixture
def scenery(tmp_path: Path) -> Scenery:
    """The store and the run."""
    return Scenery(tmp_path)


def test_a_record_that_loses_entries_in_the_middle_of_a_run_is_refused(scenery: Scenery) -> None:
    """What a run has read, of others too, is missed when it reads the record again."""
    scenery.append([3], through=scenery.plain)
    scenery.store.read(TARGET)
    path = scenery.plain.path / f"{TARGET}.jsonl"
    path.write_bytes(journal_bytes(entries(2)))
    with pytest.raises(RecordRolledBack, match="the last 1 of 3 entries"):
        scenery.store.read(TARGET)


def test_nothing_is_appended_to_a_head_that_was_seen_to_be_left_behind(scenery: Scenery) -> None:
    """Where the record has lost what the run read of others, an append to what is left of it is refused."""
    scenery.append([3], through=scenery.plain)
    scenery.store.read(TARGET)
    path = scenery.plain.path / f"{TARGET}.jsonl"
    path.write_bytes(journal_bytes(entries(2)))
    with pytest.raises(HeadMoved):
        scenery.append([3])
    assert journal_bytes(entries(2)) == path.read_bytes()


def test_every_append_is_remembered(scenery: Scenery) -> None:
    """After each append its last line is remembered, and an older journal is refused from then on."""
    scenery.append([3])
    assert 3 == scenery.remembered
    scenery.append([4, 5, 6])
    assert 6 == scenery.remembered
    assert journal(6) == read_journal(scenery.plain, TARGET, scenery.heads)
    (scenery.plain.path / f"{TARGET}.jsonl").write_bytes(journal_bytes(entries(5)))
    with pytest.raises(RecordRolledBack, match="the last 1 of 6 entries"):
        read_journal(scenery.plain, TARGET, scenery.heads)


def test_it_is_the_store_otherwise(scenery: Scenery) -> None:
    """It reads what the store has, and is called as it is."""
    assert (journal_bytes(entries(2)), None) == (scenery.store.read(TARGET), scenery.store.read(OTHER))
    assert scenery.plain.location == scenery.store.location


@pytest.mark.parametrize("late", [False, True])
def test_a_failed_append_is_not_remembered(scenery: Scenery, late: bool) -> None:
    """Nobody knows whether it arrived: only where it is found in the store is it remembered."""
    scenery.plain.fails, scenery.plain.late = True, late
    with pytest.raises(StoreUnavailable):
        scenery.append([3])
    assert 2 == scenery.remembered
    scenery.store.read(TARGET)
    assert (3 if late else 2) == scenery.remembered
    scenery.append([4 if late else 3])
    assert (4 if late else 3) == scenery.remembered


def test_a_conflict_is_not_remembered(scenery: Scenery) -> None:
    """An append that lost is not remembered; one that goes on from what is there then is."""
    scenery.append([3], FileStore(scenery.plain.path))
    with pytest.raises(HeadMoved):
        scenery.append([3, 4])
    assert 2 == scenery.remembered
    scenery.store.read(TARGET)
    scenery.append([4])
    assert 4 == scenery.remembered


def test_a_later_head_stays(scenery: Scenery) -> None:
    """Where another run has seen more by the time an append is remembered, that stays."""

    class Overtaken(FileStore):
        def append(self, target: TargetName, head: str | None, seq: int, lines: bytes, note: str) -> None:
            super().append(target, head, seq, lines, note)
            scenery.append([4], FileStore(self.path))
            read_journal(self, target, Heads(scenery.cache))

    store = HeadTrackingStore(Overtaken(scenery.plain.path), scenery.heads)
    store.follow(journal(2))
    scenery.append([3], store)
    assert 4 == scenery.remembered


def test_an_older_head_does_not_stay(scenery: Scenery) -> None:
    """An append that could not be remembered does not keep the next from being."""
    heads = scenery.cache / "heads"
    (heads / ".lock").unlink()
    (heads / ".lock").mkdir()
    scenery.append([3])
    assert 2 == scenery.remembered
    assert "cannot save the last known head" in str(scenery.heads.warning)
    (heads / ".lock").rmdir()
    scenery.append([4])
    assert 4 == scenery.remembered


def test_a_directory_not_to_be_trusted_is_a_warning(scenery: Scenery) -> None:
    """The append has succeeded, whatever became of the cache directory meanwhile."""
    scenery.cache.chmod(0o777)
    scenery.append([3])
    assert "unsafe directory" in str(scenery.heads.warning)
    assert journal_bytes(entries(3)) == scenery.plain.read(TARGET)


def test_what_was_never_read_is_not_remembered(scenery: Scenery) -> None:
    """Of a journal that is not followed, or not as far as it goes, an append says too little to be remembered."""
    store = HeadTrackingStore(scenery.plain, scenery.heads)
    scenery.append([3], store)
    assert 2 == scenery.remembered
    scenery.append([4])
    assert 2 == scenery.remembered


def test_damage_is_handed_on(scenery: Scenery) -> None:
    """A journal that does not hold together is read as it is, for whoever asked to say so, and not remembered."""
    damaged = journal_bytes(entries(3)) + b"\n"
    (scenery.plain.path / f"{TARGET}.jsonl").write_bytes(damaged)
    assert damaged == scenery.store.read(TARGET)
    assert 2 == scenery.remembered
