"""The journal notes what it sees, and only of a record that contains what this machine knew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.memory_record import AT, RECORD, MemoryNotes, MemoryStore, journal_of, record_of
from support.records import linked
from support.refusals import raised

from reconciler.errors import RecordMissing
from reconciler.record.chain import last_head, missing, parse
from reconciler.record.facts import Closed, LossOpened
from reconciler.record.gates import Note, Obstacle
from reconciler.record.journal import Journal

if TYPE_CHECKING:
    from reconciler.record.store import Stored

OTHER = "0" * 32


class Overtaken(MemoryStore):
    """A store that another process of this machine appends to, and notes, just after each read."""

    def __init__(self, data: bytes, after: bytes, notes: MemoryNotes) -> None:
        super().__init__(data)
        self._after, self._notes = after, notes

    def read(self) -> Stored:
        """Return what is there, and have it overtaken."""
        stored = super().read()
        self.data = self._after
        self.look()
        return stored

    def look(self) -> None:
        """Note what is there now."""
        Journal(MemoryStore(self._after), self._notes, frozenset()).look()


def test_an_append_of_another_process_is_no_missing_head() -> None:
    """A head that was noted after the record was read is not missed in it, and the note stays."""
    notes = MemoryNotes()
    before = record_of(complete=False)
    after = record_of(complete=True)
    journal = Journal(Overtaken(before, after, notes), notes, frozenset())

    reading = journal.read()

    assert reading.standing.missing == ()
    [note] = notes.read_all()
    assert note.entries == 3


def test_another_record_than_the_expected_one_is_not_noted() -> None:
    """A record that `record:` does not name leaves no note that the right one would lack."""
    notes = MemoryNotes()
    journal = Journal(MemoryStore(record_of()), notes, frozenset(), expected=OTHER)

    reading = journal.read()

    assert Obstacle.OTHER_RECORD in reading.standing.obstacles
    assert notes.read_all() == []


def test_a_note_of_a_record_with_a_missing_head_does_not_move() -> None:
    """A record that lacks what this machine knew stays refused, however often it is read."""
    notes = MemoryNotes()
    known = Note("f" * 32, (), MemoryStore.place, 9, "e" * 64)
    notes.write(known)
    journal = Journal(MemoryStore(record_of()), notes, frozenset())

    assert [journal.read().standing.first_gate_open for _ in range(2)] == [False, False]
    assert notes.read_all() == [known]


def test_a_missing_record_is_looked_for_where_this_machine_knows_it() -> None:
    """Where another place has a record of these services, that place is named before the way of a loss."""
    notes = MemoryNotes()
    notes.write(Note("f" * 32, ("service",), "git:records", 9, "e" * 64))
    journal = Journal(MemoryStore(), notes, frozenset({"service"}))

    message = raised(RecordMissing, journal.read)

    assert ["git:records" in step.text for step in message.steps] == [True, False]


def test_a_place_that_is_known_to_be_closed_is_not_suggested() -> None:
    """Of two places that this machine knows, only the one where the record continues is named."""
    notes, closed = MemoryNotes(), MemoryStore(record_of(Closed(at=AT, to="git:records")))
    closed.place = "memory:closed"
    Journal(closed, notes, frozenset({"service"})).read()
    notes.write(Note(RECORD, ("service",), "git:records", 9, "e" * 64))

    message = raised(RecordMissing, Journal(MemoryStore(), notes, frozenset({"service"})).read)

    named = [[place in step.text for place in ("memory:closed", "git:records")] for step in message.steps]
    assert named == [[False, True], [False, False]]


def test_only_the_record_that_config_names_is_looked_for_elsewhere() -> None:
    """A place of another record would be refused there."""
    notes = MemoryNotes()
    for record, place in ((RECORD, "git:records"), ("f" * 32, "git:others")):
        notes.write(Note(record, ("service",), place, 9, "e" * 64))

    message = raised(RecordMissing, Journal(MemoryStore(), notes, frozenset({"service"}), RECORD).read)

    assert [True, False] == [
        any(place in step.text for step in message.steps) for place in ("git:records", "git:others")
    ]


def test_a_record_whose_second_place_is_left_is_lost_and_not_one_to_begin() -> None:
    """A machine that has never seen it is told so too: `state init` would be refused."""
    store = MemoryStore(record_of(), second=True)
    store.data = None

    assert "record-lost" == raised(RecordMissing, Journal(store, MemoryNotes(), frozenset()).read).name


def test_a_note_names_the_services_in_one_order() -> None:
    """However a set of them is iterated: a note that reads otherwise would be written, durably, by each command."""
    services = frozenset(f"https://{name}.example" for name in "hgfedcba")
    notes = MemoryNotes()
    Journal(MemoryStore(record_of()), notes, services).read()
    assert [tuple(sorted(services))] == [note.services for note in notes.read_all()]


@pytest.mark.parametrize("is_open", [True, False])
def test_lines_of_a_run_move_what_remembers_the_head_only_behind_an_open_gate(is_open: bool) -> None:
    """Else a record that lacks a head would come to be the one that is gone by."""
    store, notes = MemoryStore(record_of(), second=True), MemoryNotes()
    journal = journal_of(store, notes)
    first = journal.read().record.head
    if not is_open:
        notes.write(Note("f" * 32, (), MemoryStore.place, 9, "e" * 64))
    reading = journal.read()
    assert is_open is reading.standing.first_gate_open
    kept = dict(notes.kept)
    new = linked(first, reading.record.entries, [LossOpened(at=AT, loss="x", cause="accepted")])
    journal.extend(reading, first, reading.record.entries + 1, new, "a run")
    last, noted = new[1][-1].hash, dict(notes.kept)
    assert journal.read().record.head == last
    assert store.second == (last if is_open else first)
    assert (is_open, noted) == (kept != noted, notes.kept)


def set_back(store: MemoryStore, *, second: bool) -> bytes:
    """Take the last line away, in the second place too if asked, and return what was there."""
    whole = store.data or b""
    store.data = whole[: whole.rstrip().rfind(b"\n") + 1]
    if second:
        store.second = last_head(store.data)
    return whole


def test_a_head_that_only_the_second_place_has_is_remembered() -> None:
    """Somebody may set the second place back to the record next: the machine that saw it still refuses."""
    store, notes = MemoryStore(record_of(), second=True), MemoryNotes()
    set_back(store, second=False)
    journal = journal_of(store, notes)
    assert not journal.read().standing.first_gate_open

    store.second = last_head(store.data or b"")

    assert journal.read().standing.obstacles[:1] == (Obstacle.HEADS_MISSING,)
    assert journal.look() == journal.look()
    store.data = record_of()
    assert journal.read().standing.first_gate_open


def test_facts_that_were_missing_move_the_second_place() -> None:
    """Once they are recovered, the record may not be set back behind them unnoticed."""
    store, notes = MemoryStore(record_of(), second=True), MemoryNotes()
    journal = journal_of(store, notes)
    journal.read()
    whole = set_back(store, second=True)
    reading = journal.read()
    assert not reading.standing.first_gate_open

    facts = missing(reading.record.contained, parse(whole, ""), AT, {})
    after = journal.append(reading, facts, "recovers")

    assert after.standing.first_gate_open
    assert store.second == last_head(store.data or b"") == after.record.head
