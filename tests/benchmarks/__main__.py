"""`python -m benchmarks`: measure, print a table, write JSON."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import report
from benchmarks.races import Track
from benchmarks.suite import SUITE, measure

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure what the program costs.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to measure, all by default: {', '.join(SUITE)}")
    parser.add_argument("--program", type=Path, default=Path(sys.executable).with_name("reconciler"))
    parser.add_argument("--rounds", type=int, help="how often each is run, instead of as often as it takes")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "benchmarks.json", help="where the figures go")
    parser.add_argument("--directory", help="where to work: on the disk that is to be measured")
    parser.add_argument("--readme", action="store_true", help="measure all, and rewrite the README's table")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in SUITE]:
        parser.error(f"no such measurement: {', '.join(unknown)}; there are {', '.join(SUITE)}")
    if given.readme and given.names:
        parser.error("--readme takes all measurements of one run")
    date = datetime.now(UTC).date().isoformat()
    rows = []
    with TemporaryDirectory(dir=given.directory, prefix="benchmarks-") as directory, Track(given.rounds) as track:
        for row in measure(given.names or SUITE, given.program.absolute(), Path(directory), track):
            rows.append(row)
            print(report.line(row), flush=True)
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(report.document(rows, date), encoding="utf-8")
    if given.readme:
        report.rewrite(ROOT / "README.md", report.markdown(rows, date))


if __name__ == "__main__":
    main()
