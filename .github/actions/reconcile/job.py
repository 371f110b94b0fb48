"""Connects a step to GitHub, `gh`, `git` and the program, and to the log, outputs and summary of the step."""

import html
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final, NoReturn

from reconciler.operations.plan_file import SavedPlan, load_plan
from reconciler.reports.words import harmless_line, visible

REPOSITORY = os.environ["GITHUB_REPOSITORY"]
EVENT = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
BRANCH = EVENT["repository"]["default_branch"]
# The path of the workflow that calls this one.
WORKFLOW = os.environ["GITHUB_WORKFLOW_REF"].partition("@")[0].removeprefix(f"{REPOSITORY}/")
# The largest summary of a step that GitHub shows, in bytes. A larger summary is dropped, but the step succeeds.
SUMMARY: Final = 1 << 20
# Seconds before each search for the pull request of a push: GitHub may take a while to name the merge commit.
WAITS = (0, 2, 4, 8, 16)
# Limits: the pages of closed pull requests to read, the merged pull requests to check, the bytes of an artifact.
PAGES, PULLS, LARGEST = 10, 100, 64 << 20


def stop(text: str) -> NoReturn:
    """End the step with exit code 1, and annotate its run with the error."""
    sys.exit(f"::error::{visible(text)}")


def warn(text: str) -> None:
    """Annotate the run with a warning."""
    sys.stdout.write(f"::warning::{visible(text)}\n")


def reconciler(*words: str, stdin: str = "", with_errors: bool = False) -> tuple[int, str]:
    """Run the program and return its exit code and output; signals are passed on."""
    command, pipe = (sys.executable, "-Pm", "reconciler", *words), subprocess.PIPE
    stderr = subprocess.STDOUT if with_errors else None
    own = {f"XDG_{kind.upper()}_HOME": f"{os.environ['RUNNER_TEMP']}/reconciler-{kind}" for kind in ("cache", "data")}
    child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=stderr, env=os.environ | own)  # noqa: S603
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: child.send_signal(number))
    text = child.communicate(stdin.encode())[0].decode(errors="backslashreplace")
    return (child.returncode if child.returncode >= 0 else 128 - child.returncode), text


def take_store_credentials(text: str) -> None:
    """Set the credentials of the record's store as variables, from lines such as PGPASSWORD=…"""
    for line in text.splitlines():
        name, _, value = line.strip().partition("=")
        if re.fullmatch(r"(AWS|AZURE|GOOGLE)_[A-Z0-9_]+|PG[A-Z]+", name):
            sys.stderr.write(f"::add-mask::{value}\n")
            os.environ[name] = value


def show(text: str, *, whole: bool = False) -> None:
    """Append text to the summary. Text that does not fit is left out or, with `whole`, ends the step with an error."""
    file = Path(os.environ["GITHUB_STEP_SUMMARY"])
    fits = len(text.encode()) <= SUMMARY - (file.stat().st_size if file.exists() else 0)
    if whole and not (fits and text.replace("\n", "").isprintable()):
        stop("too long for the summary, or not printable: what cannot be shown whole cannot be approved; select less")
    with file.open("a", encoding="utf-8") as summary:
        summary.write(text if fits else "The report is too long for this page: see the log.\n")


def block(text: str) -> str:
    """Return text as a preformatted block for Markdown. Long lines are split, because such a block does not wrap."""
    lines = [part for line in text.splitlines() for part in re.findall(".{1,120}|^$", visible(line))]
    return "<pre>" + "\n".join(map(html.escape, lines)) + "</pre>\n\n"


def say(text: str) -> str:
    """Print text to the log, escaped so that the runner reads no line as a command. Return the text unchanged."""
    sys.stdout.write("".join(f"{harmless_line(line)}\n" for line in text.splitlines()))
    return text


def tell(name: str, value: str) -> None:
    """Write an output of the step. The value must be one line, because a second line would be another output."""
    if not value.isprintable():
        stop(f"{name}: expected printable characters")
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.write(f"{name}={value}\n")


def git(*words: str) -> str:
    """Return the output of git without surrounding whitespace. A failure of git is ignored."""
    return subprocess.run(["git", *words], check=False, stdout=subprocess.PIPE).stdout.decode().strip()  # noqa: S603, S607


def gh(*words: str, stdin: object = None, default: Any = None) -> Any:
    """Return the JSON that `gh` prints, decoded. If `gh` fails, return `default`; if `default` is None, stop."""
    host = os.environ["GITHUB_SERVER_URL"].partition("://")[2]
    given = os.environ | {"GH_HOST": host, "GH_ENTERPRISE_TOKEN": os.environ["GH_TOKEN"]}
    data = json.dumps(stdin).encode()
    done = subprocess.run(["gh", *words], check=False, input=data, stdout=subprocess.PIPE, env=given)  # noqa: S603, S607
    if done.returncode and default is None:
        stop(f"gh {' '.join(words)[:200]} failed; see above")
    return default if done.returncode else json.loads(done.stdout or "null")


def get(path: str, *fields: str, default: Any = None) -> Any:
    """Return the answer of the GitHub API for a path below the repository."""
    values = [word for field in (*fields, "per_page=100") for word in ("-f", field)]
    return gh("api", "-X", "GET", f"repos/{REPOSITORY}/{path}", *values, default=default)


def merged() -> Iterator[list[SavedPlan]]:
    """Yield the plans of each pull request that was merged into the checked-out commit, beginning with the latest."""
    for seconds in WAITS:
        time.sleep(seconds)
        pulls = list(_closed())
        if os.environ["GITHUB_SHA"] in [pull["merge_commit_sha"] for pull in pulls]:
            break
    ours = set(git("rev-list", "HEAD").split())
    own = [pr for pr in pulls if pr["merged_at"] and pr["merge_commit_sha"] in ours and _is_own(pr["head"]["repo"])]
    for pull in sorted(own, key=lambda pull: str(pull["merged_at"]), reverse=True)[:PULLS]:
        yield list(_plans(pull["head"]["sha"]))


def _is_own(repository: Any) -> bool:
    return bool(repository) and repository["full_name"] == REPOSITORY


def _closed() -> Iterator[Any]:
    for page in range(1, PAGES + 1):
        order = ("sort=updated", "direction=desc", f"page={page}")
        yield from (rows := get("pulls", "state=closed", f"base={BRANCH}", *order))
        if len(rows) < 100:
            return


def _plans(commit: str) -> Iterator[SavedPlan]:
    """Yield the plans that successful runs of this workflow saved for a commit of a pull request."""
    for run in get("actions/runs", "event=pull_request", "status=success", f"head_sha={commit}")["workflow_runs"]:
        if _is_own(run["head_repository"]) and run["path"].partition("@")[0] == WORKFLOW:
            for row in get(f"actions/runs/{run['id']}/artifacts")["artifacts"]:
                if row["name"].startswith("reconciler-plan-") and row["size_in_bytes"] < LARGEST and not row["expired"]:
                    yield from map(load_plan, _download(str(run["id"]), row["name"]))


def _download(run: str, name: str) -> list[Path]:
    folder = mkdtemp(dir=os.environ["RUNNER_TEMP"])
    gh("run", "download", run, "-R", REPOSITORY, "-n", name, "-D", folder)
    return sorted(path for path in Path(folder).rglob("*") if path.is_file() and not path.is_symlink())


def fetched(words: Iterable[str]) -> list[str]:
    """Return the words of a command, with `run:ID/NAME` replaced by the path of the downloaded file."""
    return [_file(match[1], match[2]) if (match := re.fullmatch(r"run:(\d+)/(.+)", word)) else word for word in words]


def _file(number: str, name: str) -> str:
    run = get(f"actions/runs/{number}")
    # Anyone's pull request can make artifacts here, and so can a tag of any commit with the name of the branch.
    is_ours = run["head_branch"] == BRANCH and run["event"] in ("push", "schedule", "workflow_dispatch")
    first_parents = git("rev-list", "--first-parent", "HEAD").split()
    if not (is_ours and _is_own(run["head_repository"]) and run["head_sha"] in first_parents):
        stop(f"run {number} is not one of the branch {BRANCH} of this repository")
    files = _download(number, name)
    if len(files) != 1:
        stop(f"expected one file in the artifact {name} of run {number}, got {len(files)}")
    return str(files[0])


def refuse_stranger(stage: str) -> None:
    """Stop unless the environment of a stage requires approval, or a maintainer started the run."""
    if "required_reviewers" not in [rule["type"] for rule in get(f"environments/{stage}")["protection_rules"]]:
        role = get(f"collaborators/{os.environ['GITHUB_TRIGGERING_ACTOR']}/permission")["role_name"]
        if role not in ("maintain", "admin"):
            stop(f"{stage} has no required reviewers: only who may maintain the repository may do this")
