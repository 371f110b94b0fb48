"""The promises of every store, tested with a file, a git branch, an S3, an Azurite, a PostgreSQL and a PgBouncer."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.records import add, add_in_the_end, begin, begun, lines_of, linked, named, names_of, sample
from support.refusals import raised

from reconciler.errors import HeadMoved, StoreUnavailable
from reconciler.record.chain import last_head
from reconciler.record.store import Stored
from stores.conftest import Site

_RACERS = 5


def test_nothing_there(site: Site) -> None:
    """Where no record was begun there is none, and nothing is in the second place."""
    assert site.open().read() in (Stored(None), Stored(None, ""))


def test_place_is_a_place(site: Site) -> None:
    """The name of a place opens the same place again."""
    store = site.open()
    begin(store)
    site.place = store.place
    again = site.open()
    assert (store.place, store.path, store.read()) == (again.place, again.path, again.read())


def test_append_and_read(site: Site) -> None:
    """The bytes come back as they were, to others as well."""
    store = site.open()
    begin(store)
    assert add(store, "x", "y") == last_head(site.open("b").read().data or b"")
    assert ["", "line 2", "x", "y"] == names_of(store) == names_of(site.open("b"))


def test_second_place(site: Site) -> None:
    """The second place, if there is one, holds the head that was given last, and stays where none is given."""
    store = site.open()
    head = begin(store)
    lines, (line,) = linked(head, 2, [named("x")])
    store.append(head, lines, "x")
    assert store.read().second in (None, head)
    store.append(line.hash, b"", "", second=line.hash)
    assert store.read() == Stored(sample()[0] + lines, store.read().second and line.hash)


def test_begin_once(site: Site) -> None:
    """A record that is there is never begun again, also if it was not there at the last look."""
    late = site.open("b")
    assert late.read().data is None
    begin(site.open())
    message = raised(HeadMoved, late.append, None, linked(None, 0, [begun("c" * 32)])[0], "begin")
    assert message.name == "head-moved"
    assert sample()[0] == site.open().read().data


def test_append_to_another_head(site: Site) -> None:
    """Lines, or none, for an older head, or one that never was, are refused; for the current one they go."""
    store, late = site.open(), site.open("b")
    old = begin(store)
    late.read()
    current = add(store, "x")
    late.append(current, linked(current, 3, [named("y")])[0], "y")
    for head in (old, current, "f" * 64):
        for lines in (linked(head, 2, [named("late")])[0], b""):
            with pytest.raises(HeadMoved, match="another run"):
                late.append(head, lines, "late")
    assert names_of(store) == ["", "line 2", "x", "y"]


def test_append_without_a_record(site: Site) -> None:
    """A record that is not there has no head to append to, and none is begun by that."""
    store = site.open()
    message = raised(HeadMoved, store.append, "f" * 64, linked("f" * 64, 2, [named("x")])[0], "append")
    assert (True, store.place) == ("the record is missing" in message.what, message.where)
    assert site.open().read().data is None


def test_try_changes_nothing(site: Site) -> None:
    """Preparing the place and trying whether it can be written leave the record as it is, and the next append works."""
    store = site.open()
    store.check_writable()
    begin(store)
    store.prepare()
    store.check_writable()
    assert sample()[0] == site.open().read().data
    add(store, "x")


def test_ten_thousand_lines(site: Site) -> None:
    """Thousands of lines go in at once, a line of a megabyte too, and more after them."""
    store = site.open()
    head = begin(store, 10_000)
    lines, (line,) = linked(head, 10_000, [named("x" * 1_000_000)])
    store.append(head, lines, "large")
    assert line.hash == last_head(store.read().data or b"")
    add(site.open("b"), "after")
    assert len(lines_of(store)) == 10_002


def test_race_to_begin(site: Site) -> None:
    """If many begin a record at once, one wins, and its record is the one that is there."""
    barrier = threading.Barrier(_RACERS)

    def run(number: int) -> bool:
        store, lines = site.open(str(number)), linked(None, 0, [begun(f"{number:032x}")])[0]
        barrier.wait()
        return _wins(lambda: store.append(None, lines, "begin"))

    with ThreadPoolExecutor(_RACERS) as pool:
        won = list(pool.map(run, range(_RACERS)))
    assert sum(won) == 1
    assert linked(None, 0, [begun(f"{won.index(True):032x}")])[0] == site.open().read().data


def test_race_for_a_head(site: Site) -> None:
    """If many append to one head, one wins, round after round, and the others leave nothing."""
    stores = [site.open(str(number)) for number in range(_RACERS)]
    begin(stores[0])
    winners = []
    for turn in range(3):
        barrier = threading.Barrier(_RACERS)

        def run(number: int, barrier: threading.Barrier = barrier, turn: int = turn) -> bool:
            data = stores[number].read().data or b""
            head = last_head(data)
            lines, made = linked(head, data.count(b"\n"), [named(f"{turn} {number}"), named("more")])
            barrier.wait()
            return _wins(lambda: stores[number].append(head, lines, "race", second=made[-1].hash))

        with ThreadPoolExecutor(_RACERS) as pool:
            won = list(pool.map(run, range(_RACERS)))
        assert sum(won) == 1
        winners += [f"{turn} {won.index(True)}", "more"]
    assert names_of(stores[0]) == ["", "line 2", *winners]


def test_threads_share_a_store(site: Site) -> None:
    """Threads that append through one store lose nothing."""
    store = site.open()
    begin(store)
    with ThreadPoolExecutor(_RACERS) as pool:
        list(pool.map(lambda number: add_in_the_end(store, f"t{number}"), range(_RACERS)))
    assert {"", "line 2", *(f"t{number}" for number in range(_RACERS))} == set(names_of(store))


def _wins(append: object) -> bool:
    """True if an append succeeds, False if another was faster."""
    assert callable(append)
    try:
        append()
    except (HeadMoved, StoreUnavailable):
        return False
    return True
