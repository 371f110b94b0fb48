"""How the time grows with the number of subscriptions, for us and for the others."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.applying import bare_apply, our_apply, service
from benchmarks.course import Course
from benchmarks.peers import octodns_plan, terraform_apply, terraform_plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.applying import Service
    from benchmarks.races import Runner, Usage

    Growth = dict[str, dict[str, dict[int, float]]]

OURS = "reconciler"
_PLANS, _APPLIES = (10, 100, 1_000, 10_000), (10, 100, 300, 1_000)
_TERRAFORM_MOST = 1_000  # ten times as many take it half an hour: it evaluates a `for_each` once for each instance


def growth(course: Course) -> Growth:
    """Seconds by number of subscriptions: of an unchanged plan, and of an apply that creates all of them."""
    plans = {count: _plan(course, count) for count in _PLANS}
    with service(course.directory) as at:
        applies = {count: _apply(course, at, count) for count in _APPLIES}
    return {"plan": _lines(plans), "apply": _lines(applies)}


def _plan(course: Course, count: int) -> dict[str, Usage]:
    inner = Course(course.program, course.place(f"plan-{count}"), course.track)
    runners: dict[str, Runner | None] = {
        OURS: inner.recorded("ours", count).runner("plan", "--detailed-exitcode"),
        "Terraform": terraform_plan(inner.directory / "terraform", count) if count <= _TERRAFORM_MOST else None,
        "octoDNS": octodns_plan(inner.directory / "octodns", count),
    }
    return course.track.race(_rounds(count), **runners)


def _apply(course: Course, at: Service, count: int) -> dict[str, Usage]:
    inner = Course(course.program, course.place(f"apply-{count}"), course.track)
    runners: dict[str, Runner | None] = {
        OURS: our_apply(inner, at, count),
        "Terraform with curl": terraform_apply(inner.directory / "terraform", count, at.url, partial(at.expect, count)),
        "httpx, no record": bare_apply(inner, at, count),
    }
    return course.track.race(_rounds(count), **runners)


def _rounds(count: int) -> int:
    """How often each runs: the start, which is most of what few take, differs more from run to run."""
    return 9 if count <= 100 else 3


def _lines(taken: Mapping[int, Mapping[str, Usage]]) -> dict[str, dict[int, float]]:
    """The wall time of each by number, from what all took by number."""
    names = dict.fromkeys(name for usages in taken.values() for name in usages)
    return {name: {count: usages[name].wall for count, usages in taken.items() if name in usages} for name in names}
