"""A record in memory: a store whose faults are declared, the notes of a machine, and a journal over both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from unittest.mock import patch

from reconciler.errors import HeadMoved, Message, StoreUnavailable
from reconciler.model.record import Record
from reconciler.record import chain, journal
from reconciler.record.chain import START, Line, complete, last_head, link
from reconciler.record.facts import AnyFact, Begun, Completed, LossOpened
from reconciler.record.fold import fold
from reconciler.record.gates import Note
from reconciler.record.journal import Journal, Reading
from reconciler.record.notes import Notes
from reconciler.record.store import Stored

AT = "2026-01-01T00:00:00Z"
RECORD = "5f0c8f5e9a1d4b7c8e2f3a4b5c6d7e8f"
MOVED = HeadMoved(Message("head-moved", "another run appended first", "memory"))
DOWN = StoreUnavailable(Message("store-down", "no network", "memory"))


class MemoryStore:
    """A store in memory. With a `second` place, an append moves that too."""

    place = "memory:record"
    path: Path | None = None

    def __init__(self, data: bytes | None = None, *, second: bool = False) -> None:
        self.data = data
        self.second: str | None = (last_head(data) or "" if data else "") if second else None
        self._lost: list[Exception] = []
        self._failures: list[Exception] = []
        self._unreadable: Exception | None = None
        self._loses_second = False

    # Faults

    def declare_failures(self, *problems: Exception) -> None:
        """The next appends fail, without an effect."""
        self._failures = list(problems)

    def declare_lost_answers(self, *problems: Exception) -> None:
        """The next appends are done, and reported as failed."""
        self._lost = list(problems)

    def declare_lost_second(self) -> None:
        """The next append is reported as failed once the record holds it, before the second place moves."""
        self._loses_second = True

    def declare_unreadable(self, problem: Exception | None) -> None:
        """Reading fails from now on; None: no longer."""
        self._unreadable = problem

    # What every store does

    def read(self) -> Stored:
        if self._unreadable is not None:
            raise self._unreadable
        return Stored(self.data, self.second)

    def append(self, head: str | None, lines: bytes, summary: str, *, second: str | None = None) -> None:
        assert "\n" not in summary
        if self._failures:
            raise self._failures.pop(0)
        data = complete(self.data or b"")
        if last_head(data) != head:
            raise MOVED
        if second is not None and self.second and self.second.encode() not in data + lines:
            raise MOVED  # the second place knows of more than the record says
        self.data = data + lines
        if self._loses_second:
            self._loses_second = False
            raise DOWN
        if second is not None and self.second is not None:
            self.second = second
        if self._lost:
            raise self._lost.pop(0)

    def prepare(self) -> None:
        """It is always ready."""

    def check_writable(self) -> None:
        """It always is."""


class MemoryNotes(Notes):
    """The notes of a machine, in memory. `problem` is raised where one is written, if it is set."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str, bool], Note] = {}
        self.problem: Exception | None = None

    def read_all(self) -> list[Note]:
        return list(self.kept.values())

    def write(self, note: Note, replaces: Callable[[Note], bool] = lambda _: True) -> None:
        if self.problem is not None:
            raise self.problem
        key = (note.record, note.place, note.second)
        former = self.kept.get(key)
        if former is None or replaces(former):
            self.kept[key] = note

    def drop(self, note: Note) -> None:
        self.kept.pop((note.record, note.place, note.second), None)


def record_of(*facts: AnyFact, complete: bool = True) -> bytes:
    """Return a record that was begun, is complete, and says these facts."""
    begin: list[AnyFact] = [Begun(at=AT, record=RECORD), LossOpened(at=AT, loss="begun", cause="begun")]
    if complete:
        begin.append(Completed(at=AT, losses=("begun",)))
    data, _ = link(None, 0, [*begin, *facts])
    return data


def journal_of(store: MemoryStore, notes: Notes | None = None, services: frozenset[str] = frozenset()) -> Journal:
    """Return the record in a store, as a machine with these notes sees it."""
    return Journal(store, notes or MemoryNotes(), services)


def append(store: MemoryStore, *facts: AnyFact, moves_second: bool = True) -> None:
    """Another run appends facts."""
    assert store.data is not None
    data = complete(store.data)
    lines, new = link(last_head(data) or START, data.count(b"\n"), facts)
    store.append(last_head(data), lines, "another run", second=new[-1].hash if moves_second else None)


def facts_after(store: MemoryStore, reading: Reading) -> Sequence[AnyFact]:
    """Return the facts that were appended since a reading."""
    return [line.fact for line in journal_of(store).read().lines[len(reading.lines) :]]


@contextmanager
def unchanged_read_once() -> Iterator[None]:
    """Within it, bytes that were parsed before and lines that were folded before are not again: most reads are such."""
    folded: dict[str, Record] = {}

    def fold_once(lines: Sequence[Line]) -> Record:
        head = lines[-1].hash
        if head not in folded:
            folded[head] = fold(lines)
        return folded[head]

    with patch.object(chain, "parse", lru_cache(1024)(chain.parse)), patch.object(journal, "fold", fold_once):
        yield
