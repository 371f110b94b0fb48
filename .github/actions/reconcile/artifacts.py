"""Files of the artifacts of other runs."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from tempfile import mkdtemp

import job


def download(run: str, name: str) -> list[Path]:
    """Return the files of an artifact."""
    folder = mkdtemp(dir=os.environ["RUNNER_TEMP"])
    job.gh("run", "download", run, "-R", os.environ["GITHUB_REPOSITORY"], "-n", name, "-D", folder)
    return sorted(path for path in Path(folder).rglob("*") if path.is_file() and not path.is_symlink())


def fetched(words: Iterable[str]) -> list[str]:
    """Return the words of a command, with the file in place of `run:ID/NAME`."""
    return [_file(match[1], match[2]) if (match := re.fullmatch(r"run:(\d+)/(.+)", word)) else word for word in words]


def _file(number: str, name: str) -> str:
    repository, branch = os.environ["GITHUB_REPOSITORY"], job.event("repository", "default_branch")
    run = job.gh("api", f"repos/{repository}/actions/runs/{number}")
    # Anyone's pull request makes artifacts here, and so does a tag that is named like the branch, of any commit.
    origin = ((run["head_repository"] or {}).get("full_name"), run["head_branch"])
    is_own = origin == (repository, branch) and run["event"] in ("push", "schedule", "workflow_dispatch")
    if not is_own or run["head_sha"] not in job.git("rev-list", "HEAD").split():
        job.stop(f"run {number} is not one of the branch {branch} of this repository")
    files = download(number, name)
    if len(files) != 1:
        job.stop(f"expected one file in the artifact {name} of run {number}, got {len(files)}")
    return str(files[0])
