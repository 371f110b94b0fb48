"""What every store must do: subclass StoreConformance and give it the fixtures that raise NotImplementedError here.

What a store promises is in `reconciler.state.stores.store`. Not tested here, so test it for each store: that what was
appended survives a crash, what becomes of a lost answer, that a wait ends in time, and that a signal ends it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reconciler.errors import HeadMoved, RecordDamaged, RecordMissing, StoreUnavailable
from reconciler.model.address import TargetName
from reconciler.model.outcome import Outcome
from reconciler.model.record import Status
from reconciler.state.heads.remembered import Heads
from reconciler.state.heads.tracking import begin_journal, load_journal, read_journal
from reconciler.state.journal.chain import link, parse
from reconciler.state.stores.location import open_store
from reconciler.state.stores.store import Triable
from support.contended import CountingService, contend
from support.journal_samples import OTHER, TARGET, begun, entries, imported, journal, journal_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reconciler.state.journal.chain import Journal
    from reconciler.state.stores.store import Store

APPEND_IN_PROCESSES = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from reconciler.state.stores.location import open_store
from support.store_conformance import append_one
processes = []
for number in range(4):
    processes.append(os.fork())
    if not processes[-1]:
        store = open_store(sys.argv[2], Path(sys.argv[3]), os.environ)
        for turn in range(int(sys.argv[4])):
            assert any(append_one(store, f"p{number}-{turn}") for _ in range(1000))
        break
else:
    assert [0] * 4 == [os.waitpid(process, 0)[1] for process in processes]
"""


def opened(spec: str) -> Store:
    """The store that a value of `--state` names."""
    return open_store(spec, Path("cache"), os.environ)


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
        store.append(TARGET, journal.head, len(journal.lines) + 1, lines, f"import {attempt}")
    except HeadMoved:
        return False
    return True


def assert_each_once(service: CountingService, store: Store, count: int) -> None:
    """So many subscriptions were created, each once, and all are in the record."""
    assert [1] * count == [*service.created.values()]
    attempts = read_back(store).record().attempts.values()
    assert [Status.LIVE] * count == [attempt.status for attempt in attempts if attempt.outcome is Outcome.CREATED]


class StoreConformance:
    """The tests that every store passes."""

    turns = 5
    """How often each process appends."""
    racers = 6
    """How many threads race."""
    watched_appends = 20
    """How many appends a reader watches."""

    @pytest.fixture
    def another_handle(self) -> Callable[[], Store]:
        """Opens the store under test, empty at first; each call as another process or machine would."""
        raise NotImplementedError

    @pytest.fixture
    def spec(self) -> str:
        """The value of `--state` that names the store under test."""
        raise NotImplementedError

    @pytest.fixture
    def spec_at(self) -> Callable[[Path], str]:
        """The value of `--state` for a store at a path, relative or not; skips if stores are not on this machine."""
        raise NotImplementedError

    @pytest.fixture
    def locked_out(self, store: Store) -> Iterator[Store]:
        """The store with short waits, while somebody else holds its lock; skips where there is none."""
        raise NotImplementedError

    @pytest.fixture
    def tear(self) -> Callable[[TargetName, bytes], None]:
        """Leaves bytes behind the last line of a journal, as a writer that died would; skips where none can."""
        raise NotImplementedError

    @pytest.fixture
    def broken(self, store: Store) -> Store:
        """The store with its journal, when nothing of it can be read or written; skips where another test has that."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, another_handle: Callable[[], Store]) -> Store:
        """The store, with a journal of two entries."""
        store = another_handle()
        store.append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
        return store

    def test_empty_store(self, another_handle: Callable[[], Store]) -> None:
        """Where nothing was written there are no targets, and no journal."""
        store = another_handle()
        assert (store.targets(), store.read(TARGET)) == ([], None)

    def test_what_is_written_is_read(self, store: Store, another_handle: Callable[[], Store]) -> None:
        """The bytes come back as they were, to others as well."""
        expected = journal_bytes(entries(2))
        assert expected == store.read(TARGET) == another_handle().read(TARGET)

    def test_a_try_changes_nothing(self, store: Store, another_handle: Callable[[], Store]) -> None:
        """A store that can try whether an append would succeed is as before afterwards, and takes the next append."""
        if isinstance(store, Triable):
            store.check_writable(TARGET)
            other = another_handle()
            assert ([TARGET], journal_bytes(entries(2))) == (other.targets(), other.read(TARGET))
            assert append_one(store, "a1")

    def test_begun_once(self, store: Store) -> None:
        """A journal that is there is never begun again."""
        with pytest.raises(HeadMoved):
            store.append(TARGET, None, 1, journal_bytes([begun()]), "begin")
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
                store.append(TARGET, head, 3, lines, "too late")
        assert journal_bytes(entries(3)) == store.read(TARGET)

    def test_append_to_no_journal(self, another_handle: Callable[[], Store]) -> None:
        """A journal that is not there has no head to append to, and none is begun by that."""
        store = another_handle()
        with pytest.raises(HeadMoved):
            store.append(TARGET, "f" * 64, 3, journal_bytes([begun()]), "append")
        assert store.read(TARGET) is None

    def test_targets(self, store: Store, another_handle: Callable[[], Store]) -> None:
        """Every journal's target is listed, sorted; they do not touch each other."""
        store.append(OTHER, None, 1, journal_bytes(entries(1, OTHER)), "begin")
        third = TargetName("europe/production")
        store.append(third, None, 1, journal_bytes(entries(1, third)), "begin")
        assert [third, TARGET, OTHER] == another_handle().targets()
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
        store.append(TARGET, journal.head, len(journal.lines) + 1, lines, "large")
        assert (head, 3_003) == (read_back(store).head, len(read_back(store).lines))
        lines, head = link(head, 3_003, [imported("y" * 1_000_000)])
        store.append(TARGET, read_back(store).head, 3_004, lines, "large")
        assert append_one(store, "after")

    def test_racers_to_begin(self, another_handle: Callable[[], Store]) -> None:
        """Of many that begin a journal at once one wins, and it is the journal."""
        barrier = threading.Barrier(self.racers)

        def begin(number: int) -> bool:
            store, lines = another_handle(), journal_bytes([begun(record=f"{number:032x}")])
            barrier.wait()
            try:
                store.append(TARGET, None, 1, lines, "begin")
            except HeadMoved:
                return False
            return True

        with ThreadPoolExecutor(self.racers) as pool:
            won = list(pool.map(begin, range(self.racers)))
        assert [f"{won.index(True):032x}"] == [read_back(another_handle()).record().id] * sum(won)

    def test_racers_for_a_head(self, store: Store, another_handle: Callable[[], Store]) -> None:
        """Of many appends for one head one wins, and nothing of the others is left."""
        barrier = threading.Barrier(self.racers)
        journal = read_back(store)

        def append(number: int) -> bool:
            racer = another_handle()
            lines, _ = link(journal.head, 2, [imported(f"r{number}"), imported(f"s{number}")])
            barrier.wait()
            try:
                racer.append(TARGET, journal.head, len(journal.lines) + 1, lines, "race")
            except HeadMoved:
                return False
            return True

        with ThreadPoolExecutor(self.racers) as pool:
            won = list(pool.map(append, range(self.racers)))
        winner = won.index(True)
        assert sum(won) == 1
        assert journal_bytes([*entries(2), imported(f"r{winner}"), imported(f"s{winner}")]) == store.read(TARGET)

    def test_nobody_loses_an_entry(self, store: Store, another_handle: Callable[[], Store]) -> None:
        """Many that append again and again, each until it has won, leave every entry there once."""

        def append(number: int) -> None:
            racer = another_handle()
            for turn in range(3):
                assert any(append_one(racer, f"r{number}-{turn}") for _ in range(1_000))

        with ThreadPoolExecutor(self.racers) as pool:
            list(pool.map(append, range(self.racers)))
        expected = {"a2"} | {f"r{number}-{turn}" for number in range(self.racers) for turn in range(3)}
        journal = read_back(store)
        assert (expected, 2 + self.racers * 3) == (set(journal.record().attempts), len(journal.lines))

    def test_a_stamp_tells_of_each_append(self, store: Store, another_handle: Callable[[], Store]) -> None:
        """It is another after an append, whoever made it, unless the store cannot tell."""
        before = store.stamp(TARGET)
        assert before == store.stamp(TARGET)
        lines, _ = link(journal(2).head, 2, [imported("a3")])
        another_handle().append(TARGET, journal(2).head, 3, lines, "import")
        assert before is None or before != store.stamp(TARGET)

    def test_what_is_known_to_be_durable_is_read_as_well(self, store: Store) -> None:
        """It is what there is now, whatever was known."""
        for durable in (journal(2).head, journal(1).head):
            assert journal_bytes(entries(2)) == store.read(TARGET, {durable})
        assert store.read(OTHER, {journal(2).head}) is None

    def test_reading_while_appending(self, store: Store, another_handle: Callable[[], Store]) -> None:
        """A reader beside a writer sees, at any moment, a journal that holds together and never shrinks."""
        done = threading.Event()

        def watch() -> list[int]:
            reader, lengths = another_handle(), [2]
            while not done.is_set():
                lengths.append(len(read_back(reader).lines))
            return lengths

        with ThreadPoolExecutor(1) as pool:
            watched = pool.submit(watch)
            try:
                assert all(append_one(store, f"w{number}") for number in range(self.watched_appends))
            finally:
                done.set()
            lengths = watched.result()
        assert sorted(lengths) == lengths

    def test_threads_share_a_store(self, store: Store) -> None:
        """Threads that append through one object lose nothing either."""

        def append(number: int) -> None:
            assert any(append_one(store, f"t{number}") for _ in range(1_000))

        with ThreadPoolExecutor(self.racers) as pool:
            list(pool.map(append, range(self.racers)))
        assert {"a2"} | {f"t{number}" for number in range(self.racers)} == set(read_back(store).record().attempts)

    def test_racing_processes(self, store: Store, spec: str, tmp_path: Path) -> None:
        """Processes that append again and again leave every entry there once."""
        tests = str(Path(__file__).parents[1])
        command = [sys.executable, "-c", APPEND_IN_PROCESSES, tests, spec, str(tmp_path / "cache"), str(self.turns)]
        racing = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False
        )
        assert (0, "") == (racing.returncode, racing.stdout)
        expected = {"a2"} | {f"p{number}-{turn}" for number in range(4) for turn in range(self.turns)}
        assert (expected, len(expected) + 1) == (
            set(read_back(store).record().attempts),
            len(read_back(store).lines),
        )

    def test_contended_applies(self, another_handle: Callable[[], Store], tmp_path: Path) -> None:
        """Machines that apply one configuration at once create each subscription once, and record it."""
        stores = [another_handle() for _ in range(4)]
        stores[0].append(TARGET, None, 1, journal_bytes([begun()]), "begin")
        service, _ = contend(stores, tmp_path, 6)
        assert_each_once(service, stores[0], 6)

    def test_contended_applies_share_the_work(self, another_handle: Callable[[], Store], tmp_path: Path) -> None:
        """What eight machines ask of the store for 40 creates is a few times what one asks, lost appends included.

        Eight that do not yield to each other lose most of their appends, and plan again for each: ten times the work.
        """
        stores, service = [another_handle() for _ in range(8)], CountingService(takes=0.02)
        stores[0].append(TARGET, None, 1, journal_bytes([begun()]), "begin")
        _, alone = contend(stores[:1], tmp_path, 40, service)
        _, machines = contend(stores, tmp_path, 80, service)
        assert_each_once(service, stores[0], 80)
        one, eight = (sum((machine.work for machine in those), Counter[str]()) for those in (alone, machines))
        assert eight["appends"] <= 6 * one["appends"]
        assert one["reads"] == 0
        assert eight["reads"] <= 5 * one["appends"]

    @pytest.mark.soak
    @pytest.mark.timeout(3_600)
    def test_many_contended_applies(self, another_handle: Callable[[], Store], tmp_path: Path) -> None:
        """1,700 applies and more, by eight machines: two more subscriptions are wanted each time."""
        stores = [another_handle() for _ in range(8)]
        stores[0].append(TARGET, None, 1, journal_bytes([begun()]), "begin")
        service, wanted = CountingService(), 0
        while service.applies < 1_700:
            wanted += 2
            contend(stores, tmp_path, wanted, service)
        assert_each_once(service, stores[0], wanted)

    def test_locked_out(self, locked_out: Store) -> None:
        """A lock that another process keeps is an error, not a conflict and not a wait without an end."""
        lines, _ = link(journal(2).head, 2, [imported("a3")])
        with pytest.raises(StoreUnavailable):
            locked_out.append(TARGET, journal(2).head, 3, lines, "late")

    def test_where_a_journal_is(self, store: Store) -> None:
        """Messages name a file only if it is the journal; the place of damage names the store."""
        file = store.journal_file(TARGET)
        if file is None:
            assert f"{store.location} {TARGET}" == store.where(TARGET)
        else:
            assert Path(store.where(TARGET)).samefile(file)
            assert file.read_bytes() == store.read(TARGET)
        store.append(OTHER, None, 1, b"damaged\n", "begin")
        with pytest.raises(RecordDamaged) as caught:
            load_journal(store, OTHER)
        assert f"{store.where(OTHER)}:1" == caught.value.where

    def test_its_locations_name_it(
        self, spec_at: Callable[[Path], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """`--state` takes its location and, from another directory, that of its place; it stays where it was opened."""
        for name in ("here", "away"):
            (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / "here")
        store = opened(spec_at(Path("records")))
        store.append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
        assert (spec_at(Path("records")), tmp_path / "here" / "records") == (store.location, store.path)
        assert journal_bytes(entries(2)) == opened(store.location).read(TARGET)
        monkeypatch.chdir(tmp_path / "away")
        assert journal_bytes(entries(2)) == store.read(TARGET) == opened(store.place.location).read(TARGET)
        assert opened(store.place.location).place == store.place

    def test_same_location_elsewhere(
        self, spec_at: Callable[[Path], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One relative path in two directories is two stores: what was seen in one is not missed in the other."""
        heads = Heads(tmp_path / "heads")
        for name in ("here", "away"):
            (tmp_path / name).mkdir()
            monkeypatch.chdir(tmp_path / name)
            store = opened(spec_at(Path("records")))
            with pytest.raises(RecordMissing):
                read_journal(store, TARGET, heads)
            begin_journal(store, begun(record=name.encode().hex()), heads, "begin")

    def test_symbolic_links(self, spec_at: Callable[[Path], str], tmp_path: Path) -> None:
        """A link to a store, or to the directory it is in, is the same store: also in what is remembered."""
        (tmp_path / "here").mkdir()
        (tmp_path / "link").symlink_to("here")
        (tmp_path / "alias").symlink_to("here/records")
        paths = [tmp_path / name for name in ("here/records", "link/records", "alias")]
        store, *links = (opened(spec_at(path)) for path in paths)
        store.append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
        for number, other in enumerate(links):
            for first, second in ((store, other), (other, store)):
                heads = Heads(tmp_path / f"heads{number}{first is store}")
                assert journal(2) == read_journal(first, TARGET, heads)
                assert [2] == [known.entries for known in heads.seen().at(TARGET, second.place)]

    def test_append_to_a_head_of_the_same_length(self, store: Store) -> None:
        """The hash decides, not the number of lines: another history of the same length is another head."""
        other = journal(2, mark="b")
        lines, _ = link(other.head, 2, [imported("b3")])
        for head in (other.head, "f" * 64):
            with pytest.raises(HeadMoved):
                store.append(TARGET, head, 3, lines, "a fork")
        assert journal_bytes(entries(2)) == store.read(TARGET)

    def test_a_damaged_end_is_no_head(self, store: Store) -> None:
        """A journal whose last line has no hash is neither begun again nor appended to."""
        store.append(OTHER, None, 1, b"damaged\n", "begin")
        for head, seq in ((None, 1), ("f" * 64, 2)):
            with pytest.raises(HeadMoved):
                store.append(OTHER, head, seq, journal_bytes([begun(OTHER)]), "begin")
        assert store.read(OTHER) == b"damaged\n"

    def test_any_bytes_are_kept(self, store: Store) -> None:
        """A line is bytes: characters beyond ASCII, bytes that are no UTF-8, white space at its ends."""
        lines, _ = link(journal(2).head, 2, [imported("\u00e4\u2713\U0001f600")])
        store.append(TARGET, journal(2).head, 3, lines, "beyond ASCII")
        assert journal_bytes(entries(2)) + lines == store.read(TARGET)
        store.append(OTHER, None, 1, b" \xff\r\t \n", "bytes")
        assert store.read(OTHER) == b" \xff\r\t \n"

    def test_names_that_are_alike(self, another_handle: Callable[[], Store]) -> None:
        """Names that differ only in where the slash is, or in what follows, are two journals."""
        store = another_handle()
        names = [TargetName(name) for name in ("a-b/c", "a/b", "a/b-c", "a/b-c-d", "aa/b")]
        for name in names:
            store.append(name, None, 1, journal_bytes(entries(1, name)), "begin")
        assert sorted(names) == another_handle().targets()
        assert [store.read(name) for name in names] == [journal_bytes(entries(1, name)) for name in names]

    def test_a_read_is_never_older(self, store: Store, another_handle: Callable[[], Store]) -> None:
        """What is known to be durable spares work, and is never an answer: somebody else may have appended."""
        known = {journal(2).head}
        assert journal_bytes(entries(2)) == store.read(TARGET, known)
        lines, _ = link(journal(2).head, 2, [imported("a3")])
        another_handle().append(TARGET, journal(2).head, 3, lines, "import")
        assert journal_bytes(entries(3)) == store.read(TARGET, known)

    def test_prepare_changes_no_journal(self, another_handle: Callable[[], Store]) -> None:
        """It may be called before the first journal and any time after; there is nothing in a place that is ready."""
        store = another_handle()
        store.prepare()
        assert (store.targets(), store.read(TARGET)) == ([], None)
        store.append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
        another_handle().prepare()
        assert ([TARGET], journal_bytes(entries(2))) == (store.targets(), store.read(TARGET))

    def test_a_store_that_fails_is_not_an_empty_one(self, broken: Store) -> None:
        """What cannot be read is an error, not "no journal": else the next step is to begin another record."""
        lines, _ = link(journal(2).head, 2, [imported("a3")])
        uses: list[Callable[[], object]] = [
            lambda: broken.read(TARGET), lambda: broken.read(TARGET, {journal(2).head}), broken.targets,
            lambda: broken.append(TARGET, journal(2).head, 3, lines, "append"),
            lambda: broken.append(OTHER, None, 1, journal_bytes([begun(OTHER)]), "begin"),
        ]  # fmt: skip
        for use in uses:
            with pytest.raises(StoreUnavailable):
                use()
        assert broken.stamp(TARGET) is None
