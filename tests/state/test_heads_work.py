"""What reading many records costs, counted, since times depend on the machine; and what is noticed all the same."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import asdict, replace
from support.journal_samples import OTHER, RECORD, TARGET, begun, entries, journal, journal_bytes

from reconciler.errors import RecordLost, RecordRolledBack
from reconciler.model.address import TargetName
from reconciler.state.heads.remembered import Heads
from reconciler.state.heads.tracking import begin_journal, read_journal
from reconciler.state.stores.files import FileStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

REPLACING = "f" * 32
"""The id of a record that took the place of another."""


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache directory, not made yet."""
    return tmp_path / "cache"


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """A store with a journal of two entries."""
    store = FileStore(tmp_path / "state")
    store.append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
    return store


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many files were opened, by their ending, and how many directories listed and files synced."""
    counted: Counter[str] = Counter()

    def counting(name: str, kind: Callable[..., str]) -> None:
        really = getattr(os, name)

        def count(*args: Any, **more: Any) -> Any:
            counted[kind(*args)] += 1
            return really(*args, **more)

        monkeypatch.setattr(os, name, count)

    counting("open", lambda path, *_: str(path).rpartition(".")[2])
    counting("fsync", lambda _: "synced")
    counting("scandir", lambda _: "listed")
    return counted


def several(count: int, tmp_path: Path) -> tuple[FileStore, list[TargetName]]:
    """A store with the records of so many targets."""
    store, targets = FileStore(tmp_path / "many"), [TargetName(f"region{number}/staging") for number in range(count)]
    for number, target in enumerate(targets):
        store.append(target, None, 1, journal_bytes(entries(2, target, f"{number:032x}")), "begin")
    return store, targets


def read_all(store: FileStore, targets: list[TargetName], heads: Heads) -> None:
    """Read the records of targets, as a plan does."""
    for target in targets:
        read_journal(store, target, heads)


def test_records_that_are_known(tmp_path: Path, cache: Path, work: Counter[str]) -> None:
    """One target costs as much among twenty as among two, and nothing waits for the disk."""
    store, targets = several(20, tmp_path)
    read_all(store, targets, Heads(cache))
    for head in (cache / "heads").glob("*.json"):
        os.utime(head, ns=(0, 0))
    work.clear()
    read_all(store, targets[:2], few := Heads(cache))
    first = Counter(work)
    read_all(store, targets[2:4], few)
    read_all(store, targets[:2], few)
    assert {"json": 20, "jsonl": 2, "listed": 1} == first
    assert {"jsonl": 4} == work - first


def test_records_that_are_remembered_first(tmp_path: Path, cache: Path, work: Counter[str]) -> None:
    """What a run adds to the directory itself, it need not list."""
    store, targets = several(20, tmp_path)
    work.clear()
    read_all(store, targets, Heads(cache))
    assert 1 == work["listed"]


def test_records_that_are_new(tmp_path: Path, cache: Path, work: Counter[str]) -> None:
    """What was never seen is on the disk before it is remembered: the data, the name, and the head's own file."""
    store, targets = several(1, tmp_path)
    (cache / "heads").mkdir(parents=True, mode=0o700)
    cache.chmod(0o700)
    work.clear()
    read_all(store, targets, Heads(cache))
    assert 2 <= work["synced"] - 1


@pytest.mark.parametrize("count", [2, 3])
def test_what_is_not_remembered_is_waited_for(store: FileStore, cache: Path, work: Counter[str], count: int) -> None:
    """Whoever appended it may have been killed before it was on the disk."""
    read_journal(store, TARGET, Heads(cache))
    (store.path / f"{TARGET}.jsonl").write_bytes(journal_bytes(entries(count)))
    work.clear()
    read_journal(store, TARGET, Heads(cache))
    assert (count > 2) == bool(work["synced"])


def test_what_is_remembered_of_another_place_is_waited_for(
    store: FileStore, cache: Path, tmp_path: Path, work: Counter[str]
) -> None:
    """It was on the disk there, and here is a copy of it; once that is remembered too, it is not waited for again."""
    read_journal(store, TARGET, Heads(cache))
    (tmp_path / "copy").mkdir()
    (store.path / "europe").rename(tmp_path / "copy" / "europe")
    copy = FileStore(tmp_path / "copy")
    work.clear()
    read_journal(copy, TARGET, Heads(cache))
    assert work.pop("synced") >= 2
    read_journal(copy, TARGET, Heads(cache))
    assert not work["synced"]


def test_an_edited_line_with_a_remembered_hash_is_damage(store: FileStore, cache: Path) -> None:
    """The hash that a line claims only spares a wait."""
    read_journal(store, TARGET, Heads(cache))
    path = store.path / f"{TARGET}.jsonl"
    path.write_bytes(path.read_bytes().replace(b"ONB10011", b"ONB10012"))
    with pytest.raises(Exception, match=r"staging.jsonl:2: line 2 was edited"):
        read_journal(store, TARGET, Heads(cache))


def stand_still(cache: Path, action: Callable[[], object]) -> None:
    """Something happens in the directory of heads within one moment of the file system's clock."""
    directory = cache / "heads"
    status = directory.stat()
    action()
    os.utime(directory, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_a_new_record_is_noticed_at_once(store: FileStore, cache: Path) -> None:
    """One that another process has seen in the meantime, in the same moment as the last that was read."""
    heads = Heads(cache)
    read_journal(store, TARGET, heads)
    heads.seen()
    stand_still(cache, lambda: Heads(cache).remember(journal(3, record=REPLACING), store.place))
    with pytest.raises(RecordRolledBack, match=f"was replaced: expected record {REPLACING}"):
        read_journal(store, TARGET, heads)


def test_a_new_record_of_an_earlier_version_is_noticed(store: FileStore, cache: Path) -> None:
    """It counts no new names, and the directory changes all the same."""
    heads = Heads(cache)
    read_journal(store, TARGET, heads)
    known = replace(heads.seen().records[RECORD], record=REPLACING)
    (cache / "heads" / f"{REPLACING}.json").write_text(json.dumps(asdict(known)))
    with pytest.raises(RecordRolledBack, match=f"was replaced: expected record {REPLACING}"):
        read_journal(store, TARGET, heads)


def test_a_head_that_was_deleted_counts_no_more(store: FileStore, cache: Path) -> None:
    """It is what the advice about one that cannot be read says."""
    heads = Heads(cache)
    read_journal(store, TARGET, heads)
    (cache / "heads" / f"{RECORD}.json").unlink()
    assert not heads.seen(OTHER).records


@pytest.mark.parametrize("is_known_before", [False, True])
def test_the_head_of_a_record_counts_whatever_target_it_names(
    store: FileStore, cache: Path, is_known_before: bool
) -> None:
    """Its file is named after the record, and so is the journal that has lost an entry."""
    heads = Heads(cache)
    if is_known_before:
        read_journal(store, TARGET, heads)
    elsewhere = journal(3, OTHER)
    Heads(cache).accept(elsewhere, store.place)
    with pytest.raises(RecordRolledBack, match="the last 1 of 3 entries are missing"):
        read_journal(store, TARGET, heads)


def test_what_a_run_remembers_itself_counts(store: FileStore, cache: Path) -> None:
    """A record that it began, and that is gone."""
    heads = Heads(cache)
    heads.seen()
    begin_journal(store, begun(OTHER, REPLACING), heads, "begin")
    (store.path / f"{OTHER}.jsonl").unlink()
    with pytest.raises(RecordLost):
        read_journal(store, OTHER, heads)
