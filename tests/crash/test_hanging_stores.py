"""A store that hangs: one signal ends the run all the same, and what became of its calls is kept."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest
from support.project import finish
from support.sandbox_pace import hold_creates
from support.sandbox_project import HERE, SandboxProject, subscriptions

from reconciler.applying.context import Limits

if TYPE_CHECKING:
    from pathlib import Path

SOON = "grace=0.5,closing=0.5"
STAND_IN = """\
#!/bin/sh
for word in "$@"; do
  if [ "$word" = {command} ] && [ -e {flag} ]; then touch {flag}.met; sleep 600; fi
done
exec {git} "$@"
"""


def kept_files(tmp_path: Path) -> list[Path]:
    """What could not be recorded."""
    return list((tmp_path / "home" / "data" / "reconciler" / "unrecorded").glob("*.jsonl"))


def test_the_limits_leave_a_runner_time() -> None:
    """Grace, the wait for the store and the last look are over before a runner kills, 10 s after it cancels."""
    limits = Limits()
    assert limits.grace + limits.closing + limits.parting <= 8


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_lock_that_somebody_holds_does_not_keep_an_interrupted_run(tmp_path: Path, number: signal.Signals) -> None:
    """The journal's lock is held for good as an outcome is to be appended: the run ends, and the outcome is kept."""
    with SandboxProject(tmp_path, subscriptions(2)) as scene:
        answered = hold_creates(scene.sandbox)
        process = scene.start_apply(failpoint=SOON)
        scene.wait_until_committed()
        with scene.journal().open("rb+") as journal:
            fcntl.flock(journal, fcntl.LOCK_EX)
            answered.set()
            process.send_signal(number)
            done = finish(process)
        assert 128 + number == done.code, done
        (kept,) = kept_files(tmp_path)
        entries = [json.loads(line)["entry"] for line in kept.read_text(encoding="utf-8").splitlines()]
        assert ["intent", "outcome"] == [entry["kind"] for entry in entries]
        assert "Traceback" not in done.err
        scene.project.step("state", "recover", kept)
        scene.recover()


@pytest.mark.parametrize("command", ["push", "fetch"])
def test_a_remote_that_hangs_does_not_keep_an_interrupted_run(tmp_path: Path, command: str) -> None:
    """Git hangs as the outcome is pushed, or as the record is read a last time: the run ends, with its outcome."""
    origin, flag, programs = tmp_path / "origin.git", tmp_path / "hangs", tmp_path / "programs"
    subprocess.run(["git", "init", "--quiet", "--bare", origin], check=True, timeout=60)
    programs.mkdir()
    git = programs / "git"
    git.write_text(STAND_IN.format(command=command, flag=flag, git=shutil.which("git")))
    git.chmod(0o755)
    scene = SandboxProject(tmp_path / "project", subscriptions(1))
    scene.project.environment |= {
        "RECONCILER_STATE": f"git+file://{origin}#state",
        "PATH": f"{programs}:{os.environ['PATH']}",
    }
    with scene:
        answered = hold_creates(scene.sandbox)
        process = scene.start_apply("--unsealed", failpoint=SOON)
        scene.wait_until_committed()
        flag.touch()
        answered.set()
        _wait_for(flag.with_name("hangs.met"))
        process.send_signal(signal.SIGTERM)
        done = finish(process)
        flag.unlink()
        assert 143 == done.code, done
        assert int(command == "push") == len(kept_files(tmp_path))
        for kept in kept_files(tmp_path):
            scene.project.step("state", "recover", kept)
        (attempt,) = scene.project.step("state", "list", "--format", "json").document
        assert (f"{HERE}/s0", "live") == (attempt["address"], attempt["status"])


def _wait_for(path: Path) -> None:
    subprocess.run(["sh", "-c", 'until [ -e "$0" ]; do sleep 0.05; done', path], check=True, timeout=60)
