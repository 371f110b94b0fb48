"""The first two gates before a create, decided from the record and from the heads that are remembered elsewhere.

Gate 1: this is the record to go by. It is not closed, is the one that `record:` names, contains every head that this
machine last saw of any record of these services, contains the head in the store's second place, and, if it is a file,
was begun or accepted on this machine. Gate 2: no loss is open. (Gates 3 and 4, about a target and about an address, are
in `planning`.)
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.model.record import Record


class Note(Struct, frozen=True, forbid_unknown_fields=True):
    """A machine's memory of a record: its id, the services it is about, its place, and its last line."""

    record: str
    services: tuple[str, ...]
    place: str
    entries: int
    head: str


class Obstacle(StrEnum):
    """Why no create is sent, whatever its address; all but LOSS_OPEN close the first gate."""

    OTHER_RECORD = "other-record"
    CLOSED = "record-closed"
    NOT_FROM_HERE = "file-not-from-here"
    HEADS_MISSING = "heads-missing"
    SECOND_MISSING = "second-missing"
    LOSS_OPEN = "loss-open"


class Standing(Struct, frozen=True):
    """How the record at a place stands against all that is remembered of it.

    `missing` are the heads that are remembered and that it does not contain, those of the second place too, sorted.
    """

    place: str
    obstacles: tuple[Obstacle, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def first_gate_open(self) -> bool:
        """True if this is the record to go by."""
        return not set(self.obstacles) - {Obstacle.LOSS_OPEN}

    @property
    def open(self) -> bool:
        """True if both gates are open."""
        return not self.obstacles


def stand(
    record: Record, notes: Iterable[Note], place: str, *, is_file: bool, second: str | None, expected: str
) -> Standing:
    """Return how `record` stands at `place`.

    `notes` are all notes of this machine that concern it (`concerning`), `second` is as in `Stored`, and `expected` is
    the id that `record:` names, "" if it is not to be looked at.
    """
    notes = tuple(notes)
    heads = [note.head for note in notes] + ([second] if second else [])
    missing = tuple(sorted({head for head in heads if not record.contains(head)}))
    obstacles = {
        Obstacle.OTHER_RECORD: bool(expected) and record.id != expected,
        Obstacle.CLOSED: bool(record.closed_to),
        Obstacle.NOT_FROM_HERE: is_file and not any(is_of(note, record, place) for note in notes),
        Obstacle.HEADS_MISSING: bool(missing),
        Obstacle.SECOND_MISSING: second == "",
        Obstacle.LOSS_OPEN: bool(record.open_losses),
    }
    return Standing(place, tuple(obstacle for obstacle, stands in obstacles.items() if stands), missing)


def concerning(notes: Iterable[Note], record: str, services: Iterable[str], place: str) -> tuple[Note, ...]:
    """Return the notes about this record, about this place, or about any record of these services."""
    keys = set(services)
    return tuple(
        note for note in notes if note.record == record or note.place == place or not keys.isdisjoint(note.services)
    )


def is_of(note: Note, record: Record, place: str) -> bool:
    """True if the note was made of this very record at this very place."""
    return note.record == record.id and note.place == place
