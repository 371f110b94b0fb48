"""Reads the record from its store, compares it with the remembered heads, and appends to it.

Every command uses the record through a `Journal`. The journal notes each head on this machine if the record contains
the previously noted head. If a record lacks known entries, it is refused, even after further appends, until a person
accepts the loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from reconciler.errors import Message, RecordClosed, RecordMissing, Step
from reconciler.record import chain
from reconciler.record.fold import fold
from reconciler.record.gates import Note, Obstacle, Standing, concerning, stand, usable, use_place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.model.record import Record
    from reconciler.record.chain import Line
    from reconciler.record.facts import AnyFact
    from reconciler.record.notes import Notes
    from reconciler.record.store import Store


class Reading(Struct, frozen=True):
    """The record as it was read, and the result of comparing it with the remembered heads.

    `second` is as in `Stored`. `torn` is the number of bytes of an interrupted write.
    """

    record: Record
    lines: tuple[Line, ...]
    standing: Standing
    second: str | None = None
    torn: int = 0


class Journal:
    """The record at one place, with this machine's notes about it.

    `services` are the keys of the services that `config/` declares; notes about any record of these services are used.
    `expected` is the id that `record:` names, or "" to skip this check. `named_by` is as in `Standing`.
    `begins_here` is true if a person may begin a record here; it is false in CI, where nobody can know what exists.
    """

    def __init__(
        self,
        store: Store,
        notes: Notes,
        services: frozenset[str],
        expected: str = "",
        *,
        named_by: str = "",
        begins_here: bool = True,
    ) -> None:
        self.store = store
        self.place = store.place
        self.notes = notes
        self.expected = expected
        self.named_by = named_by
        self._services = services
        self._begins_here = begins_here

    def remembered(self, record: str = "") -> tuple[Note, ...]:
        """Return this machine's notes that concern the journal's place or services, or the record with this id."""
        return concerning(self.notes.read_all(), record, self._services, self.place)

    def read(self) -> Reading:
        """Read the record and note its head. Raises RecordMissing, RecordDamaged and StoreUnavailable."""
        reading = self.look()
        if reading is None:
            raise RecordMissing(self._missing())
        return reading

    def look(self) -> Reading | None:
        """Read the record like `read`, but return None if there certainly is no record."""
        notes = (
            self.notes.read_all()
        )  # read before the record: another process may append and note a later head meanwhile
        stored = self.store.read()
        if stored.data is None:
            return None
        lines, second = chain.parse(stored.data, self.place), stored.second
        torn = len(stored.data) - stored.data.rfind(b"\n") - 1
        del stored  # free the bytes: they are as large as the parsed facts
        reading = self._judged(fold(lines), lines, second, notes, torn)
        self._note(reading, notes)
        return reading

    def append(self, reading: Reading, facts: Sequence[AnyFact], summary: str) -> Reading:
        """Append facts to the record and return a reading that includes them.

        Raises RecordClosed, HeadMoved and StoreUnavailable. The store's second place is updated only if the first gate
        is open before the append, or if these facts open it.
        """
        refuse_closed(reading.record, self.place, self.named_by)
        notes = self.notes.read_all()
        data, new = chain.link(reading.record.head, len(reading.lines), facts)
        lines = reading.lines + new
        after = self._judged(fold(lines), lines, reading.second, notes)
        second = new[-1].hash if reading.standing.first_gate_open or after.standing.first_gate_open else None
        self.store.append(reading.record.head, data, summary, second=second)
        after = self._judged(after.record, lines, second or reading.second, notes)
        self._note(after, notes)
        return after

    def accept(self, reading: Reading | None, facts: Sequence[AnyFact], summary: str) -> Reading:
        """Append facts that account for missing heads: the beginning of a record, or a loss that names the heads.

        Unlike `append`, this overwrites the second place and this machine's note.
        """
        head, former_lines = (reading.record.head, reading.lines) if reading else (None, ())
        data, new = chain.link(head, len(former_lines), facts)
        self.store.append(head, data, summary, second=new[-1].hash)
        lines = former_lines + new
        record = fold(lines)
        self.notes.write(self._note_of(record, record.entries, record.head))
        for former in self.remembered(record.id):
            if former.place == self.place and former.record != record.id and record.contains(former.head):
                self.notes.drop(former)
        return self._judged(record, lines, record.head, self.notes.read_all())

    def extend(self, reading: Reading, head: str, seq: int, new: tuple[bytes, tuple[Line, ...]], summary: str) -> None:
        """Append lines that an apply has already linked with `chain.link`.

        The lines follow the lines of `reading` and the lines that the apply has appended since.

        Once this returns, the lines are in the record, and the second place and this machine's note name the last line,
        so the calls may be sent. Raises RecordClosed and HeadMoved. Raises StoreUnavailable if the append fails or the
        head cannot be noted.
        """
        refuse_closed(reading.record, self.place, self.named_by)
        data, lines = new
        last = lines[-1].hash
        advances = reading.standing.first_gate_open
        self.store.append(head, data, summary, second=last if advances else None)
        if advances:
            entries = seq + len(lines) - 1
            note_of_last = self._note_of(reading.record, entries, last)
            self.notes.write(note_of_last, lambda former: former.entries < entries)

    def note_closed(self, reading: Reading) -> None:
        """Remember that the record is closed. From then on, the record at the new place must contain its head."""
        if Obstacle.NOT_FROM_HERE not in reading.standing.obstacles:
            self.notes.write(self._note_of(reading.record, reading.record.entries, reading.record.head))

    def catch_up(self, reading: Reading) -> None:
        """Update the second place to the head that was read, if an interrupted append failed to do so."""
        if reading.standing.first_gate_open and reading.second not in (None, reading.record.head):
            self.store.append(reading.record.head, b"", "", second=reading.record.head)

    def _judged(
        self, record: Record, lines: tuple[Line, ...], second: str | None, notes: Sequence[Note], torn: int = 0
    ) -> Reading:
        known = concerning(notes, record.id, self._services | record.bound_services, self.place)
        is_file = self.store.path is not None
        standing = stand(record, known, self.place, is_file=is_file, second=second, expected=self.expected)
        standing = replace(standing, named_by=self.named_by)
        return Reading(record, lines, standing, second, torn)

    def _note(self, reading: Reading, notes: Sequence[Note]) -> None:
        """Note the head that was read, if the record contains all remembered heads and has the expected id.

        If the record lacks the head in the second place, that head is noted, because the second place may be reset too.
        Nothing is written if `notes`, which were read before the record, already contain the same note.
        """
        record, obstacles, second = reading.record, reading.standing.obstacles, reading.second
        if not {Obstacle.OTHER_RECORD, Obstacle.NOT_FROM_HERE}.isdisjoint(obstacles):
            return
        if Obstacle.HEADS_MISSING not in obstacles:
            note = self._note_of(record, record.entries, record.head)
        elif second and not record.contains(second):
            note = replace(self._note_of(record, 0, second), second=True)
        else:
            return
        if note not in notes:
            self.notes.write(note, lambda former: record.contains(former.head))

    def _note_of(self, record: Record, entries: int, head: str) -> Note:
        services = tuple(sorted(self._services | record.bound_services))
        return Note(record.id, services, self.place, entries, head, bool(record.closed_to))

    def _missing(self) -> Message:
        notes = self.remembered(self.expected)
        if notes or self.expected or self.store.read().second:
            lost = Step(
                "restore it from a backup, or, if it is lost for good, run", ("reconciler", "state", "accept-loss")
            )
            same = [note for note in usable(notes) if self.expected in ("", note.record)]
            others = sorted({note.place for note in same} - {self.place})
            known = (Step(f"use the record that this machine knows: {use_place(at, self.named_by)}") for at in others)
            return Message("record-lost", "the record is missing", self.place, (*known, lost))
        if self._begins_here:
            steps = (Step("to begin the record of this project, run", ("reconciler", "state", "init")),)
        else:
            steps = (Step("begin the record once, from your own machine; then run this again"),)
        return Message("record-missing", "there is no record yet", self.place, steps)


def refuse_closed(record: Record, place: str, named_by: str = "") -> None:
    """Raise RecordClosed if the record continues at another place, because nothing may be appended to it here."""
    if record.closed_to:
        step = Step(f"use that place: {use_place(record.closed_to, named_by)}")
        raise RecordClosed(Message("record-closed", f"the record continues at {record.closed_to}", place, (step,)))
