"""Rows about the GitHub action: what its steps take on a runner, from their start to the plan in the job's summary."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from benchmarks.projects import Project
from benchmarks.races import Failed, Runner, medians, plain_environment
from benchmarks.rows import JUDGED, Row

if TYPE_CHECKING:
    from benchmarks.course import Course
    from benchmarks.races import Usage

ROOT = Path(__file__).parents[2]
_ACTION = ROOT / ".github" / "actions" / "reconcile"
_GIT = {f"GIT_{who}_{what}": "benchmark" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
_ROUNDS = 2


def action(course: Course) -> list[Row]:
    """The steps that install, with and without a warm cache of pip's, and that plan a hundred subscriptions."""
    place = course.place("runner")
    environment = _environment(place)
    warm = Runner(
        ["/bin/bash", "-eo", "pipefail", "-c", _script("install")], place, environment,
        before=partial(_remove, place / "reconciler-venv"),
    )  # fmt: skip
    cold = replace(warm, before=partial(_remove, place / "reconciler-venv", place / "pip"))
    installed = {name: _median(course, runner) for name, runner in {"cold": cold, "warm": warm}.items()}
    planned = _median(course, _plan(course, environment, place))
    return [
        _seconds("action-cold", "the action until the plan of 100, nothing in pip's cache", installed["cold"], planned),
        _seconds("action-warm", "the action until the plan of 100, pip's cache warm", installed["warm"], planned),
        _seconds("action-plan", "of it the step that plans, with a record on a branch", planned),
    ]


def _environment(place: Path) -> dict[str, str]:
    """What a runner gives to the steps of an action, and where pip finds packages on this machine."""
    files = {"GITHUB_OUTPUT": "outputs", "GITHUB_STEP_SUMMARY": "summary", "PIP_CACHE_DIR": "pip"}
    return {
        **{name: value for name, value in os.environ.items() if name.startswith("PIP_")},
        **{name: str(place / file) for name, file in files.items()},
        "GITHUB_ACTION_PATH": str(_ACTION),
        "RUNNER_TEMP": str(place),
    }


def _remove(*places: Path) -> None:
    for place in places:
        shutil.rmtree(place, ignore_errors=True)


def _plan(course: Course, environment: dict[str, str], place: Path) -> Runner:
    """The step that plans, in a clone whose origin has the branch of the record."""
    project = Project(course.program, course.place("clone"), 100).declare()
    for command in (
        ["git", "init", "-q", "--bare", str(course.directory / "origin.git")],
        ["git", "init", "-q", "-b", "main"],
        ["git", "remote", "add", "origin", str(course.directory / "origin.git")],
        [str(course.program), "--state", "git:reconciler-state", "state", "init"],
        [str(course.program), "--state", "git:reconciler-state", "state", "import", "--all"],
    ):
        variables = plain_environment(project.directory, **_GIT)
        subprocess.run(command, cwd=project.directory, env=variables, check=True, capture_output=True)
    summary = place / "summary"

    def told() -> None:
        if "100 subscriptions" not in summary.read_text(encoding="utf-8"):
            raise Failed(f"no plan in the summary: {summary.read_text(encoding='utf-8')}")

    given = {
        **environment, "INPUT_COMMAND": "plan", "RECONCILER_STATE": "git:reconciler-state",
        "RECONCILER_CACHE_DIR": str(place / "reconciler-cache"), "GITHUB_ACTIONS": "true", "CI": "true",
    }  # fmt: skip
    python = place / "reconciler-venv" / "bin" / "python"
    return Runner([python, _ACTION / "step.py"], project.directory, given, after=told)


def _script(step: str) -> str:
    """What a step of the action runs."""
    steps = yaml.safe_load((_ACTION / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    return next(str(one["run"]) for one in steps if one.get("id") == step)


def _median(course: Course, runner: Runner) -> Usage:
    """What it takes. Not a race: the first run counts, since on a runner there is no other."""
    return medians([course.track.run(runner) for _ in range(_ROUNDS)])


def _seconds(name: str, work: str, *parts: Usage) -> Row:
    taken = {"cpu": sum(part.cpu for part in parts), "wall": sum(part.wall for part in parts)}
    return Row(name, work, "", JUDGED["wall"], taken["wall"], unit="s", ours=taken)
