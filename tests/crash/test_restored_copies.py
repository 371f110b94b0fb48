"""An apply dies, and an older copy of its record comes back: what it had appended by then was seen, and is missed."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest
from support.project import finish
from support.sandbox_pace import hold_creates
from support.sandbox_project import HERE, SandboxProject, subscriptions

if TYPE_CHECKING:
    from pathlib import Path


def assert_refused(scene: SandboxProject, *arguments: str, missing: str) -> None:
    """Neither a plan nor an apply takes the older record for the record, and nothing more is sent."""
    sent = scene.sandbox.world.requests["create", HERE]
    for done in (scene.project.run("plan"), scene.apply(*arguments)):
        assert (1, "") == (done.code, done.out), done
        assert f"{missing} entries are missing" in done.err
    assert sent == scene.sandbox.world.requests["create", HERE]


@pytest.mark.parametrize(
    ("failpoint", "sent", "missing"),
    [
        ("after-append:1", 0, "the last 2 of 3"),
        ("before-send:1", 0, "the last 2 of 3"),
        ("before-append:3", 2, "the last 4 of 5"),
        ("after-send:3", 3, "the last 6 of 7"),
    ],
)
def test_what_a_killed_apply_appended_was_seen(tmp_path: Path, failpoint: str, sent: int, missing: str) -> None:
    """A copy of the journal from before a killed apply is refused; with the newer one back, all is recovered from."""
    with SandboxProject(tmp_path, subscriptions(3)) as scene:
        older = scene.journal().read_bytes()
        assert -signal.SIGKILL == scene.apply("--parallelism", "1", failpoint=f"{failpoint}:kill").code
        assert sent == scene.sandbox.world.requests["create", HERE]
        newer = scene.journal().read_bytes()
        scene.journal().write_bytes(older)
        assert_refused(scene, missing=missing)
        scene.journal().write_bytes(newer)
        scene.recover()


def test_a_copy_from_the_middle_of_a_killed_apply_is_refused(tmp_path: Path) -> None:
    """Every append is seen, and not the first alone: a journal that lacks the last of them is an older one."""
    with SandboxProject(tmp_path, subscriptions(6)) as scene:
        assert -signal.SIGKILL == scene.apply(failpoint="after-append:3:kill").code
        lines = scene.journal().read_bytes().splitlines(keepends=True)
        scene.journal().write_bytes(b"".join(lines[:-1]))
        assert_refused(scene, missing=f"the last 1 of {len(lines)}")
        scene.journal().write_bytes(b"".join(lines))
        scene.recover()


def git(repository: Path, *arguments: str) -> str:
    """What git prints of a repository."""
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, capture_output=True, check=True, timeout=60).stdout.decode().strip()


def test_a_branch_set_back_after_a_killed_apply_is_refused(tmp_path: Path) -> None:
    """So it is on a git branch that somebody has set back to where it was before."""
    origin = tmp_path / "origin.git"
    scene = SandboxProject(tmp_path / "project", subscriptions(3))
    scene.project.environment["RECONCILER_STATE"] = f"git+file://{origin}#state"
    origin.mkdir()
    git(origin, "init", "--quiet", "--bare")
    with scene:
        older = git(origin, "rev-parse", "refs/heads/state")
        killed = scene.apply("--unsealed", "--parallelism", "1", failpoint="after-send:3:kill")
        assert (-signal.SIGKILL, 3) == (killed.code, scene.sandbox.world.requests["create", HERE])
        git(origin, "update-ref", "refs/heads/state", older)
        assert_refused(scene, "--unsealed", missing="the last 6 of 7")


def test_an_apply_that_cannot_remember_goes_on(tmp_path: Path) -> None:
    """What was appended is durable whether or not it can be remembered: the run goes on, and says so on stderr."""
    with SandboxProject(tmp_path, subscriptions(2)) as scene:
        heads = tmp_path / "home" / "cache" / "reconciler" / "heads"
        shutil.rmtree(heads.parent)
        heads.parent.mkdir(mode=0o700)
        heads.mkdir(mode=0o700)
        (heads / ".lock").mkdir()
        done = scene.apply()
        assert 0 == done.code, done
        assert f"Warning: {heads}: cannot save the last known head of the state record: Is a directory" in done.err
        scene.assert_done()


def test_a_record_set_back_while_a_call_is_in_flight_is_not_written_to(tmp_path: Path) -> None:
    """What became of the call is kept, with the intent that the older copy lacks, and the copy stays as it is."""
    with SandboxProject(tmp_path, subscriptions(2)) as scene:
        older, answered = scene.journal().read_bytes(), hold_creates(scene.sandbox)
        process = scene.start_apply()
        scene.wait_until_committed()
        scene.journal().write_bytes(older)
        answered.set()
        done = finish(process)
        assert 3 == done.code, done
        assert "Applied: 2 create calls (2 new): 1 created, not recorded; 1 not sent." in done.out
        (kept,) = (tmp_path / "home" / "data" / "reconciler" / "unrecorded").glob("*.jsonl")
        entries = [json.loads(line)["entry"] for line in kept.read_text(encoding="utf-8").splitlines()]
        assert ["intent", "outcome"] == [entry["kind"] for entry in entries]
        assert (older, 1) == (scene.journal().read_bytes(), len(scene.sandbox.world.commits))
