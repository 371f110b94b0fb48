"""Small records to append and to read back."""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.errors import HeadMoved
from reconciler.record.chain import Line, last_head, link, parse
from reconciler.record.facts import AnyFact, Begun
from reconciler.record.store import Store
from reconciler.values import stamp

AT = "2026-01-01T00:00:00Z"


def linked(head: str | None, count: int, facts: Sequence[AnyFact]) -> tuple[bytes, tuple[Line, ...]]:
    """Return the lines that add facts to a record of `count` lines with this head, as bytes and as values."""
    return link(head, count, facts)


def time_of(seconds: float) -> str:
    """Return epoch seconds as records write them."""
    return stamp(seconds)


def begun(record: str = "a" * 32) -> Begun:
    """Return the fact that begins a record."""
    return Begun(at=AT, record=record)


def named(name: str) -> Begun:
    """Return a fact that can stand anywhere, recognizable by its name."""
    return Begun(at=AT, record="b" * 32, origin=name)


def sample(count: int = 2) -> tuple[bytes, list[str]]:
    """Return a record of that many lines, and their hashes."""
    data, lines = link(None, 0, [begun(), *(named(f"line {number}") for number in range(2, count + 1))])
    return data, [line.hash for line in lines]


def begin(store: Store, count: int = 2) -> str:
    """Begin a record in a store, and return its head."""
    data, heads = sample(count)
    store.append(None, data, "begin", second=heads[-1])
    return heads[-1]


def lines_of(store: Store) -> tuple[Line, ...]:
    """Return the lines that a store holds, checked."""
    data = store.read().data
    assert data is not None
    return parse(data, store.place)


def names_of(store: Store) -> list[str]:
    """Return the names of the facts that a store holds, in order."""
    return [line.fact.origin for line in lines_of(store)]


def add(store: Store, *names: str) -> str:
    """Append facts to what the store holds now, and return the new head. Raises what the store raises."""
    data = store.read().data
    assert data is not None
    head, count = last_head(data), data.count(b"\n")
    new, lines = link(head, count, [named(name) for name in names])
    store.append(head, new, f"add {names[0]}", second=lines[-1].hash)
    return lines[-1].hash


def add_in_the_end(store: Store, name: str) -> None:
    """Append a fact, again and again until no other run is faster."""
    for _ in range(1_000):
        try:
            add(store, name)
        except HeadMoved:
            continue
        return
    raise AssertionError("a thousand conflicts")
