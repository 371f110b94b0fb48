"""What the rows came to: as text, as JSON, and as the table of BENCHMARKS.md."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.growth import Growth
    from benchmarks.rows import Row

BEGIN, END = "<!-- benchmarks -->", "<!-- end of benchmarks -->"
_COLUMNS = ("name", "work", "to", "judged by", "measured", "at most")


def machine() -> dict[str, Any]:
    """Where it was measured."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    models = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return {
        "cores": os.cpu_count(),
        "cpu": models[0].strip() if models else platform.machine(),
        "python": platform.python_version(),
    }


def document(rows: Sequence[Row], growth: Growth | None, date: str) -> str:
    """All there is to know of the rows, and of how the time grows, as JSON."""
    kept = [{**asdict(row), "kept": row.is_kept} for row in rows]
    return (
        json.dumps({"date": date, "machine": machine(), "rows": kept, "growth": growth}, indent=2, ensure_ascii=False)
        + "\n"
    )


def line(row: Row) -> str:
    """A row for a terminal."""
    limit = "" if row.at_most is None else f" (at most {_figure(row.at_most, row.unit)})"
    verdict = {True: "ok  ", False: "OVER", None: "    "}[row.is_kept]
    against = f" to {row.against}" if row.against else ""
    return f"{verdict} {row.name:24} {measured(row)}{limit}{_seconds(row)}  {row.work}{against}, {row.judged}"


def measured(row: Row) -> str:
    """The figure of a row, or why there is none."""
    return row.note if row.value is None else _figure(row.value, row.unit)


def _figure(value: float, unit: str) -> str:
    return f"{value:.2f}" if unit == "ratio" else f"{value:.2f} s" if unit == "s" else f"{value:.0f} {unit}"


def _seconds(row: Row) -> str:
    """What both took: processor time and time, ours / theirs."""
    taken = [each for each in (row.ours, row.theirs) if each is not None]
    kinds = [f"{kind} {' / '.join(_short(each[kind]) for each in taken)}" for kind in ("cpu", "wall") if taken]
    return f" [{', '.join(kinds)}]" if kinds else ""


def _short(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def markdown(rows: Sequence[Row], date: str) -> str:
    """The table of BENCHMARKS.md, with the machine and the date."""
    of = machine()
    cells = [
        (f"`{row.measurement}`", row.work, row.against or "-", row.judged, measured(row),
         "-" if row.at_most is None else _figure(row.at_most, row.unit))
        for row in rows
    ]  # fmt: skip
    table = [_COLUMNS, tuple("---" for _ in _COLUMNS), *cells]
    lines = [f"| {' | '.join(cell)} |" for cell in table]
    return "\n".join([f"{of['cores']} cores ({of['cpu']}), Python {of['python']}, {date}:", "", *lines])


def rewrite(path: Path, text: str) -> None:
    """Put a text between the two marks of a page."""
    page = path.read_text(encoding="utf-8")
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{path}: expected {BEGIN} and {END}")
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
