"""The first two gates: how a record stands against the heads that are remembered elsewhere."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.scene import SERVICE, Scene

from reconciler.model.record import Record
from reconciler.record.facts import Closed, LossOpened
from reconciler.record.gates import Note, Obstacle, Standing, concerning, is_of, stand

PLACE = "state.jsonl"


@pytest.fixture
def scene() -> Scene:
    """A record without a loss."""
    return Scene()


def note(record: Record, head: str = "", place: str = PLACE, services: tuple[str, ...] = ()) -> Note:
    """Return a note of a record."""
    return Note(record.id, services, place, record.entries, head or record.head)


def standing(
    record: Record, *notes: Note, is_file: bool = True, second: str | None = None, expected: str = ""
) -> Standing:
    """Judge a record."""
    return stand(record, notes or (note(record),), PLACE, is_file=is_file, second=second, expected=expected)


def test_open(scene: Scene) -> None:
    """A record that contains all that is remembered, and has no open loss, is the one to go by."""
    before = note(scene.record)
    scene.tell(Closed(at=scene.at, to="elsewhere", origin="e" * 64))
    found = standing(scene.record, before, expected="c0ffee", second=before.head)
    assert (True, True, ()) == (found.open, found.first_gate_open, found.missing)


def test_other_record(scene: Scene) -> None:
    """Another id than that which `record:` names closes the gate; none named, any will do."""
    assert (Obstacle.OTHER_RECORD,) == standing(scene.record, expected="decaf").obstacles
    assert standing(scene.record, expected="").open


def test_closed(scene: Scene) -> None:
    """A record that continues elsewhere is closed."""
    scene.tell(Closed(at=scene.at, to="git:record"))
    assert (Obstacle.CLOSED,) == standing(scene.record).obstacles


def test_heads_missing(scene: Scene) -> None:
    """Each head that is remembered, of whichever record, and is not contained is named once."""
    heads = tuple(letter * 64 for letter in "fbadce")
    notes = [note(scene.record), *(note(scene.record, head, "elsewhere") for head in (*heads[:-1], heads[0]))]
    notes += [note(scene.record, place="there"), note(scene.record, heads[0]), Note("x", (), "other", 1, heads[0])]
    notes += [replace(note(scene.record, heads[-1], "gone"), closed=True)]
    found = standing(scene.record, *notes)
    assert ((Obstacle.HEADS_MISSING,), tuple(sorted(heads))) == (found.obstacles, found.missing)
    assert not found.first_gate_open
    assert found.elsewhere == ("elsewhere", "other")
    scene.tell(LossOpened(at=scene.at, loss="1", cause="accepted", heads=heads))
    assert (Obstacle.LOSS_OPEN,) == standing(scene.record, *notes).obstacles


def test_file_from_elsewhere(scene: Scene) -> None:
    """A file is a record only on a machine that has a note of this very record at this very place."""
    for other in (note(scene.record, place="copy.jsonl"), Note("other", (), PLACE, 1, scene.record.head)):
        assert (Obstacle.NOT_FROM_HERE,) == standing(scene.record, other).obstacles
        assert standing(scene.record, other, is_file=False).open
        assert not is_of(other, scene.record, PLACE)
    assert is_of(replace(note(scene.record), closed=True), scene.record, PLACE)
    assert (Obstacle.NOT_FROM_HERE,) == stand(scene.record, (), PLACE, is_file=True, second=None, expected="").obstacles


def test_second_place(scene: Scene) -> None:
    """The head in the second place must be there and contained, where the store has one."""
    before = scene.record.head
    scene.tell(Closed(at=scene.at, to="elsewhere", origin="e" * 64))
    assert standing(scene.record, second=before).open
    assert (Obstacle.SECOND_MISSING,) == standing(scene.record, second="").obstacles
    other = standing(scene.record, note(scene.record, "f" * 64), second=before)
    assert (("f" * 64,), False) == (other.missing, other.second_ahead)
    found = standing(scene.record, second="f" * 64)
    assert ((Obstacle.HEADS_MISSING,), ("f" * 64,), True) == (found.obstacles, found.missing, found.second_ahead)


def test_loss_open(scene: Scene) -> None:
    """An open loss closes the second gate, and leaves the first one open."""
    scene.open_loss()
    found = standing(scene.record)
    assert ((Obstacle.LOSS_OPEN,), True, False) == (found.obstacles, found.first_gate_open, found.open)
    scene.complete("1055")
    assert standing(scene.record).open


def test_concerning(scene: Scene) -> None:
    """A note concerns a record with its id, at its place, or about one of its services."""
    notes = (
        Note("c0ffee", (), "a", 1, "1"), Note("other", (), PLACE, 1, "2"), Note("other", (SERVICE,), "b", 1, "3"),
        Note("other", (), PLACE, 0, "5", second=True), Note("other", ("https://other.example",), "c", 1, "4"),
    )  # fmt: skip
    assert notes[:4] == concerning(notes, "c0ffee", [SERVICE], PLACE)
