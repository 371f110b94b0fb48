"""Files are replaced as a whole, and what fails leaves nothing behind."""

from __future__ import annotations

import os
from contextlib import nullcontext
from errno import ENOSPC
from typing import TYPE_CHECKING, Never

import pytest

from reconciler.disk import make_directory, replace_file, written_beside

if TYPE_CHECKING:
    from pathlib import Path

PROBLEMS = [OSError(ENOSPC, "no space left"), KeyboardInterrupt()]


def failing(problem: BaseException) -> object:
    """Return a function that raises."""

    def fail(*_: object) -> Never:
        raise problem

    return fail


def test_a_replaced_file_has_all_of_the_data_and_the_mode(tmp_path: Path) -> None:
    """Nothing else is in its directory, before or after."""
    file = tmp_path / "note"
    for data, mode in ((b"one", 0o600), (b"x" * 100_000, 0o644), (b"", 0o600)):
        replace_file(file, data, mode)
        assert (data, mode) == (file.read_bytes(), file.stat().st_mode & 0o777)
        assert [file] == list(tmp_path.iterdir())


@pytest.mark.parametrize("problem", PROBLEMS, ids=["full", "interrupted"])
@pytest.mark.parametrize("call", ["pwrite", "fsync"])
def test_a_write_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, problem: BaseException) -> None:
    """The file is what it was, and nothing is beside it."""
    file = tmp_path / "note"
    file.write_bytes(b"before")
    monkeypatch.setattr(os, call, failing(problem))
    with pytest.raises(type(problem)):
        replace_file(file, b"after", 0o600)
    with pytest.raises(type(problem)), written_beside(file, b"after", 0o600):
        pass
    assert [(file, b"before")] == [(found, found.read_bytes()) for found in tmp_path.iterdir()]


def test_a_file_that_cannot_be_put_in_its_place(tmp_path: Path) -> None:
    """Nothing is beside what is in its way."""
    (tmp_path / "note").mkdir()
    with pytest.raises(IsADirectoryError):
        replace_file(tmp_path / "note", b"after", 0o600)
    assert [tmp_path / "note"] == list(tmp_path.iterdir())


def test_the_data_is_on_the_disk_before_it_has_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that stops between the two has the old file."""
    file, synced = tmp_path / "note", list[bytes]()
    file.write_bytes(b"before")
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(file.read_bytes()))
    replace_file(file, b"after", 0o600)
    assert b"before" == synced[0]


@pytest.mark.parametrize("ends", ["well", "linked", "taken", "badly"])
def test_what_is_written_beside_is_deleted(tmp_path: Path, ends: str) -> None:
    """However its use ends; what was linked to the name stays."""
    file = tmp_path / "note"
    expected = pytest.raises(KeyboardInterrupt) if ends == "badly" else nullcontext()
    with expected, written_beside(file, b"data", 0o600) as beside:
        assert (b"data", tmp_path) == (beside.read_bytes(), beside.parent)
        assert beside.name.startswith(".")
        if ends == "linked":
            file.hardlink_to(beside)
        if ends == "taken":
            beside.replace(file)
        if ends == "badly":
            raise KeyboardInterrupt
    assert ([file] if ends in {"linked", "taken"} else []) == list(tmp_path.iterdir())


def test_a_file_in_the_way_of_a_directory(tmp_path: Path) -> None:
    """It is named by the error; a directory that exists keeps its mode."""
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError) as caught:
        make_directory(tmp_path / "file" / "below", 0o700)
    assert str(tmp_path / "file") in str(caught.value)
    (tmp_path / "open").mkdir(mode=0o755)
    make_directory(tmp_path / "open" / "one" / "two", 0o700)
    modes = [(tmp_path / "open" / path).stat().st_mode & 0o777 for path in ("", "one", "one/two")]
    assert [0o755, 0o700, 0o700] == modes
