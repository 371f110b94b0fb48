"""Runs that meet, runs that are cancelled, and what the daily report does about what they left open."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
import yaml
from support.forge import ACTION, Forge
from support.hub import TOKEN
from support.project import Project
from support.sandbox_forge import committed, declared_repository, one_client_sandbox
from support.sandbox_pace import hold_creates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.forge import Job, Running
    from support.hub import Hub

    from reconciler.sandbox import Sandbox

STATE = "git:reconciler-state"
TARGET = "europe/staging"
WANTED = [(TARGET, codes) for codes in (("ONB10001",), ("ONB10011",))]
WAITS = "Creates with an unknown outcome"


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """The service, with one target."""
    with one_client_sandbox(["europe"], ["staging"]) as served:
        yield served


@pytest.fixture
def forge(tmp_path: Path, sandbox: Sandbox) -> Forge:
    """A repository that declares two subscriptions on the target of the sandbox, with a state record, and one stage."""
    return declared_repository(tmp_path / "forge", sandbox)


@pytest.fixture
def operator(forge: Forge, sandbox: Sandbox) -> Project:
    """The clone of somebody who has the credentials."""
    return clone(forge, sandbox)


def clone(forge: Forge, sandbox: Sandbox) -> Project:
    """A clone of somebody who has the credentials."""
    given = {**forge.project.environment, **dict(sandbox.variables()), "RECONCILER_STATE": STATE}
    return Project(forge.work, given)


def start(forge: Forge, failpoint: str) -> Running:
    """Start an apply of one target."""
    asked = {"operation": "apply", "address": TARGET}
    return forge.start("workflow_dispatch", {"inputs": asked}, extra={"RECONCILER_TEST_FAILPOINT": failpoint})


def wait_until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until, "it does not come to that"
        time.sleep(0.01)


def artifact(forge: Forge, name: str) -> str:
    """A file in the artifact of the apply."""
    (path,) = (forge.path / "artifacts").glob(f"reconciler-apply-*/*/{name}")
    return path.read_text()


def assert_in_line(operator: Project, sandbox: Sandbox) -> None:
    """The target has everything once, the branch's journals hold together, and there is nothing left to do."""
    assert WANTED == committed(sandbox, "staging")
    operator.step("state", "verify")
    operator.step("plan", "--detailed-exitcode", "-t", TARGET)


def test_two_runs_at_once(forge: Forge, operator: Project, sandbox: Sandbox) -> None:
    """Two runners apply at once, planned on one head: between them they create everything, and nothing twice."""
    others = forge.another_runner("other")
    with start(forge, "before-append:1:stop") as one, start(others, "before-append:1:stop") as other:
        for stopped in [one.wait_until_stopped(), other.wait_until_stopped()]:
            os.kill(stopped, signal.SIGCONT)
        ended = [one.finish(), other.finish()]
    assert_in_line(operator, sandbox)
    assert [0, 0] == [job.code for job in ended], [job.log for job in ended]
    told = artifact(forge, "apply.md") + artifact(others, "apply.md")
    assert (len(WANTED), len(WANTED)) == (told.count("| created |"), told.count("| skipped |"))


@pytest.mark.soak
def test_run_that_was_overtaken(forge: Forge, operator: Project, sandbox: Sandbox) -> None:
    """An apply that comes to its first intent after another has done everything sends nothing, and succeeds."""
    others = forge.another_runner("other")
    with start(forge, "before-append:1:stop") as late:
        stopped = late.wait_until_stopped()
        with start(others, "") as early:
            assert 0 == early.finish().code
        os.kill(stopped, signal.SIGCONT)
        ended = late.finish()
    assert 0 == ended.code, ended.log
    assert len(WANTED) == artifact(forge, "apply.md").count("| skipped |")
    assert_in_line(operator, sandbox)


@pytest.mark.parametrize(
    "answered", [True, pytest.param(False, marks=pytest.mark.soak)], ids=["answered", "never-answered"]
)
def test_cancelled_run(forge: Forge, operator: Project, sandbox: Sandbox, answered: bool) -> None:
    """A cancelled run sends nothing more, and records what is in flight as what it becomes, on the branch too.

    The signals go where a runner sends them, to the step's entry process: SIGINT, and SIGTERM if that is not enough.
    """
    answers = hold_creates(sandbox)
    with start(forge, "grace=5" if answered else "grace=0.5") as running:
        wait_until(lambda: sandbox.world.commits)
        step = running.entry()
        os.kill(step, signal.SIGINT)
        if answered:
            time.sleep(1)  # until the program has certainly taken notice
            os.kill(step, signal.SIGTERM)
            answers.set()
        ended = running.finish()
        answers.set()
    assert "::set-output:: exit-code=130\n" in ended.log, ended.log
    assert (1, WANTED[:1]) == (ended.code, committed(sandbox, "staging"))
    (attempt,) = operator.step("state", "list", "--format", "json").document
    assert ("live" if answered else "unknown") == attempt["status"]
    operator.step("state", "verify")
    assert (2 if answered else 3) == operator.step("plan", "--detailed-exitcode", "-t", TARGET, code=None).code
    assert "europe/staging/applications" in ended.summary.replace("&#47;", "/")
    last = json.loads(artifact(forge, "state/europe/staging.jsonl").splitlines()[-1])
    assert attempt["attempt"] == last["attempt"]
    assert ("created" if answered else "unknown") == last["outcome"]
    assert "europe/staging/applications" in artifact(forge, "history.txt")


def test_cancelled_before_the_apply(tmp_path: Path) -> None:
    """A run that is cancelled while it still plans does not go on to apply."""
    pipe, told = tmp_path / "config.yaml", tmp_path / "output"
    os.mkfifo(pipe)
    script = tmp_path / "script.sh"
    (run,) = [one["run"] for one in yaml.safe_load(ACTION.read_text())["runs"]["steps"] if one.get("id") == "run"]
    script.write_text(run)
    given = {
        "INPUT_COMMAND": "apply",
        "RECONCILER_CONFIG": str(pipe),
        "PYTHON": sys.executable,
        "GITHUB_ACTION_PATH": str(ACTION.parent),
        "GITHUB_OUTPUT": str(told),
        "RUNNER_TEMP": str(tmp_path),
    }
    step = subprocess.Popen(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script], cwd=tmp_path, env={**os.environ, **given},
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        written_to = _open_once_it_is_read(pipe)
        step.send_signal(signal.SIGINT)
        time.sleep(0.5)  # until it has certainly taken notice
        os.close(written_to)
        assert 130 == step.wait(30)
    finally:
        step.kill()
        step.wait()
    assert "exit-code=130\n" in told.read_text()
    assert [] == list(tmp_path.glob("reconciler-report-*/apply.md"))


def _open_once_it_is_read(pipe: Path) -> int:
    """The end of a pipe to write to, once somebody has opened the other."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.01)
    raise AssertionError("nobody reads the configuration")


def daily(forge: Forge, hub: Hub) -> Job:
    """The daily report; it succeeds."""
    forge.secrets["GITHUB_TOKEN"] = TOKEN
    done = forge.run("schedule", {}, extra=hub.environment)
    assert 0 == done.code, done.log
    return done


def test_daily_report(tmp_path: Path, hub: Hub) -> None:
    """With nothing unknown no issue is opened; the summary tells what awaits removal, and what it cannot tell.

    An unknown outcome opens one issue. That the record was rolled back is known to the issues from what an earlier run
    has left in the cache, where the witness cannot be read.
    """
    with one_client_sandbox(environments=["staging"]) as sandbox:
        forge = declared_repository(tmp_path / "forge", sandbox)
        operator = clone(forge, sandbox)
        operator.step("state", "import", "--all", "-t", "europe/*")
        operator.step("state", "retire", "europe/staging/offers")
        done = daily(forge, hub)
        assert [] == [issue for issue in hub.issues if WAITS in issue["title"]]
        assert "Awaiting removal by the operator" in done.summary
        assert "The service itself cannot be read" in done.summary
        sandbox.world.fail_next("500", count=1, target="usa/staging")
        operator.step("apply", "--auto-approve", "-t", "usa/staging/applications", code=3)
        daily(forge, hub)
        (ours,) = [issue for issue in hub.issues if WAITS in issue["title"]]
        assert "usa/staging/applications" in ours["body"].replace("&#47;", "/")
        forge.git(forge.origin, "update-ref", "refs/heads/reconciler-state", "refs/heads/reconciler-state~1")
        shutil.rmtree(tmp_path / "home/cache/reconciler/heads")  # what the operator's machine and the runner remember
        hub.fail("GET", "/commits", 502)
        failed = forge.run("schedule", {}, extra=hub.environment)
        assert 0 != failed.code, failed.log
        assert "State records that cannot be used" in hub.open_issues()
