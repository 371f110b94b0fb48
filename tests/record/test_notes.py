"""Heads are remembered on this machine, and a note never moves back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import msgspec
import pytest
from support.refusals import raised

from reconciler.disk import LockHeld, locked_file
from reconciler.errors import SettingsError, StoreUnavailable
from reconciler.record import notes
from reconciler.record.gates import Note
from reconciler.record.notes import Notes

FIRST = Note("r" * 32, ("https://api.example",), "/place", 1, "a" * 64)
LATER = Note("r" * 32, ("https://api.example",), "/place", 2, "b" * 64)


def test_a_note_is_kept_for_each_record_and_place(tmp_path: Path) -> None:
    """Notes of another record, of another place or of the second place stand beside it; only this person reads them."""
    others = [Note("s" * 32, (), "/place", 1, "c" * 64), Note("r" * 32, (), "/Place", 1, "d" * 64)]
    others.append(Note("r" * 32, (), "/place", 0, "e" * 64, second=True))
    for note in (FIRST, *others):
        Notes(tmp_path / "heads").write(note)

    assert sorted([FIRST, *others], key=repr) == sorted(Notes(tmp_path / "heads").read_all(), key=repr)
    modes = {file.name.partition(".")[2]: file.stat().st_mode & 0o777 for file in (tmp_path / "heads").iterdir()}
    assert ({"json": 0o600, "": 0o600}, 0o700) == (modes, (tmp_path / "heads").stat().st_mode & 0o777)


def test_a_note_that_is_not_replaced_stays(tmp_path: Path) -> None:
    """A later head that another process noted meanwhile is not forgotten, nor what a killed one left taken for it."""
    notes = Notes(tmp_path / "heads")
    notes.write(LATER)
    (tmp_path / "heads" / ".x.json.0.new").write_text("{")
    notes.write(FIRST, lambda former: former.entries < FIRST.entries)

    assert notes.read_all() == [LATER]


@pytest.mark.parametrize("comes", ["before", "after"])
def test_a_later_head_of_a_process_that_writes_at_the_same_time_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, comes: str
) -> None:
    """It may come just before this one holds the lock, or just after: what is replaced is read and written in it."""
    mine, others = Notes(tmp_path), Notes(tmp_path)
    mine.write(Note("r" * 32, (), "/place", 0, "c" * 64))

    @contextmanager
    def beside_another(path: Path, patience: float) -> Iterator[None]:
        monkeypatch.undo()
        if comes == "before":
            others.write(LATER)
        with locked_file(path, patience):
            yield
        if comes == "after":
            others.write(LATER)

    monkeypatch.setattr(notes, "locked_file", beside_another)
    mine.write(FIRST, lambda former: former.entries < FIRST.entries)
    assert [LATER] == mine.read_all()


def test_a_later_head_replaces_the_note(tmp_path: Path) -> None:
    """The same head once more leaves the file as it is: each write has to reach the disk."""
    notes = Notes(tmp_path / "heads")
    files = []
    for note in (FIRST, FIRST, LATER):
        notes.write(note)
        files += [file.stat().st_ino for file in (tmp_path / "heads").glob("*.json")]
    assert ([True, False], [LATER]) == ([files[0] == files[1], files[1] == files[2]], notes.read_all())


def test_a_note_that_cannot_be_read_is_not_written_over(tmp_path: Path) -> None:
    """It may have been the only one that knew a later head."""
    notes = Notes(tmp_path / "heads")
    notes.write(FIRST)
    (file,) = (tmp_path / "heads").glob("*.json")
    file.write_text("{")
    assert ("note-unwritable", "{") == (raised(StoreUnavailable, notes.write, LATER).name, file.read_text())


def test_a_note_that_cannot_be_read_is_never_ignored(tmp_path: Path) -> None:
    """A damaged note, and a directory that cannot be listed, are errors."""
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "x.json").write_text("{")
    (tmp_path / "file").write_text("")

    message = raised(SettingsError, Notes(tmp_path / "damaged").read_all)
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone" / "x.json").symlink_to(tmp_path / "nothing")
    for name in ("file", "gone"):
        assert "XDG_DATA_HOME" in raised(SettingsError, Notes(tmp_path / name).read_all).steps[0].text
    assert ("note-unreadable", (), str(tmp_path / "damaged" / "x.json")) == (message.name, message.steps, message.where)


def test_a_note_that_is_replaced_while_they_are_read_is_not_missed(tmp_path: Path) -> None:
    """Another process writes the newer note, then forgets the older one: one of the two is always returned."""
    notes, elsewhere = Notes(tmp_path), Note("r" * 32, (), "/elsewhere", 2, "b" * 64)
    notes.write(FIRST)
    (older,) = tmp_path.glob("*.json")
    first = tmp_path / "-.json"  # read before the others, and only once something is written to it
    os.mkfifo(first)
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(notes.read_all)
        with first.open("wb") as late:
            notes.write(elsewhere)
            older.unlink()
            first.unlink()
            late.write(msgspec.json.encode(LATER))
        assert [elsewhere] == found.result(timeout=30)


def test_a_note_that_cannot_be_written_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No call may leave for a head that is not remembered, also for lack of a lock, nor for one that others change."""
    (tmp_path / "file").write_text("")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    for path in (tmp_path / "file" / "heads", tmp_path / "open"):
        message = raised(StoreUnavailable, Notes(path).write, FIRST)
        assert ("note-unwritable", str(path)) == (message.name, message.where)
    monkeypatch.setattr(notes, "locked_file", Mock(side_effect=LockHeld(1, "held")))
    raised(StoreUnavailable, Notes(tmp_path / "heads").write, FIRST)


def test_a_note_that_cannot_be_dropped_is_an_error(tmp_path: Path) -> None:
    """It is the error of a note that cannot be written, which every caller expects; one that is gone is none."""
    notes = Notes(tmp_path / "heads")
    notes.write(FIRST)
    (file,) = (tmp_path / "heads").glob("*.json")
    for _ in range(2):
        notes.drop(FIRST)
    assert [] == notes.read_all()
    file.mkdir()

    assert raised(StoreUnavailable, notes.drop, FIRST).name == "note-unwritable"
