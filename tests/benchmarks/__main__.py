"""`python -m benchmarks`: measure, print a table, write JSON; `--page`: those of the README too."""

from __future__ import annotations

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.course import Course
from benchmarks.growth import growth
from benchmarks.races import Failed, Track
from benchmarks.suite import SUITE, measure

if TYPE_CHECKING:
    from benchmarks.growth import Growth
    from benchmarks.rows import Row

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Run what the command line says; the exit code, 1 if something could not be measured."""
    given = _arguments()
    date = datetime.now(UTC).date().isoformat()
    with TemporaryDirectory(dir=given.directory, prefix="benchmarks-") as directory, Track(given.rounds) as track:
        grown = _grow(given, Path(directory), track) if "growth" in given.names else None
        names = [name for name in given.names if name in SUITE]
        measured = {name: _measure(name, given, Path(directory), track) for name in names}
    rows = [row for found in measured.values() for row in found or ()]
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(report.document(rows, grown, date), encoding="utf-8")
    if grown is not None:
        from benchmarks.picture import draw  # noqa: PLC0415 - matplotlib, which nothing else needs

        draw(grown, ROOT / ".github" if given.page else given.json.parent)
    if given.page:
        report.rewrite(ROOT / "README.md", report.markdown(rows, date))
    return 1 if None in measured.values() else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure what the program costs.")
    choice = ["growth", *SUITE]
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"what to measure, all by default: {', '.join(choice)}"
    )
    parser.add_argument("--program", type=Path, default=Path(sys.executable).with_name("reconciler"))
    parser.add_argument("--rounds", type=int, help="how often each is run, instead of as often as it takes")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "benchmarks.json", help="where the figures go")
    parser.add_argument("--directory", help="where to work: on the disk that is to be measured")
    parser.add_argument(
        "--page", action="store_true", help="measure all, and rewrite the table and picture of the README"
    )
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in choice]:
        parser.error(f"no such measurement: {', '.join(unknown)}; there are {', '.join(choice)}")
    if given.page and given.names:
        parser.error("--page takes all measurements of one run")
    given.names = given.names or choice
    return given


def _measure(name: str, given: argparse.Namespace, directory: Path, track: Track) -> list[Row] | None:
    """Measure, and print the rows; None where that fails, which is told."""
    started = time.monotonic()
    try:
        rows = measure(name, given.program.absolute(), directory, track)
    except Failed as problem:
        sys.stderr.write(f"{name} failed: {problem}\n")
        return None
    for row in rows:
        print(report.line(row), flush=True)
    sys.stderr.write(f"{name} took {time.monotonic() - started:.0f} s\n")
    return rows


def _grow(given: argparse.Namespace, directory: Path, track: Track) -> Growth:
    place = directory / "growth"
    place.mkdir()
    return growth(Course(given.program.absolute(), place, track))


if __name__ == "__main__":
    sys.exit(main())
