"""Rows about `plan` of one target."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.peers import octodns_plan, terraform_plan
from benchmarks.rows import JUDGED, Row, ratio

if TYPE_CHECKING:
    from benchmarks.course import Course
    from benchmarks.races import Usage

_LOAD = "import sys, yaml; yaml.load(open(sys.argv[1], 'rb'), yaml.CSafeLoader)"
_CSAFE = "PyYAML's CSafeLoader on that file"


def plan_100(course: Course) -> list[Row]:
    """An unchanged plan of a hundred subscriptions, to the same in Terraform and octoDNS."""
    took = course.track.race(
        20,
        ours=course.recorded("ours", 100).runner("plan", "--detailed-exitcode"),
        terraform=terraform_plan(course.directory / "terraform", 100),
        octodns=octodns_plan(course.directory / "octodns", 100),
    )
    work = "unchanged `plan` of 100 subscriptions"
    terraform, octodns = "Terraform, 100 `terraform_data`", "octoDNS, 100 records, YAML to YAML"
    return [
        ratio("plan-100-terraform", work, terraform, took["ours"], took.get("terraform"), 0.7),
        ratio("plan-100-octodns", work, octodns, took["ours"], took.get("octodns"), 0.5),
    ]


def plan_10000(course: Course) -> list[Row]:
    """An unchanged plan of ten thousand that were imported, to the time that loading its YAML takes; and its memory."""
    return _plan_10000(course, "plan-10000", "imported", imported=True)


def plan_10000_applied(course: Course) -> list[Row]:
    """The same of ten thousand that were applied, which have two entries each in the record."""
    return _plan_10000(course, "plan-10000-applied", "applied", imported=False)


def _plan_10000(course: Course, name: str, how: str, *, imported: bool) -> list[Row]:
    few, many = (course.recorded(f"{count}", count, imported=imported) for count in (1, 10_000))
    took = course.track.race(
        9,
        ours=many.runner("plan", "--detailed-exitcode"),
        yaml=course.script("yaml", "-c", _LOAD, many.config),
        ours_few=few.runner("plan", "--detailed-exitcode"),
        yaml_few=course.script("yaml-few", "-c", _LOAD, few.config),
    )
    work = f"unchanged `plan` of 10,000 subscriptions that were {how}"
    ours, yaml = took["ours"], took["yaml"]
    mine, theirs = _beyond(ours, took["ours_few"]), _beyond(yaml, took["yaml_few"])
    peak = Row(f"{name}-memory", work, "", "peak of memory", ours.peak, 48 if imported else None, "MiB")
    return [
        ratio(f"{name}-yaml", work, _CSAFE, ours, yaml, 0.75 if imported else None),
        ratio(f"{name}-net", f"{work}, beyond one of 1", f"{_CSAFE}, beyond one of 1", mine, theirs),
        peak,
    ]


def plan_10000_octodns(course: Course) -> list[Row]:
    """An unchanged plan of ten thousand, to octoDNS's."""
    took = course.track.race(
        3,
        ours=course.recorded("ours", 10_000, imported=True).runner("plan", "--detailed-exitcode"),
        octodns=octodns_plan(course.directory / "octodns", 10_000),
    )
    work, octodns = (
        "unchanged `plan` of 10,000 subscriptions that were imported",
        "octoDNS, 10,000 records, YAML to YAML",
    )
    return [ratio("plan-10000-octodns", work, octodns, took["ours"], took.get("octodns"), 0.1)]


def change_1000(course: Course) -> list[Row]:
    """A plan that changes a thousand of ten thousand, shown as a difference and as a document."""
    project = replace(course.recorded("ours", 10_000, imported=True), moved=1000)
    project.config.unlink()
    project.config.parent.rmdir()
    project.declare()
    took = course.track.race(
        5,
        text=project.runner("plan"),
        json=project.runner("plan", "--format", "json"),
    )
    work = "`plan` that changes 1,000 of 10,000"
    return [_amount(f"change-1000-{form}", f"{work}, as {form}", took[form], 1.5) for form in ("text", "json")]


def _beyond(whole: Usage, start: Usage) -> Usage:
    """What the work took apart from the start."""
    return replace(whole, cpu=whole.cpu - start.cpu, wall=whole.wall - start.wall)


def _amount(name: str, work: str, took: Usage, at_most: float) -> Row:
    """A row of processor time in seconds."""
    return Row(name, work, "", JUDGED["cpu"], took.cpu, at_most, "s", ours={"cpu": took.cpu, "wall": took.wall})
