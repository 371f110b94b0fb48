"""The journal notes what it sees, and only of a record that contains what this machine knew."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.memory_project import created
from support.memory_record import AT, DOWN, RECORD, MemoryNotes, MemoryStore, append, journal_of, record_of
from support.records import linked
from support.refusals import raised

from reconciler.errors import RecordClosed, RecordDamaged, StoreUnavailable
from reconciler.record.chain import last_head, missing, parse
from reconciler.record.facts import Begun, Closed, LossOpened
from reconciler.record.gates import Note, Obstacle
from reconciler.record.journal import Journal

OTHER = "0" * 32


@pytest.mark.parametrize("call", ["read", "append"])
def test_an_append_of_another_process_is_no_missing_head(monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """A head that is noted just after the record was read, or appended to, is not missed in it, and the note stays."""
    notes, store = MemoryNotes(), MemoryStore(record_of())
    journal, own = journal_of(store, notes), getattr(store, call)
    loss = LossOpened(at=AT, loss="x", cause="accepted")
    before = journal.read()

    def be_overtaken(*args: object, **kwargs: object) -> object:
        done, other = own(*args, **kwargs), MemoryStore(store.data)
        append(other, loss, loss)
        journal_of(other, notes).look()
        return done

    monkeypatch.setattr(store, call, be_overtaken)
    reading = journal.append(before, [loss], "a person") if call == "append" else journal.read()

    assert reading.standing.missing == ()
    [note] = notes.read_all()
    assert note.entries == reading.record.entries + 2


def test_an_empty_record_is_damaged() -> None:
    """It is not a missing one, which could be begun again."""
    assert "record-damaged" == raised(RecordDamaged, journal_of(MemoryStore(b"")).read).name


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


def test_each_append_of_a_run_is_noted() -> None:
    """A later loss of the last lines is noticed only if the note counts the lines since the reading."""
    notes = MemoryNotes()
    journal = journal_of(MemoryStore(record_of()), notes)
    reading = journal.read()
    head, entries = reading.record.head, reading.record.entries
    for number in (1, 2):
        new = linked(head, entries, [LossOpened(at=AT, loss=f"x{number}", cause="accepted")])
        journal.extend(reading, head, entries + 1, new, "a run")
        head, entries = new[1][-1].hash, entries + 1
        assert [(head, entries)] == [(note.head, note.entries) for note in notes.read_all()]


def test_a_later_head_of_another_process_stays_noted() -> None:
    """It may have been noted between the append of a run and its note."""
    notes = MemoryNotes()
    journal = journal_of(MemoryStore(record_of()), notes)
    reading = journal.read()
    later = Note(RECORD, (), MemoryStore.place, 99, "f" * 64)
    notes.write(later)
    head, entries = reading.record.head, reading.record.entries
    new = linked(head, entries, [LossOpened(at=AT, loss="x", cause="accepted")])
    journal.extend(reading, head, entries + 1, new, "a run")
    assert [later] == notes.read_all()


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
    assert [(True, 0, store.second)] == [(note.second, note.entries, note.head) for note in notes.read_all()]

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
    before, other = store.second, LossOpened(at=AT, loss="x", cause="accepted")
    reading = journal.append(reading, [other], "says something else")
    assert (False, before, before) == (reading.standing.first_gate_open, store.second, reading.second)

    facts = missing(reading.record.contained, parse(whole, ""), AT, {})
    after = journal.append(reading, facts, "recovers")

    assert after.standing.first_gate_open
    assert store.second == last_head(store.data or b"") == after.record.head == after.second


def test_what_an_interrupted_write_left_is_counted() -> None:
    """In bytes, which the next append removes; a reading also tells which setting named the place."""
    for torn in (b"", b"x", b'{"seq":4'):
        journal = Journal(MemoryStore(record_of() + torn), MemoryNotes(), frozenset(), named_by="--state")
        reading = journal.read()
        assert (len(torn), "--state") == (reading.torn, reading.standing.named_by)
        assert 0 == journal.append(reading, [Closed(at=AT, to="", origin="c" * 64)], "a person").torn


@pytest.mark.parametrize("is_open", [True, False])
def test_a_second_place_that_was_left_behind_catches_up(is_open: bool) -> None:
    """If the record is the one to go by; a store that has none is left alone."""
    store, notes = MemoryStore(record_of(), second=True), MemoryNotes()
    before = store.second
    append(store, Closed(at=AT, to="", origin="c" * 64), moves_second=False)
    if not is_open:
        notes.write(Note("f" * 32, (), MemoryStore.place, 9, "e" * 64))
    for place in (store, MemoryStore(record_of())):
        place.declare_failures(*[AssertionError("an append")] * (place is not store))
        journal_of(place, notes).catch_up(journal_of(place, notes).read())
    assert store.second == (last_head(store.data or b"") if is_open else before)


def test_a_file_that_was_copied_here_is_not_noted_as_closed(tmp_path: Path) -> None:
    """That it continues elsewhere is believed only of a record that this machine knows."""
    store = MemoryStore(record_of(Closed(at=AT, to="memory:b")))
    store.path = tmp_path / "a"
    for known in (False, True):
        journal = journal_of(store)
        if known:
            store.path = None
        journal.note_closed(journal.look() or pytest.fail("no record"))
        assert [True] * known == [note.closed for note in journal.notes.read_all()]


def test_the_line_that_closes_a_record_is_remembered() -> None:
    """By the second place and on this machine, since from then on the record at the new place must contain it."""
    store, notes = MemoryStore(record_of(), second=True), MemoryNotes()
    journal = journal_of(store, notes)
    after = journal.append(journal.read(), [Closed(at=AT, to="memory:b")], "a copy")
    assert last_head(store.data or b"") == store.second == after.second
    assert [(True, store.second)] == [(note.closed, note.head) for note in notes.read_all()]


def test_an_unfinished_copy_takes_statements() -> None:
    """The record continues here, though the loss that the copy opened names the place that was copied."""
    journal = journal_of(MemoryStore(record_of(LossOpened(at=AT, loss="x", cause="copy", of="memory:b"))))
    after = journal.append(journal.read(), [LossOpened(at=AT, loss="y", cause="accepted")], "a person")
    assert {"x", "y"} == {loss.id for loss in after.record.open_losses}


def test_nothing_is_appended_to_a_closed_record() -> None:
    """Neither facts nor the lines of a run; the place where it continues is named."""
    store = MemoryStore(record_of(Closed(at=AT, to="memory:b")))
    journal = Journal(store, MemoryNotes(), frozenset(), named_by="--state")
    reading, facts = journal.read(), [LossOpened(at=AT, loss="x", cause="accepted")]
    head, entries = reading.record.head, reading.record.entries
    new = linked(head, entries, facts)
    for message in (
        raised(RecordClosed, journal.append, reading, facts, "a person"),
        raised(RecordClosed, journal.extend, reading, head, entries + 1, new, "a run"),
    ):
        assert "record-closed" == message.name
        assert all(word in message.steps[0].text for word in ("memory:b", "--state"))


def test_a_loss_that_is_accepted_forgets_what_was_there() -> None:
    """Of the records that this machine knew at the place, those whose heads are named; notes of others stay."""
    store, notes = MemoryStore(), MemoryNotes()
    notes_of = zip("def", (store.place, store.place, "memory:b"), strict=True)
    there, other, elsewhere = (Note(name * 32, ("service",), place, 9, name * 64) for name, place in notes_of)
    for note in (there, other, elsewhere):
        notes.write(note)
    heads = (there.head, elsewhere.head)
    loss = LossOpened(at=AT, loss="x", cause="accepted", heads=heads)
    journal = Journal(store, notes, frozenset({"service"}))
    after, begun = None, Begun(at=AT, record=RECORD)
    store.declare_failures(DOWN)
    raised(StoreUnavailable, journal.accept, None, (begun, loss), "accepts")
    assert {there, other, elsewhere} == {*notes.read_all()}
    for facts in ((begun, loss), (loss,)):
        after = journal.accept(after, facts, "accepts")
        mine = Note(RECORD, ("service",), store.place, after.record.entries, after.record.head)
        assert {mine, other, elsewhere} == {*notes.read_all()}
        assert (other.head,) == after.standing.missing


def test_a_note_has_the_services_that_the_record_is_bound_to() -> None:
    """So another project of such a service is told of the record, as this one is of notes about them."""
    notes = MemoryNotes()
    store = MemoryStore(record_of(*created("a", "europe/staging/x")))
    Journal(store, notes, frozenset({"https://config.example"})).read()
    assert [("https://api.example", "https://config.example")] == [note.services for note in notes.read_all()]
    notes.write(Note("f" * 32, ("https://api.example",), "memory:b", 9, "e" * 64))
    assert ("e" * 64,) == Journal(store, notes, frozenset()).read().standing.missing


def test_only_a_note_that_has_changed_is_written() -> None:
    """Each write is durable, and takes a lock; a later note of another process is not replaced."""
    notes, store = MemoryNotes(), MemoryStore(record_of())
    journal_of(store, notes).read()
    notes.problem = AssertionError("a write")
    assert journal_of(store, notes).read() == journal_of(store, notes).read()
