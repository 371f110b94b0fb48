"""A copy of a record is killed at every step: one of the two stores at most can be used, and it can be finished."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from support.sandbox_project import HERE, THERE, SandboxProject, subscriptions

if TYPE_CHECKING:
    from pathlib import Path

KILL = """
import os
from reconciler.state.stores.files import FileStore
from reconciler.state.stores.git.branch import GitStore
appends = []
def killing(append):
    def append_or_die(*arguments):
        appends.append(arguments)
        if len(appends) == {number} and not {after}:
            os.kill(os.getpid(), 9)
        append(*arguments)
        if len(appends) == {number}:
            os.kill(os.getpid(), 9)
    return append_or_die
FileStore.append, GitStore.append = killing(FileStore.append), killing(GitStore.append)
"""
STEPS = [(number, after) for number in range(1, 9) for after in (False, True)]
"""Just before and just after each append: four for each target, and all targets take each step before the next."""
USUAL = {"file": [*((number, False) for number in (2, 4, 6, 8)), (7, True)], "git": [(7, True)]}
"""What is tried by default: within each step, when one target has taken it. Just after an append is nearly just before
the next, but for what is remembered of it."""
CASES = [
    pytest.param(kind, number, after, marks=() if (number, after) in USUAL[kind] else pytest.mark.soak)
    for kind in ("file", "git")
    for number, after in [*STEPS, (9, False)]
]


def usable(scene: SandboxProject, places: tuple[str, str], target: str, **more: str) -> list[str]:
    """The stores in which the record of a target can be used."""
    scene.project.environment |= more
    found = [
        place for place in places if not scene.project.step("plan", "-t", target, "--state", place, code=None).code
    ]
    for name in more:
        del scene.project.environment[name]
    return found


@pytest.mark.parametrize(("kind", "number", "after"), CASES)
def test_a_copy_ended_at_any_step_is_finished(tmp_path: Path, kind: str, number: int, after: bool) -> None:
    """Whatever the step: nowhere is more than one place in use, the same command finishes it, and nothing is lost."""
    to = "new"
    if kind == "git":
        subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "origin.git")], check=True)
        to = f"git+file://{tmp_path}/origin.git#records"
    with SandboxProject(tmp_path, subscriptions(1), (HERE, THERE)) as scene:
        assert 0 == scene.apply().code
        before = {target: scene.journal(target).read_bytes() for target in (HERE, THERE)}
        scene.project.before_steps = KILL.format(number=number, after=after)
        scene.project.step("state", "copy", "state", to, code=-9 if number < 9 else 0)
        scene.project.before_steps = ""
        for target in (HERE, THERE):
            assert len(usable(scene, ("state", to), target)) <= 1
            assert len(usable(scene, ("state", to), target, RECONCILER_CACHE_DIR="another-machine")) <= 1
            assert scene.journal(target).read_bytes().startswith(before[target])
        scene.project.step("state", "copy", "state", to)
        for target in (HERE, THERE):
            assert [to] == usable(scene, ("state", to), target)
        scene.project.environment["RECONCILER_STATE"] = to
        scene.project.step("plan", "--detailed-exitcode")
        done = scene.project.step("apply", "--auto-approve")
        assert "Nothing to do" in done.out
        assert 2 == scene.sandbox.world.requests["create", HERE] + scene.sandbox.world.requests["create", THERE]
