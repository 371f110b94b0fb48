"""Rows about the start of the program: what every command pays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.races import Failed, Runner
from benchmarks.rows import Row, ratio

if TYPE_CHECKING:
    from benchmarks.course import Course

_CLICK = "`python -c 'import click'`"
_COMPLETION = {"_RECONCILER_COMPLETE": "bash_complete", "COMP_WORDS": "reconciler state ", "COMP_CWORD": "2"}


def help_(course: Course) -> list[Row]:
    """`--help`, to what importing the library of the command line takes."""
    return [_start(course, "help", "`--help`", Runner([course.program, "--help"], course.place("ours")), 1.0)]


def completion(course: Course) -> list[Row]:
    """The completion of a command in a shell, likewise."""
    place = course.place("ours")

    def check() -> None:
        if "plain,verify\n" not in runner.stdout.read_text(encoding="utf-8"):
            raise Failed("`reconciler state` is not completed with its commands")

    runner = Runner([course.program], place, _COMPLETION, after=check)
    return [_start(course, "completion", "completion of `reconciler state` in a shell", runner, 1.3)]


def _start(course: Course, name: str, work: str, runner: Runner, at_most: float) -> Row:
    took = course.track.race(40, ours=runner, click=course.script("click", "-c", "import click"))
    return ratio(name, work, _CLICK, took["ours"], took["click"], at_most)
