"""The world that interleaved actors share: the places of the record, the notes of machines, the service, the time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from reconciler.record import chain
from reconciler.record.facts import Answered, AnyFact, Closed, Completed, Intended, LossOpened, What
from reconciler.record.store import Stored
from support.interleaving.schedules import Actor, Call
from support.memory_record import DOWN, MemoryNotes, MemoryStore
from support.simulation.machine import LIMITS
from support.simulation.world import Created, Promise, Violation

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
    from pathlib import Path

    from reconciler.record.gates import Note

FRESH, SETTLED = LIMITS.freshness + 1.0, LIMITS.settled_in + 400.0
"""Seconds after which a reading is no longer fresh, and after which no call is in flight, not of 300 s either."""


class World:
    """All that is outside of the actors. `faults` is how many may still happen; `saved` is in recovery files.

    `shut` says since when a loss is open at a place, or its record closed. `in_flight` are the calls that have left, by
    attempt, with their senders.
    """

    def __init__(self, places: Mapping[str, bytes | None], *, second: bool = False, faults: int = 0) -> None:
        self.places = {place: self._stored(data, second=second) for place, data in places.items()}
        self.notes: dict[str, dict[tuple[str, str], Note]] = {}
        self.intents: dict[str, What] = {}
        self.created: dict[str, Created] = {}
        self.in_flight: dict[str, str] = {}
        self.saved: tuple[AnyFact, ...] = ()
        self.shut: dict[str, float] = {}
        self.now = 0.0
        self.faults = faults

    @staticmethod
    def _stored(data: bytes | None, *, second: bool) -> Stored:
        return Stored(data, ((chain.last_head(data) or "") if data else "") if second else None)

    def copy(self, **changes: Any) -> Self:
        """Return a world that changes by itself, with some fields changed at once."""
        new = type(self).__new__(type(self))
        for name, value in self.__dict__.items():
            new.__dict__[name] = dict(value) if isinstance(value, dict) else value
        new.__dict__ |= changes
        return new

    @property
    def key(self) -> Hashable:
        """Equal for worlds that are alike."""
        places = tuple((place, stored.data, stored.second) for place, stored in self.places.items())
        notes = tuple((machine, frozenset(notes.items())) for machine, notes in self.notes.items())
        counted = self.now, self.faults, frozenset(self.shut.items()), len(self.saved)
        return places, frozenset(notes), frozenset(self.created), frozenset(self.in_flight), counted

    # The record

    def append(self, place: str, head: str | None, lines: bytes, second: str | None) -> None:
        """Append to a place. Raises HeadMoved."""
        store = MemoryStore()
        store.data, store.second = self.places[place].data, self.places[place].second
        store.append(head, lines, "", second=second)
        self.places[place] = Stored(store.data, store.second)
        recorded = self.lines(place)
        for line in recorded[len(recorded) - lines.count(b"\n") :]:
            match line.fact:
                case Intended():
                    self.intents[line.fact.attempt] = line.fact.what
                case LossOpened() | Closed():
                    self.shut[place] = self.now
                case Completed():
                    self.shut.pop(place, None)

    def lines(self, place: str) -> tuple[chain.Line, ...]:
        """Return the lines of the record at a place; none if there is no record. Raises RecordDamaged."""
        data = self.places[place].data
        return chain.parse(data, place) if data else ()

    # The service

    def leave(self, attempt: str, sender: str, place: str) -> None:
        """A call leaves. Raises Violation if its intent is not durable, or its record was shut a while ago."""
        if not self._holds(place, attempt):
            raise Violation(Promise.INTENT_FIRST, attempt)
        if self.now - self.shut.get(place, self.now) > LIMITS.freshness:
            raise Violation(Promise.FRESH, attempt)
        self.in_flight[attempt] = sender

    def _holds(self, place: str, attempt: str) -> bool:
        lines, second = self.lines(place), self.places[place].second
        if second is not None:
            lines = lines[: next((number for number, line in enumerate(lines, 1) if line.hash == second), 0)]
        return any(isinstance(line.fact, Intended) and line.fact.attempt == attempt for line in lines)

    def arrive(self, attempt: str) -> None:
        """A call arrives: the service creates. Raises Violation if that exists."""
        self.in_flight.pop(attempt, None)
        new = Created(attempt, self.intents[attempt])
        for other in self.created.values():
            if not other.routes.isdisjoint(new.routes):
                raise Violation(Promise.ONCE, f"{attempt} creates what {other.attempt} has created")
        self.created[attempt] = new

    def lose(self, attempt: str) -> None:
        """A call never arrives."""
        del self.in_flight[attempt]

    # What may go wrong

    def without(self, name: str) -> Iterator[Self]:
        """Yield the worlds in which an actor is killed: what it has in flight arrives, or never does."""
        sent = [attempt for attempt, sender in self.in_flight.items() if sender == name]
        for arrives in (False, True)[: 2 if sent else 1]:
            world = self.copy(faults=self.faults - 1)
            for attempt in sent:
                (world.arrive if arrives else world.lose)(attempt)
            yield world

    def stalls(self) -> Sequence[float]:
        """Return for how long all actors may stand still."""
        return (FRESH,) if self.in_flight else (FRESH, SETTLED)


class PortStore:
    """A place as an actor sees it: every call is one that others may come before, and may fail or lose its answer."""

    path: Path | None = None

    def __init__(self, actor: Actor, place: str) -> None:
        self._actor = actor
        self.place = place

    def read(self) -> Stored:
        stored: Stored = self._actor.wait(Call(f"reads {self.place}", lambda world: world.places[self.place], (_fail,)))
        return stored

    def append(self, head: str | None, lines: bytes, summary: str, *, second: str | None = None) -> None:
        def perform(world: World) -> None:
            world.append(self.place, head, lines, second)

        def lose_answer(world: World) -> None:
            perform(world)
            raise DOWN

        def lose_second(world: World) -> None:
            world.append(self.place, head, lines, None)
            raise DOWN

        self._actor.wait(Call(f"appends {summary} to {self.place}", perform, (_fail, lose_answer, lose_second)))

    def prepare(self) -> None:
        """It is always ready."""

    def check_writable(self) -> None:
        """It always is."""


class PortNotes(MemoryNotes):
    """The notes of an actor's machine."""

    def __init__(self, actor: Actor) -> None:
        super().__init__()
        self._actor = actor

    def read_all(self) -> list[Note]:
        notes: list[Note] = self._actor.at_once(lambda world: list(self._of(world).values()))
        return notes

    def write(self, note: Note, replaces: Callable[[Note], bool] = lambda _: True) -> None:
        self._actor.at_once(lambda world: self._change(world, note, replaces))

    def drop(self, note: Note) -> None:
        self._actor.at_once(lambda world: self._of(world).pop((note.record, note.place), None))

    def _of(self, world: World) -> dict[tuple[str, str], Note]:
        """Return the notes in a world, to be changed."""
        world.notes[self._actor.machine] = notes = dict(world.notes.get(self._actor.machine, {}))
        return notes

    def _change(self, world: World, note: Note, replaces: Callable[[Note], bool]) -> None:
        notes = self._of(world)
        former = notes.get((note.record, note.place))
        if former is None or replaces(former):
            notes[note.record, note.place] = note


def _fail(_: World) -> None:
    raise DOWN


def recorded_or_saved(world: World, attempt: str) -> bool:
    """True if the outcome of an attempt is in a record or in a recovery file."""
    facts = [*world.saved, *(line.fact for place in world.places for line in world.lines(place))]
    return any(isinstance(fact, Answered) and fact.attempt == attempt for fact in facts)
