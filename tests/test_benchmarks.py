"""The benchmarks run, and BENCHMARKS.md shows what they measured: the table and the picture."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import report
from benchmarks.races import Usage
from benchmarks.rows import Row, ratio
from benchmarks.suite import SUITE

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURES = re.findall(r'(?:srcset|src)="([^"]+)"', PAGE)
FAST, SLOW = Usage(0.1, 0.2, 20), Usage(0.2, 0.1, 40)


def benchmarks(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command of BENCHMARKS.md, with the interpreter of the tests."""
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT / "tests", capture_output=True, timeout=110, check=False, text=True,
    )  # fmt: skip


def test_one_measurement(tmp_path: Path) -> None:
    """A row is printed, and written with all that it was computed from."""
    done = benchmarks("help", "--rounds", "1", "--json", tmp_path / "out.json", "--directory", tmp_path)
    assert 0 == done.returncode, done.stderr
    (row,) = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert ("help", "ratio", 1.0) == (row["measurement"], row["unit"], row["at_most"])
    assert row["ours"]["cpu"] / row["theirs"]["cpu"] == row["value"]
    assert re.match(r"(ok  |OVER) help +\d\.\d\d \(at most 1\.00\) \[cpu .* ms / .* ms, wall ", done.stdout)


def test_what_cannot_be_measured(tmp_path: Path) -> None:
    """A program that fails is no fast one: it is told how it ended, and the exit code says so."""
    program = tmp_path / "reconciler"
    program.write_text("#!/bin/sh\necho out of order >&2\nexit 3\n")
    program.chmod(0o700)
    done = benchmarks("help", "--program", program, "--json", tmp_path / "out.json")
    assert (1, "") == (done.returncode, done.stdout)
    assert f"help failed: {program} --help: out of order\n" == done.stderr


def test_unknown_measurement() -> None:
    """Those that there are, are named."""
    done = benchmarks("nothing")
    assert 2 == done.returncode
    assert "no such measurement: nothing; there are growth, help, completion, " in done.stderr


def test_judged() -> None:
    """A ratio is of processor time unless it says otherwise; what is not installed is neither kept nor exceeded."""
    assert (0.5, True) == ((row := ratio("a", "b", "c", FAST, SLOW, 0.5)).value, row.is_kept)
    assert (2.0, False) == ((row := ratio("a", "b", "c", FAST, SLOW, 0.5, "wall")).value, row.is_kept)
    missing = ratio("a", "b", "Terraform", FAST, None, 0.5)
    assert (None, None, "not installed") == (missing.value, missing.is_kept, report.measured(missing))


def test_table_of_the_page(tmp_path: Path) -> None:
    """It is put between the two marks, and nothing else is touched."""
    page = tmp_path / "README.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.rewrite(page, report.markdown([Row("a", "work", "", "time", 1.25, 2, "s", measurement="b")], "2026-01-31"))
    first, *lines = page.read_text().splitlines()
    assert ("before", "after", report.BEGIN, report.END) == (first, lines[-1], lines[0], lines[-2])
    assert "| `b` | work | - | time | 1.25 s | 2.00 s |" == lines[-3]


def test_what_the_page_says_was_measured() -> None:
    """Each line of the table has a name that the command takes."""
    _, _, table = PAGE.partition(report.BEGIN)
    table, end, _ = table.partition(report.END)
    assert end
    assert set(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)) <= set(SUITE)


@pytest.mark.parametrize("picture", PICTURES)
def test_pictures(picture: str) -> None:
    """They are there, small, and the same bytes whenever and wherever they are drawn."""
    drawn = (ROOT / picture).read_text(encoding="utf-8")
    assert len(drawn.encode()) < 60_000
    assert "<svg" in drawn
    assert [] == re.findall(r"<dc:date>|/home/|/tmp/|/root/", drawn)


def test_both_pictures_are_shown() -> None:
    """One for a dark page, one for a light one."""
    assert [".github/growth-dark.svg", ".github/growth-light.svg"] == PICTURES


def test_drawn_twice(tmp_path: Path) -> None:
    """The same figures give the same bytes."""
    pytest.importorskip("matplotlib", reason="of the benchmarks only")
    from benchmarks.picture import draw  # noqa: PLC0415 - needs matplotlib

    figures = {command: {"reconciler": {10: 0.1, 100: 0.2}, "other": {10: 0.2, 100: 0.21}} for command in "ab"}
    names = ["growth-dark.svg", "growth-light.svg"]
    places = [tmp_path / "first", tmp_path / "second"]
    for place in places:
        place.mkdir()
        draw({"plan": figures["a"], "apply": figures["b"]}, place)
    first, second = ([(place / name).read_bytes() for name in names] for place in places)
    assert first == second
