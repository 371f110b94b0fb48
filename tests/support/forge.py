"""A repository on a forge and its runner, as far as a workflow can tell: a bare origin, a double of `gh`, and `act`."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass, field
from io import BytesIO, TextIOWrapper
from pathlib import Path
from unittest.mock import patch

from support.command_line import run_here

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "reconcile"
WORKFLOWS = [ROOT / ".github" / "workflows" / f"{name}.yml" for name in ("plan", "apply")]
REPOSITORY = "partner/hooks"
CALLER = ".github/workflows/subscriptions.yml"
RECORD = "git:reconciler-state"
TAKEN = "<b>$(id)`id`\n::warning::taken\x1b[31m\u202e"
"""A name that would take effect in a shell, the log, a terminal or Markdown."""
_STAND_INS = ROOT / "tests" / "workflow" / "stand_ins"
_BIN = Path(sys.executable).parent
_PUBLISHED, _COMMIT = "partner/reconciler", "0123456789abcdef" * 2 + "01234567"
_USES = re.compile(r"uses: (actions/[a-z-]+)@([0-9a-f]{40})")
_NAMES = {"actions/checkout": "checkout", "actions/upload-artifact": "upload"}
_QUIET = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
_PERSON = {f"GIT_{role}_{what}": "test" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
_SUMMARY = re.compile(r"^\[[^\n]*\]   \S+  Summary - (.*?)(?=^\[|\Z)", re.MULTILINE | re.DOTALL)


@dataclass
class Job:
    """The exit code and the log of a run."""

    code: int
    log: str

    @property
    def summary(self) -> str:
        """The summaries of its steps: `act` logs each as one entry."""
        return "".join(_SUMMARY.findall(self.log))


@dataclass
class Forge:
    """A repository with an origin, in `path`. `answers` are those of `gh api`, by the path below the repository."""

    path: Path
    secrets: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    answers: dict[str, object] = field(default_factory=dict)
    _runs: int = 0

    def __post_init__(self) -> None:
        for name in ("artifacts", "home", "runs"):
            (self.path / name).mkdir(parents=True)
        self.git("init", "-q", "--bare", "-b", "main", str(self.origin), at=self.path)
        self.git("clone", "-q", str(self.origin), str(self.work), at=self.path)
        self.git("checkout", "-q", "-B", "main")
        self.answers |= {"pulls": [], "rules/branches/reconciler-state": [], "rules/branches/reconciler-state-head": []}
        self.answers["rules/branches/main"] = []

    @property
    def origin(self) -> Path:
        """The bare repository."""
        return self.path / "origin.git"

    @property
    def work(self) -> Path:
        """The clone of somebody who works on the repository."""
        return self.path / "work"

    def git(self, *words: str, at: Path | None = None) -> str:
        """Run git in the clone and return what it prints."""
        given = {**os.environ, **_QUIET, **_PERSON}
        done = subprocess.run(["git", *words], cwd=at or self.work, env=given, check=True, capture_output=True)
        return done.stdout.decode().strip()

    def write(self, name: str, text: str) -> None:
        """Write a file of the clone."""
        file = self.work / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def commit(self, title: str) -> str:
        """Commit everything and return the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", title)
        return self.git("rev-parse", "HEAD")

    def push(self, title: str) -> str:
        """Commit everything and push it to the default branch, without a pull request; return the commit."""
        commit = self.commit(title)
        self.git("push", "-q", "origin", "HEAD:main")
        return commit

    def reconciler(self, *words: str) -> str:
        """Run the program on the clone, as its owner does, and return what it prints."""
        given = {**_QUIET, **_PERSON, "HOME": str(self.path / "home")}
        out = BytesIO()
        printed = TextIOWrapper(out, "utf-8", write_through=True)
        with chdir(self.work), patch.dict(os.environ, given), redirect_stdout(printed):
            assert 0 == run_here(*words)
        return out.getvalue().decode()

    def review(self, number: int, *, of: str = REPOSITORY) -> Job:
        """Commit everything on a branch, run the workflow for its pull request, and keep the run's artifact."""
        self.git("checkout", "-q", "-B", f"change-{number}")
        commit = self.commit(f"Change {number}")
        self.git("push", "-q", "-f", "origin", "HEAD")
        shutil.rmtree(self.path / "artifacts")
        head = {"ref": f"change-{number}/{TAKEN}", "sha": commit, "repo": {"full_name": of}}
        request = {"number": number, "title": TAKEN, "body": TAKEN, "head": head}
        job = self.run("pull_request", {"number": number, "pull_request": request})
        run = 100 + number
        kept = self.path / "runs" / str(run)
        if (self.path / "artifacts").exists():
            shutil.copytree(self.path / "artifacts", kept, dirs_exist_ok=True)
        names = [{"name": path.name, "expired": False, "size_in_bytes": 1} for path in kept.glob("*")]
        self.answers[f"actions/runs/{run}/artifacts"] = {"artifacts": names}
        found = {"id": run, "path": CALLER, "head_repository": {"full_name": of}}
        self.answers[f"actions/runs?head_sha={commit}"] = {"workflow_runs": [found] if job.code == 0 else []}
        return job

    def merge(self, number: int) -> str:
        """Merge a branch that was reviewed into the default branch and push that; return the commit."""
        head = self.git("rev-parse", f"change-{number}")
        self.git("checkout", "-q", "main")
        self.git("merge", "-q", "--no-ff", "-m", f"Merge {number}", head)
        self.git("push", "-q", "origin", "main")
        commit = self.git("rev-parse", "HEAD")
        of = {"sha": head, "repo": {"full_name": REPOSITORY}}
        pull = {"number": number, "merged_at": "2026-11-23", "merge_commit_sha": commit, "head": of}
        self.answers["pulls"] = [pull, *self.answers["pulls"]]  # type: ignore[misc]
        return commit

    def run(self, event: str, payload: Mapping[str, object] | None = None, **extra: str) -> Job:
        """Have an event happen, run the jobs that it starts, and return what came of them."""
        command = self._command(event, payload or {}, extra)
        environment = {**os.environ, **_QUIET, "HOME": str(self.path / "home"), "PATH": _path()}
        log = self.path / "run.log"
        with log.open("wb") as file:
            child = subprocess.Popen(
                command, cwd=self.work, env=environment, stdin=subprocess.DEVNULL, stdout=file,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                code = child.wait(timeout=120)
            finally:
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGKILL)
        return Job(code, log.read_text(errors="replace"))

    def _command(self, event: str, payload: Mapping[str, object], extra: Mapping[str, str]) -> list[str]:
        (self.path / "answers.json").write_text(json.dumps(self.answers))
        file = self.path / "event.json"
        file.write_text(json.dumps({"repository": {"full_name": REPOSITORY, "default_branch": "main"}, **payload}))
        self._runs += 1
        given = {
            "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_RUN_ID": str(self._runs), "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_WORKFLOW_REF": f"{REPOSITORY}/{CALLER}@refs/heads/main", "GITHUB_TRIGGERING_ACTOR": "someone",
            "RECONCILER_PYTHON": sys.executable, "TEST_ORIGIN": str(self.origin), "TEST_FORGE": str(self.path),
            "PATH": _path(), **_QUIET, **extra,
        }  # fmt: skip
        command = [str(_BIN / "act"), event, "-e", str(file), "-W", CALLER, "-P", "ubuntu-24.04=-self-hosted"]
        command += ["--concurrent-jobs", "1"]  # act may crash where two begin at once
        command += [part for name, value in given.items() for part in ("--env", f"{name}={value}")]
        command += [part for name, value in self.variables.items() for part in ("--var", f"{name}={value}")]
        secrets = {"GITHUB_TOKEN": "a-token-of-the-run", **self.secrets}
        command += [part for name, value in secrets.items() for part in ("-s", f"{name}={value}")]
        local = [*_third_parties(), f"{_PUBLISHED}@{_COMMIT}={self._published()}"]
        return command + [part for repository in local for part in ("--local-repository", repository)]

    def _published(self) -> Path:
        """Return the repository of the workflows and the action, at the commit that is used."""
        place = self.path / "published"
        if not place.exists():
            shutil.copytree(ACTION, place / ACTION.relative_to(ROOT))
            (place / ".github/workflows").mkdir()
            for workflow in WORKFLOWS:
                (place / workflow.relative_to(ROOT)).write_text(for_act(workflow.read_text()))
        return place


def for_act(text: str) -> str:
    """Return a workflow as act takes it: it knows no cache modes, and no `$/` for the repository of the file itself."""
    text = re.sub(r"^cache-mode: none.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"uses: \$/([^\s,]+)", rf"uses: {_PUBLISHED}/\1@{_COMMIT}", text)


def _path() -> str:
    return os.pathsep.join((str(_STAND_INS / "bin"), str(_BIN), os.environ["PATH"]))


def _third_parties() -> list[str]:
    used = {(match[1], match[2]) for path in WORKFLOWS for match in _USES.finditer(path.read_text())}
    return [f"{name}@{commit}={_STAND_INS / _NAMES[name]}" for name, commit in sorted(used)]
