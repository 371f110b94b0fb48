"""Rows about many targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.projects import many_targets
from benchmarks.rows import Row, ratio

if TYPE_CHECKING:
    from benchmarks.course import Course

_TENTH = "r*0/*"


def targets_2000(course: Course) -> list[Row]:
    """Two thousand targets, each a service of its own, to one target with as many subscriptions in all."""
    return _targets(course, "targets-2000", apart=True)


def targets_2000_shared(course: Course) -> list[Row]:
    """Two thousand targets of one service, where the records of all count for each."""
    return _targets(course, "targets-2000-shared", apart=False)


def _targets(course: Course, name: str, *, apart: bool) -> list[Row]:
    project = course.recorded("many", 20, many_targets(2000), apart=apart)
    took = course.track.race(
        3,
        many=project.runner("plan", "--detailed-exitcode"),
        tenth=project.runner("plan", "--detailed-exitcode", "-t", _TENTH),
        one=course.recorded("one", 40_000).runner("plan", "--detailed-exitcode"),
    )
    of = "2,000 targets of 20 subscriptions" + ("" if apart else ", all of one service")
    work, tenth = f"unchanged `plan` of {of}", f"the same with `-t` for one in ten: {of}"
    one = "the same of 40,000 subscriptions of one target"
    whole = "the whole"
    return [
        ratio(f"{name}", work, one, took["many"], took["one"], 1.5 if apart else None),
        ratio(f"{name}-wall", work, one, took["many"], took["one"], 1.5 if apart else None, "wall"),
        ratio(f"{name}-tenth", tenth, whole, took["tenth"], took["many"], 0.25 if apart else None),
    ]
