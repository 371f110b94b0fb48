"""`python -m benchmarks`: measure, print a table, write JSON; with `--readme`, the README's table and picture too."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.course import Course
from benchmarks.growth import growth
from benchmarks.races import Track
from benchmarks.suite import SUITE, measure

if TYPE_CHECKING:
    from benchmarks.growth import Growth
    from benchmarks.rows import Row

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Run what the command line says."""
    given = _arguments()
    date = datetime.now(UTC).date().isoformat()
    rows, grown = _measured(given)
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(report.document(rows, grown, date), encoding="utf-8")
    if grown is not None:
        from benchmarks.picture import draw  # noqa: PLC0415 - matplotlib, which nothing else needs

        draw(grown, ROOT / ".github" if given.readme else given.json.parent)
    if given.readme:
        report.rewrite(ROOT / "README.md", report.markdown(rows, date))


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
    parser.add_argument("--readme", action="store_true", help="measure all, and rewrite the README's table and picture")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in choice]:
        parser.error(f"no such measurement: {', '.join(unknown)}; there are {', '.join(choice)}")
    if given.readme and given.names:
        parser.error("--readme takes all measurements of one run")
    given.names = given.names or choice
    return given


def _measured(given: argparse.Namespace) -> tuple[list[Row], Growth | None]:
    program = given.program.absolute()
    rows, grown = [], None
    with TemporaryDirectory(dir=given.directory, prefix="benchmarks-") as directory, Track(given.rounds) as track:
        if "growth" in given.names:
            (Path(directory) / "growth").mkdir()
            grown = growth(Course(program, Path(directory) / "growth", track))
        for row in measure([name for name in given.names if name in SUITE], program, Path(directory), track):
            rows.append(row)
            print(report.line(row), flush=True)
    return rows, grown


if __name__ == "__main__":
    main()
