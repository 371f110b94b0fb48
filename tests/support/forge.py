"""A repository on a forge and its runner, as far as a workflow can tell: a bare origin, and `act` in host mode."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from support.project import Project
from support.stopped_process import process_state

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

ROOT = Path(__file__).parents[2]
STAND_INS = ROOT / "tests" / "workflow" / "stand_ins"
ACT = Path(sys.executable).parent / "act"
WORKFLOW = ROOT / ".github" / "workflows" / "subscriptions.yml"
ACTION = ROOT / ".github" / "actions" / "reconcile" / "action.yml"
_QUIET = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PUBLISHED = "partner/reconciler"
COMMIT = "0123456789abcdef" * 2 + "01234567"
_USES = re.compile(r"uses: ([a-z-]+/[a-z-]+)(/[a-z]+)?@([0-9a-f]{40})")
_GATE = "    if: needs.plan.outputs.targets != '[]'\n"
_STAGES = "{stages: staging production}"
_SUMMARY = re.compile(r"^\[[^\n]*\]   \S+  Summary - (.*?)(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
_NAMES = {
    "actions/checkout": "checkout",
    "actions/cache": "cache",
    "actions/upload-artifact": "upload",
}


@dataclass
class Job:
    """What a run of the workflow came to."""

    code: int
    log: str

    @property
    def summary(self) -> str:
        """What its steps put on the job's summary: `act` tells each as one entry of its log."""
        return "".join(_SUMMARY.findall(self.log))


class Running:
    """A run of the workflow that has not ended. Use it as a context, so that none outlives its test."""

    def __init__(self, command: list[str], work: Path, environment: Mapping[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as file:
            self._process = subprocess.Popen(
                command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            for pid in (self._process.pid, *children(self._process.pid)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._process.wait()

    def entry(self) -> int:
        """The entry process of the step that is under way: the one that a runner signals."""
        (pid,) = children(self._process.pid)
        return pid

    def wait_until_stopped(self) -> int:
        """Wait until the step that is under way has stopped itself; its entry process."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            assert self._process.poll() is None, self._log.read_text()
            for pid in children(self._process.pid):
                if process_state(pid)[:1] == ["T"]:
                    return pid
            time.sleep(0.01)
        raise AssertionError("it does not stop\n" + self._log.read_text())

    def finish(self) -> Job:
        return Job(self._process.wait(timeout=110), self._log.read_text())


def children(parent: int) -> list[int]:
    """The processes that a process has started, and that have not ended."""
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    states = [(pid, process_state(pid)) for pid in pids]
    return [pid for pid, state in states if state[:1] != ["Z"] and state[1:2] == [str(parent)]]


@dataclass
class Forge:
    """A repository with an origin; `artifacts` and `cache` are what its runs left behind.

    `environments` has the environment of each third-party action that ran last, as `env -0` prints it.

    `stages` are those that its workflow has, in order. `approved` are the stages that are approved at once, by default
    all; the jobs of others do not start.

    `upstream` is the origin of another forge: then this is one more runner of the same repository.
    """

    path: Path
    variables: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    upstream: Path | None = None
    workflow: str = ".github/workflows/subscriptions.yml"
    approved: tuple[str, ...] | None = None
    stages: tuple[str, ...] = ("staging", "production")

    def __post_init__(self) -> None:
        for name in ("artifacts", "cache", "environments", "home"):
            (self.path / name).mkdir(parents=True)
        if self.upstream is None:
            self.git(self.path, "init", "-q", "--bare", "-b", "main", str(self.origin))
        self.git(self.path, "clone", "-q", str(self.origin), str(self.work))
        self.git(self.work, "checkout", "-q", "-B", "main")
        if self.upstream is None:
            self._copy_workflow()

    def _copy_workflow(self) -> None:
        """The caller, and nothing else: what it uses is in another repository."""
        target = self.work / WORKFLOW.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = WORKFLOW.read_text()
        assert 2 == text.count(_STAGES)
        target.write_text(from_elsewhere(text.replace(_STAGES, f"{{stages: {' '.join(self.stages)}}}")))

    @property
    def _published(self) -> Path:
        """The repository of the reusable workflows and the action, at the commit that is used."""
        place = self.path / "published"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(ROOT / ".github/actions", place / ".github/actions")
        for workflow in WORKFLOWS:
            text = from_elsewhere(workflow.read_text())
            if workflow.name == "stage.yml" and self.approved is not None:
                assert _GATE in text
                approved = f"contains(fromJSON('{json.dumps(self.approved)}'), inputs.stage)"
                text = text.replace(_GATE, f"{_GATE[:-1]} && {approved}\n")
            (place / ".github/workflows").mkdir(exist_ok=True)
            (place / ".github/workflows" / workflow.name).write_text(text)
        return place

    @property
    def origin(self) -> Path:
        return self.upstream or self.path / "origin.git"

    @property
    def work(self) -> Path:
        return self.path / "work"

    @property
    def project(self) -> Project:
        """The clone of somebody who works on the repository."""
        return Project(self.work, {"HOME": str(self.path / "home"), **self._git_environment()})

    def git(self, place: Path, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=place, env={**os.environ, **self._git_environment()}, check=True,
            capture_output=True,
        )  # fmt: skip
        return done.stdout.decode()

    def push(self, title: str) -> str:
        """Commit everything and push it to the default branch; the commit."""
        self.git(self.work, "add", "-A")
        self.git(self.work, "commit", "-q", "-m", title)
        self.git(self.work, "push", "-q", "origin", "main")
        return self.git(self.work, "rev-parse", "HEAD").strip()

    def on_branch(self) -> str:
        """The history of the state branch, newest first: the subjects of its commits."""
        return self.git(self.origin, "log", "--format=%s", "reconciler-state")

    def run(
        self,
        event: str,
        payload: Mapping[str, object],
        *,
        job: str | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> Job:
        """Let an event happen, and run the jobs of the workflow that it starts."""
        with self.start(event, payload, job=job, extra=extra) as running:
            return running.finish()

    def start(
        self,
        event: str,
        payload: Mapping[str, object],
        *,
        job: str | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> Running:
        """Let an event happen, and go on while its jobs run."""
        return Running(self.command(event, payload, job, extra), self.work, self._environment(), self.path / "run.log")

    def another_runner(self, name: str) -> Forge:
        """One more runner of this repository: another disk, and a checkout, artifacts and a cache of its own."""
        return Forge(self.path / name, self.variables, self.secrets, self.origin, approved=self.approved)

    def command(
        self, event: str, payload: Mapping[str, object], job: str | None, extra: Mapping[str, str] | None
    ) -> list[str]:
        """The command that runs an event."""
        file = self.path / "event.json"
        file.write_text(json.dumps({"repository": {"full_name": "partner/hooks", "default_branch": "main"}, **payload}))
        given = {
            "GITHUB_REPOSITORY": "partner/hooks",
            "RECONCILER_PYTHON": sys.executable,
            "SSL_CERT_DIR": os.environ["SSL_CERT_DIR"],
            "TEST_ORIGIN": str(self.origin),
            "TEST_ARTIFACTS": str(self.path / "artifacts"),
            "TEST_CACHE": str(self.path / "cache"),
            "TEST_ENVIRONMENTS": str(self.path / "environments"),
            "PATH": path_of_runner(),
            **_QUIET,
            **(extra or {}),
        }
        command = [str(ACT), event, "-e", str(file), "-W", self.workflow]
        command += ["-P", "ubuntu-24.04=-self-hosted", *(["-j", job] if job else [])]
        command += [part for name, value in given.items() for part in ("--env", f"{name}={value}")]
        command += [part for name, value in self.variables.items() for part in ("--var", f"{name}={value}")]
        command += [part for name, value in self.secrets.items() for part in ("-s", f"{name}={value}")]
        local = [*_stand_ins(), f"{PUBLISHED}@{COMMIT}={self._published}"]
        return command + [part for repository in local for part in ("--local-repository", repository)]

    def _environment(self) -> dict[str, str]:
        """A runner's environment. Nobody has told its git a name, as on a runner of GitHub's."""
        return {**os.environ, **_QUIET, "HOME": str(self.path / "home"), "PATH": path_of_runner()}

    @staticmethod
    def _git_environment() -> dict[str, str]:
        names = {f"GIT_{who}_{what}": "test" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        return {**names, **_QUIET}


def path_of_runner() -> str:
    """PATH on a runner. This Python comes first: any other `python3` may be a script that takes long to find one."""
    return os.pathsep.join(map(str, (STAND_INS / "bin", Path(sys.executable).parent, os.environ["PATH"])))


def from_elsewhere(text: str) -> str:
    """A workflow as another repository uses it: GitHub takes `$/` for the file's own repository and commit."""
    return re.sub(r"uses: \$/(\S+)", rf"uses: {PUBLISHED}/\1@{COMMIT}", text)


def _stand_ins() -> list[str]:
    """What stands in for each third-party action that the workflows and the action use."""
    texts = [path.read_text() for path in (*WORKFLOWS, ACTION)]
    texts = [text for text in texts if "setup-python" not in text]
    used = {(found[1], found[3]) for text in texts for found in _USES.finditer(text)}
    return [f"{name}@{commit}={STAND_INS / _NAMES[name]}" for name, commit in sorted(used)]
