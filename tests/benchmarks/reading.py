"""Rows about reading a long journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.rows import JUDGED, Row, ratio

if TYPE_CHECKING:
    from benchmarks.course import Course

_READ = (
    "import hashlib, json, sys\nfor line in open(sys.argv[1], 'rb'): hashlib.sha256(line).digest(), json.loads(line)"
)


def verify_20000(course: Course) -> list[Row]:
    """`state verify` of a journal of twenty thousand entries, and to what hashing and parsing its lines takes."""
    project = course.recorded("ours", 9999)  # with two entries for each, and two at its start
    took = course.track.race(
        9,
        ours=project.runner("state", "verify"),
        bare=course.script("bare", "-c", _READ, project.journal("europe/staging")),
    )
    work, bare, ours = "`state verify` of 20,000 entries", "sha256 and `json.loads` of each line", took["ours"]
    amount = {"cpu": ours.cpu, "wall": ours.wall}
    return [
        Row("verify-20000", work, "", JUDGED["cpu"], ours.cpu, 0.5, "s", ours=amount),
        ratio("verify-20000-bare", work, bare, ours, took["bare"]),
    ]
