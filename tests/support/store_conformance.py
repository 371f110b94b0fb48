"""What every store must do: subclass StoreConformance, give it the two fixtures, and these tests hold or fail.

What a store promises is in `reconciler.state.stores.store`.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from reconciler.errors import HeadMoved
from reconciler.model.address import TargetName
from reconciler.state.journal.chain import link, parse
from support.journal_samples import OTHER, TARGET, begun, entries, imported, journal_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.state.journal.chain import Journal
    from reconciler.state.stores.store import Store

RACERS = 6


def read_back(store: Store, target: TargetName = TARGET) -> Journal:
    """The journal as it is in the store."""
    data = store.read(target)
    assert data is not None
    return parse(data, target, store.location)


def append_one(store: Store, attempt: str) -> bool:
    """Append one entry to the journal as it is now; whether somebody else was not faster."""
    journal = read_back(store)
    lines, _ = link(journal.head, len(journal.lines), [imported(attempt)])
    try:
        store.append(TARGET, journal.head, lines, f"import {attempt}")
    except HeadMoved:
        return False
    return True


class StoreConformance:
    """The tests that every store passes."""

    @pytest.fixture
    def open_store(self) -> Callable[[], Store]:
        """Opens the store under test, empty at first; each call as another process or machine would."""
        raise NotImplementedError

    @pytest.fixture
    def tear(self) -> Callable[[TargetName, bytes], None]:
        """Leaves bytes behind the last line of a journal, as a writer that died would; skips where none can."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, open_store: Callable[[], Store]) -> Store:
        """The store, with a journal of two entries."""
        store = open_store()
        store.append(TARGET, None, journal_bytes(entries(2)), "begin")
        return store

    def test_empty_store(self, open_store: Callable[[], Store]) -> None:
        """Where nothing was written there are no targets, and no journal."""
        store = open_store()
        assert (store.targets(), store.read(TARGET)) == ([], None)

    def test_what_is_written_is_read(self, store: Store, open_store: Callable[[], Store]) -> None:
        """The bytes come back as they were, to others as well."""
        expected = journal_bytes(entries(2))
        assert expected == store.read(TARGET) == open_store().read(TARGET)

    def test_begun_once(self, store: Store) -> None:
        """A journal that is there is never begun again."""
        with pytest.raises(HeadMoved):
            store.append(TARGET, None, journal_bytes([begun()]), "begin")
        assert journal_bytes(entries(2)) == store.read(TARGET)

    def test_append(self, store: Store) -> None:
        """Lines appended to the head as it is follow what was there."""
        assert append_one(store, "a3")
        assert journal_bytes(entries(3)) == store.read(TARGET)

    def test_append_to_another_head(self, store: Store) -> None:
        """Lines for an older head, or one that never was, are refused, and change nothing."""
        old = read_back(store)
        append_one(store, "a3")
        lines, _ = link(old.head, len(old.lines), [imported("b3")])
        for head in (old.head, "f" * 64):
            with pytest.raises(HeadMoved):
                store.append(TARGET, head, lines, "too late")
        assert journal_bytes(entries(3)) == store.read(TARGET)

    def test_append_to_no_journal(self, open_store: Callable[[], Store]) -> None:
        """A journal that is not there has no head to append to, and none is begun by that."""
        store = open_store()
        with pytest.raises(HeadMoved):
            store.append(TARGET, "f" * 64, journal_bytes([begun()]), "append")
        assert store.read(TARGET) is None

    def test_targets(self, store: Store, open_store: Callable[[], Store]) -> None:
        """Every journal's target is listed, sorted; they do not touch each other."""
        store.append(OTHER, None, journal_bytes(entries(1, OTHER)), "begin")
        third = TargetName("europe/production")
        store.append(third, None, journal_bytes(entries(1, third)), "begin")
        assert [third, TARGET, OTHER] == open_store().targets()
        assert (len(read_back(store).lines), len(read_back(store, OTHER).lines)) == (2, 1)

    def test_torn_tail_is_cut_off(self, store: Store, tear: Callable[[TargetName, bytes], None]) -> None:
        """What a writer that died left behind the last newline is gone with the next append."""
        tear(TARGET, b'{"seq":3,"at":"20')
        assert len(b'{"seq":3,"at":"20') == read_back(store).torn
        assert append_one(store, "a3")
        assert journal_bytes(entries(3)) == store.read(TARGET)

    def test_long_torn_tail(self, store: Store, tear: Callable[[TargetName, bytes], None]) -> None:
        """However long a torn tail is, the head before it is found."""
        tear(TARGET, b"x" * 200_000)
        assert append_one(store, "a3")
        assert journal_bytes(entries(3)) == store.read(TARGET)

    def test_large_append(self, store: Store) -> None:
        """Thousands of lines, and a line of a megabyte, go in at once."""
        journal = read_back(store)
        large = [imported("x" * 1_000_000), *(imported(f"b{number}") for number in range(3_000))]
        lines, head = link(journal.head, 2, large)
        store.append(TARGET, journal.head, lines, "large")
        assert (head, 3_003) == (read_back(store).head, len(read_back(store).lines))
        lines, head = link(head, 3_003, [imported("y" * 1_000_000)])
        store.append(TARGET, read_back(store).head, lines, "large")
        assert append_one(store, "after")

    def test_racers_to_begin(self, open_store: Callable[[], Store]) -> None:
        """Of many that begin a journal at once one wins, and it is the journal."""
        barrier = threading.Barrier(RACERS)

        def begin(number: int) -> bool:
            store, lines = open_store(), journal_bytes([begun(record=f"{number:032x}")])
            barrier.wait()
            try:
                store.append(TARGET, None, lines, "begin")
            except HeadMoved:
                return False
            return True

        with ThreadPoolExecutor(RACERS) as pool:
            won = list(pool.map(begin, range(RACERS)))
        assert [f"{won.index(True):032x}"] == [read_back(open_store()).record().id] * sum(won)

    def test_racers_for_a_head(self, store: Store, open_store: Callable[[], Store]) -> None:
        """Of many appends for one head one wins, and nothing of the others is left."""
        barrier = threading.Barrier(RACERS)
        journal = read_back(store)

        def append(number: int) -> bool:
            racer = open_store()
            lines, _ = link(journal.head, 2, [imported(f"r{number}"), imported(f"s{number}")])
            barrier.wait()
            try:
                racer.append(TARGET, journal.head, lines, "race")
            except HeadMoved:
                return False
            return True

        with ThreadPoolExecutor(RACERS) as pool:
            won = list(pool.map(append, range(RACERS)))
        winner = won.index(True)
        assert sum(won) == 1
        assert journal_bytes([*entries(2), imported(f"r{winner}"), imported(f"s{winner}")]) == store.read(TARGET)

    def test_nobody_loses_an_entry(self, store: Store, open_store: Callable[[], Store]) -> None:
        """Many that append again and again, each until it has won, leave every entry there once."""

        def append(number: int) -> None:
            racer = open_store()
            for turn in range(3):
                assert any(append_one(racer, f"r{number}-{turn}") for _ in range(1_000))

        with ThreadPoolExecutor(RACERS) as pool:
            list(pool.map(append, range(RACERS)))
        expected = {"a2"} | {f"r{number}-{turn}" for number in range(RACERS) for turn in range(3)}
        journal = read_back(store)
        assert (expected, 2 + RACERS * 3) == (set(journal.record().attempts), len(journal.lines))

    def test_reading_while_appending(self, store: Store, open_store: Callable[[], Store]) -> None:
        """A reader beside a writer sees, at any moment, a journal that holds together and never shrinks."""
        done = threading.Event()

        def watch() -> list[int]:
            reader, lengths = open_store(), [2]
            while not done.is_set():
                lengths.append(len(read_back(reader).lines))
            return lengths

        with ThreadPoolExecutor(1) as pool:
            watched = pool.submit(watch)
            try:
                assert all(append_one(store, f"w{number}") for number in range(20))
            finally:
                done.set()
            lengths = watched.result()
        assert sorted(lengths) == lengths
