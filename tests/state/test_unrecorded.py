"""Entries that could not be appended, and where they are kept meanwhile."""

from __future__ import annotations

import json
import os
import re
import stat
import time
from pathlib import Path

import pytest
from support.journal_samples import AT, BY, RECORD, TARGET, begun, imported

from reconciler.cli.terminal.commands import apart, with_flags
from reconciler.errors import StateError
from reconciler.model.entry import Settled
from reconciler.model.outcome import Outcome
from reconciler.state.journal.entries import to_fields
from reconciler.state.private.unrecorded import Unrecorded, all_kept, check_keepable, keep_entries, kept_in, read_whole

ENTRIES = (begun(), imported("a2"))
LINES = [{"record": RECORD, "target": TARGET, "entry": to_fields(entry)} for entry in ENTRIES]


def test_they_are_kept_in_a_private_file_that_is_named(tmp_path: Path) -> None:
    """One JSON object a line, each with its target and record, for nobody else to read."""
    data = tmp_path / "my data"
    said = keep_entries(data, TARGET, RECORD, ENTRIES, "disk full")
    (path,) = (data / "unrecorded").iterdir()
    assert (
        f"{TARGET}: results could not be saved to the record; they are in {path}. Cause: disk full. Until recovered,"
        " these addresses have an unknown outcome; remove the cause, and run:"
        f" reconciler state recover '{path}'" == said
    )
    assert re.fullmatch(r"europe-staging-\d{10}-\d+-[0-9a-f]{12}\.jsonl", path.name)
    assert LINES == [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    assert {0o700} == {stat.S_IMODE(one.stat().st_mode) for one in (path.parent, data)}


@pytest.mark.parametrize("obstacle", ["data", "data/unrecorded"])
def test_what_cannot_be_kept_is_said(tmp_path: Path, obstacle: str) -> None:
    """Where there is no place for them, the lines themselves are what is said, whole."""
    place = tmp_path / obstacle
    place.parent.mkdir(mode=0o700, exist_ok=True)
    place.write_text("")
    said = keep_entries(tmp_path / "data", TARGET, RECORD, ENTRIES, "")
    command = "reconciler state recover FILE"
    told, _, lines = said.partition(f" Save the following lines to a file, then run: {command}; the lines: ")
    assert f"{TARGET}: results could not be saved to the record or to a recovery file." == told
    with pytest.raises((StateError, OSError)):
        check_keepable(tmp_path / "data")
    assert " ".join(map(json.dumps, LINES)) == lines
    file = tmp_path / "by-hand.txt"
    file.write_text(f"\n {lines}\n")
    assert [Unrecorded(file, RECORD, TARGET, entry) for entry in ENTRIES] == kept_in(read_whole(file), file)


def test_printed_lines_stay_whole(tmp_path: Path) -> None:
    """A detail that names a command is no command of the message: the terminal neither breaks nor changes it."""
    (tmp_path / "data").write_text("")
    detail = "409; if it already exists, run: reconciler state import europe/staging/offers"
    entry = Settled(at=AT, by=BY, attempt="a2", outcome=Outcome.REJECTED, status=409, detail=detail)
    said = apart(
        with_flags(keep_entries(tmp_path / "data", TARGET, RECORD, [entry], "disk full"), {"state": "records"})
    )
    file = tmp_path / "by-hand.txt"
    file.write_text(said.partition("the lines: ")[2])
    assert [Unrecorded(file, RECORD, TARGET, entry)] == kept_in(read_whole(file), file)


def test_they_are_read_again(tmp_path: Path) -> None:
    """File by file, as they were kept; and nothing where nothing was."""
    assert [] == all_kept(tmp_path / "data")
    assert [] == all_kept(Path("/dev/null"))
    for entry in ENTRIES:
        keep_entries(tmp_path / "data", TARGET, RECORD, [entry], "")
        (path,) = (tmp_path / "data" / "unrecorded").glob("europe*")
        path.rename(path.with_name(f"{entry.kind}.jsonl"))
    (tmp_path / "data" / "unrecorded" / "notes.txt").write_text("not ours")
    assert {"begun", "imported"} == {one.entry.kind for one in all_kept(tmp_path / "data")}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{", 1),
        ("\n[]", 2),
        (json.dumps(LINES[0]) + "\n\n" + json.dumps({**LINES[0], "record": 7}), 3),
        (json.dumps({**LINES[0], "entry": {"kind": "nonsense"}}), 1),
        (json.dumps({"record": RECORD, "target": TARGET}), 1),
        ("[" * 100_000, 1),
    ],
)
def test_what_is_none_of_them_is_refused(tmp_path: Path, text: str, line: int) -> None:
    """With its place, and the other entries of the file with it."""
    file = tmp_path / "x.jsonl"
    file.write_text(text)
    with pytest.raises(StateError, match="not an entry of a recovery file") as raised:
        kept_in(read_whole(file), file)
    assert f"{file}:{line}" == raised.value.where


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """Missing, or no text."""
    with pytest.raises(StateError, match="cannot read the recovery file: No such file"):
        kept_in(read_whole(tmp_path / "none"), tmp_path / "none")
    (tmp_path / "latin").write_bytes(b"\xe9")
    with pytest.raises(StateError, match="not an entry of a recovery file"):
        kept_in(read_whole(tmp_path / "latin"), tmp_path / "latin")


def test_two_processes_of_one_number_write_two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers that share a volume have one process id at one second, and none of them writes over the other's."""
    monkeypatch.setattr(os, "getpid", lambda: 1)
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.0)
    for entry in ENTRIES:
        keep_entries(tmp_path / "data", TARGET, RECORD, [entry], "")
    assert {"begun", "imported"} == {one.entry.kind for one in all_kept(tmp_path / "data")}


def test_trying_whether_they_could_be_kept_leaves_nothing(tmp_path: Path) -> None:
    """The directories are there afterwards, private, and empty."""
    check_keepable(tmp_path / "data")
    assert [] == list((tmp_path / "data" / "unrecorded").iterdir())


def test_what_keeps_them_never_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong as the file is written, the lines are said."""

    def fail(*_arguments: object) -> None:
        raise MemoryError

    monkeypatch.setattr(os, "link", fail)
    said = keep_entries(tmp_path / "data", TARGET, RECORD, ENTRIES, "disk full")
    assert " ".join(map(json.dumps, LINES)) in said
