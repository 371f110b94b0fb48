"""The functions that the scripts share: to run the program, ask GitHub and git, and write outputs and the summary."""

import html
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final, NoReturn

from reconciler.reports.words import harmless_line, visible

SUMMARY: Final = 1 << 20
"""Bytes that GitHub shows of the summary of a step; a longer one is dropped, and the step stays green."""


def stop(text: str) -> NoReturn:
    """End the step with exit code 1 and an error, in the log and beside the run."""
    sys.exit(f"::error::{visible(text)}")


def reconciler(*words: str, stdin: str = "", stderr: int | None = None) -> tuple[int, str]:
    """Run the program and return its exit code and output; signals are passed on."""
    command, pipe = (sys.executable, "-P", "-m", "reconciler", *words), subprocess.PIPE
    own = {f"XDG_{kind.upper()}_HOME": f"{os.environ['RUNNER_TEMP']}/reconciler-{kind}" for kind in ("cache", "data")}
    child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=stderr, env={**os.environ, **own})  # noqa: S603
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: child.send_signal(number))
    text = child.communicate(stdin.encode())[0].decode(errors="backslashreplace")
    return (child.returncode if child.returncode >= 0 else 128 - child.returncode), text


def take_store_credentials(text: str) -> None:
    """Make variables of the credentials of the record's store: lines such as PGPASSWORD=…"""
    for line in text.splitlines():
        name, _, value = line.strip().partition("=")
        if re.fullmatch(r"(AWS|AZURE|GOOGLE)_[A-Z0-9_]+|PG[A-Z]+", name):
            sys.stderr.write(f"::add-mask::{value}\n")
            os.environ[name] = value


def show(text: str, *, whole: bool = False) -> None:
    """Append to the summary. What is to be approved has to be there `whole`, and readable; a report is left out."""
    file = Path(os.environ["GITHUB_STEP_SUMMARY"])
    fits = len(text.encode()) <= SUMMARY - (file.stat().st_size if file.exists() else 0)
    if whole and not (fits and text.replace("\n", "").isprintable()):
        stop("too long for the summary, or not printable: what cannot be shown whole cannot be approved; select less")
    with file.open("a", encoding="utf-8") as summary:
        summary.write(text if fits else "The report is too long for this page: see the log.\n")


def block(text: str) -> str:
    """Return text as a block of Markdown that ends with it."""
    return "<pre>" + "\n".join(html.escape(visible(line)) for line in text.splitlines()) + "</pre>\n\n"


def say(text: str) -> None:
    """Print text to the log; none of its lines is a command of the runner."""
    sys.stdout.write("".join(f"{harmless_line(line)}\n" for line in text.splitlines()))


def tell(name: str, value: str) -> None:
    """Write an output of the step. Another line would be another output."""
    if not value.isprintable():
        stop(f"{name}: expected printable characters")
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.write(f"{name}={value}\n")


def gh(*words: str, stdin: object = None, default: Any = None) -> Any:
    """Return what `gh` prints, from JSON, or `default` if it fails and there is one."""
    host = {"GH_HOST": os.environ["GITHUB_SERVER_URL"].partition("://")[2]}
    given = {**os.environ, **host, "GH_ENTERPRISE_TOKEN": os.environ["GH_TOKEN"]}
    data = json.dumps(stdin).encode()
    done = subprocess.run(["gh", *words], check=False, input=data, stdout=subprocess.PIPE, env=given)  # noqa: S603, S607
    if done.returncode and default is None:
        stop(f"gh {' '.join(words)[:200]} failed; see above")
    return default if done.returncode else json.loads(done.stdout or "null")


def git(*words: str) -> str:
    """Return what git prints, "" if it fails."""
    return subprocess.run(["git", *words], check=False, stdout=subprocess.PIPE).stdout.decode().strip()  # noqa: S603, S607


def event(*names: str) -> Any:
    """Return a value of the event that began the run, None if it has none."""
    value = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    for name in names:
        value = (value or {}).get(name)
    return value


def download(run: str, name: str) -> list[Path]:
    """Return the files of an artifact."""
    folder = mkdtemp(dir=os.environ["RUNNER_TEMP"])
    gh("run", "download", run, "-R", os.environ["GITHUB_REPOSITORY"], "-n", name, "-D", folder)
    return sorted(path for path in Path(folder).rglob("*") if path.is_file() and not path.is_symlink())


def fetched(words: Iterable[str]) -> list[str]:
    """Return the words of a command, with the file in place of `run:ID/NAME`."""
    return [_file(match[1], match[2]) if (match := re.fullmatch(r"run:(\d+)/(.+)", word)) else word for word in words]


def _file(number: str, name: str) -> str:
    repository, branch = os.environ["GITHUB_REPOSITORY"], event("repository", "default_branch")
    run = gh("api", f"repos/{repository}/actions/runs/{number}")
    # Anyone's pull request makes artifacts here, and so does a tag that is named like the branch, of any commit.
    origin = ((run["head_repository"] or {}).get("full_name"), run["head_branch"])
    is_own = origin == (repository, branch) and run["event"] in ("push", "schedule", "workflow_dispatch")
    if not is_own or run["head_sha"] not in git("rev-list", "HEAD").split():
        stop(f"run {number} is not one of the branch {branch} of this repository")
    files = download(number, name)
    if len(files) != 1:
        stop(f"expected one file in the artifact {name} of run {number}, got {len(files)}")
    return str(files[0])
