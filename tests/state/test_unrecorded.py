"""Entries that could not be appended, and where they are kept meanwhile."""

from __future__ import annotations

import json
import re
import stat
from typing import TYPE_CHECKING

import pytest
from journal_samples import RECORD, TARGET, begun, imported

from reconciler.state.entries import to_fields
from reconciler.state.unrecorded import keep_entries

if TYPE_CHECKING:
    from pathlib import Path

ENTRIES = (begun(), imported("a2"))
LINES = [{"record": RECORD, "target": TARGET, "entry": to_fields(entry)} for entry in ENTRIES]


def test_they_are_kept_in_a_private_file_that_is_named(tmp_path: Path) -> None:
    """One JSON object a line, each with its target and record, for nobody else to read."""
    said = keep_entries(tmp_path / "data", TARGET, RECORD, ENTRIES)
    (path,) = (tmp_path / "data" / "unrecorded").iterdir()
    assert (
        f"{TARGET}: what became of calls could not be recorded; it is kept in {path}. "
        "Until it is recorded, those addresses count as unknown" == said
    )
    assert re.fullmatch(r"europe-staging-\d{10}-\d+\.jsonl", path.name)
    assert LINES == [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    assert {0o700} == {stat.S_IMODE(one.stat().st_mode) for one in (path.parent, tmp_path / "data")}


@pytest.mark.parametrize("obstacle", ["data", "data/unrecorded"])
def test_what_cannot_be_kept_is_said(tmp_path: Path, obstacle: str) -> None:
    """Where there is no place for them, the lines themselves are what is said, whole."""
    place = tmp_path / obstacle
    place.parent.mkdir(mode=0o700, exist_ok=True)
    place.write_text("")
    said = keep_entries(tmp_path / "data", TARGET, RECORD, ENTRIES)
    told, _, lines = said.partition("; keep these lines: ")
    assert f"{TARGET}: what became of calls could be recorded nowhere" == told
    assert " ".join(map(json.dumps, LINES)) == lines
