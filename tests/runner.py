"""A repository on a forge and its runner, as far as a workflow can tell: a bare origin, and `act` in host mode."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from project import Project

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[1]
STAND_INS = Path(__file__).parent / "workflow" / "stand_ins"
ACT = Path(sys.executable).parent / "act"
WORKFLOW = ROOT / ".github" / "workflows" / "subscriptions.yml"
_USES = re.compile(r"uses: ([a-z-]+/[a-z-]+)(/[a-z]+)?@([0-9a-f]{40})")
_NAMES = {
    "actions/checkout": "checkout",
    "actions/cache": "cache",
    "actions/upload-artifact": "upload",
    "marocchino/sticky-pull-request-comment": "comment",
}


@dataclass
class Job:
    """What a run of the workflow came to."""

    code: int
    log: str


@dataclass
class Forge:
    """A repository with an origin; `artifacts`, `comments` and `summary` are what its runs left behind."""

    path: Path
    variables: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("artifacts", "comments", "home"):
            (self.path / name).mkdir(parents=True)
        self.git(self.path, "init", "-q", "--bare", "-b", "main", str(self.origin))
        self.git(self.path, "clone", "-q", str(self.origin), str(self.work))
        self.git(self.work, "checkout", "-q", "-B", "main")
        for source in (".github/actions", ".github/workflows/subscriptions.yml"):
            target = self.work / source
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (ROOT / source).is_dir() else shutil.copy)(ROOT / source, target)

    @property
    def origin(self) -> Path:
        return self.path / "origin.git"

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
        done = subprocess.run(
            self.command(event, payload, job, extra), cwd=self.work, env=self._environment(), check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=110,
        )  # fmt: skip
        return Job(done.returncode, done.stdout.decode())

    def command(
        self, event: str, payload: Mapping[str, object], job: str | None, extra: Mapping[str, str] | None
    ) -> list[str]:
        """The command that runs an event."""
        file = self.path / "event.json"
        file.write_text(json.dumps({"repository": {"full_name": "partner/hooks", "default_branch": "main"}, **payload}))
        given = {
            "GITHUB_REPOSITORY": "partner/hooks",
            "RECONCILER_PYTHON": sys.executable,
            "TEST_ORIGIN": str(self.origin),
            "TEST_ARTIFACTS": str(self.path / "artifacts"),
            "TEST_COMMENTS": str(self.path / "comments"),
            "TEST_CACHE": str(self.path / "cache"),
            **self._git_environment(),
            **(extra or {}),
        }
        command = [str(ACT), event, "-e", str(file), "-W", ".github/workflows/subscriptions.yml"]
        command += ["-P", "ubuntu-24.04=-self-hosted", *(["-j", job] if job else [])]
        command += [part for name, value in given.items() for part in ("--env", f"{name}={value}")]
        command += [part for name, value in self.variables.items() for part in ("--var", f"{name}={value}")]
        command += [part for name, value in self.secrets.items() for part in ("-s", f"{name}={value}")]
        return command + [part for stand_in in _stand_ins() for part in ("--local-repository", stand_in)]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self._git_environment(), "HOME": str(self.path / "home")}

    @staticmethod
    def _git_environment() -> dict[str, str]:
        names = {f"GIT_{who}_{what}": "test" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        return {**names, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def _stand_ins() -> list[str]:
    """What stands in for each third-party action that the workflow and the action use."""
    texts = [WORKFLOW.read_text(), (ROOT / ".github/actions/reconcile/action.yml").read_text()]
    used = {(found[1], found[3]) for text in texts for found in _USES.finditer(text)}
    return [f"{name}@{commit}={STAND_INS / _NAMES[name]}" for name, commit in sorted(used)]
