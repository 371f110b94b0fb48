"""One operation on the record, from the form of "Run workflow". Called as `mending.py preview|mend`.

`preview` runs without secrets. It shows what the operation concerns and the commands that it becomes, each with the id
of its attempt, and hands on a hash of it all. `mend` runs once that was approved: it prepares the same once more, and
goes on only if it is the same, so that an approval never serves for what came later.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import job
import operations
from stages import named_stages

from reconciler.model.address import TargetName
from reconciler.reports.cutting import SUMMARY_LIMIT, utf8_size
from reconciler.reports.paper import code
from reconciler.reports.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from operations import Asked, Command, Row

_FILES = {"state recover": "**/unrecorded/**/*", "state observe": "**/*.jsonl"}
"""Where the artifact of a run has the files of an operation."""
_TRUSTED = [["push"], ["workflow_dispatch"], ["schedule"]]
_OMITTED = "The rest is omitted, since the summary would be too long: see `reconciler state show` and `plan`.\n"
_VALUE_BY_FORM = (
    "**In the browser:** store the secret as the secret `SUBSCRIPTION_SECRET` of the environment; then *Run workflow*,"
    " operation `secret set`, and that address; then delete `SUBSCRIPTION_SECRET`.\n\n"
)
_MATCHES_NOTHING = ": matches no "
_NO_RECORD = "no state record for "
_MOST = 20_000
"""Characters of a file that the summary shows: it may have 1 MiB."""


class Prepared:
    """What would be done, and the hash of all that approving it approves."""

    def __init__(self, asked: Asked, rows: list[Row], files: Sequence[Path]) -> None:
        """Raises job.Refusal if there is nothing to do."""
        self.asked = asked
        self.files = files
        self.rows = operations.concerned(asked, rows)
        self.commands: list[Command] = operations.commands(asked, self.rows, [str(path) for path in files])
        accepts = operations.OPERATIONS[asked.operation].accepts
        self.accepted = [_harmlessly(command) for command in self.commands if accepts]
        contents = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
        shown = [[row["address"], row["attempt"], row["status"]] for row in self.rows]
        accepted = [sorted(text.splitlines()) for text in self.accepted]  # a witness tells in any order
        text = json.dumps([self.commands, accepted, shown, contents, os.environ.get("GITHUB_SHA")])
        self.approval = hashlib.sha256(text.encode()).hexdigest()


def preview() -> int:
    """Show what the operation would do, and hand on what approving it approves."""
    if os.environ.get("GITHUB_RUN_ATTEMPT", "1") != "1":
        raise job.Refusal(
            "a preview that is run again may concern other attempts than the form was filled in for; start the workflow"
            " again with `Run workflow`"
        )
    prepared = _prepare()
    job.summarise(_summary(prepared))
    pattern = prepared.asked.patterns[0].split("/")
    job.hand_on(approval=prepared.approval, variables=TargetName("/".join(pattern[:2])).variable_prefix)
    return 0


def mend() -> int:
    """Do what was previewed, and nothing else; the worst exit code of its commands."""
    prepared = _prepare()
    if prepared.approval != os.environ["APPROVAL"]:
        job.summarise(_summary(prepared))
        raise job.Refusal(
            "what was approved has changed since: the record, or the file, is not as it was previewed; nothing was"
            " done; start the workflow again, and approve what it shows"
        )
    _set_up(prepared.asked)
    codes = [_do(command) for command in prepared.commands]
    return max(codes)


def _prepare() -> Prepared:
    asked = operations.parse(job.inputs(), named_stages(os.environ["STAGES"]))
    files = _download(asked) if asked.needs_file else []
    ended, text = job.reconciler("state", "list", "--format", "json")
    rows = json.loads(text) if text else []
    if ended and not text and asked.operation not in {"state init", "state accept-rollback", "state recover"}:
        raise job.Refusal("the record cannot be read; the log says why")
    return Prepared(asked, [{key: str(row[key]) for key in ("address", "attempt", "status")} for row in rows], files)


def _download(asked: Asked) -> list[Path]:
    """The files that a run's artifacts have for an operation. Raises job.Refusal if there are none."""
    repository, run = os.environ["GITHUB_REPOSITORY"], asked.value
    branch = os.environ.get("GITHUB_REF_NAME", "")
    query = "[.head_repository.full_name, .head_branch, .event, .head_sha] | @tsv"
    *of_run, commit = _gh("api", f"repos/{repository}/actions/runs/{run}", "--jq", query).split()
    # Anyone's pull request makes artifacts here, and so does a tag that is named like the branch, of any commit.
    is_of_branch = of_run[:2] == [repository, branch] and of_run[2:] in _TRUSTED and _is_before(repository, commit)
    if not is_of_branch:
        raise job.Refusal(f"run {run} is not one of the branch {branch} of this repository: {' '.join(of_run)}")
    folder = Path(os.environ["RUNNER_TEMP"]) / f"run-{run}"
    if not folder.exists():
        _gh("run", "download", run, "--dir", str(folder), "-R", repository)
    files = sorted(path for path in folder.glob(_FILES[asked.operation]) if path.is_file())
    if asked.operation == "state observe":  # an apply's artifact has journals, too
        files = [path for path in files if "state" not in path.relative_to(folder).parts]
    if not files:
        raise job.Refusal(f"run {run} has no artifact with a file for {asked.operation}")
    return files


def _is_before(repository: str, commit: str) -> bool:
    """Whether a commit is that of this run, or one of those before it. Raises job.Refusal."""
    path = f"repos/{repository}/compare/{os.environ['GITHUB_SHA']}...{commit}"
    return _gh("api", path, "--jq", ".status").strip() in {"identical", "behind"}


def _gh(*arguments: str) -> str:
    """What `gh` prints. Raises job.Refusal if it fails."""
    server = urlsplit(os.environ.get("GITHUB_SERVER_URL", "https://github.com")).netloc
    given = {"GH_HOST": server, "GH_ENTERPRISE_TOKEN": os.environ.get("GH_TOKEN", "")}
    done = subprocess.run(  # noqa: S603 - no shell; the parts that were typed are numbers
        ["gh", *arguments],  # noqa: S607 - as the runner has it
        check=False, stdout=subprocess.PIPE, env={**os.environ, **given},
    )  # fmt: skip
    if done.returncode:
        raise job.Refusal(f"gh {' '.join(arguments[:2])} failed; the log says why")
    return done.stdout.decode()


def _summary(prepared: Prepared) -> str:
    """Markdown: what is approved, and what else there is to say as far as a summary may be long.

    A longer one would not be shown at all. Raises job.Refusal if what is approved does not fit.
    """
    text = "".join(_approved(prepared))
    left = SUMMARY_LIMIT - len(_OMITTED) - utf8_size(text)
    if left < 0:
        raise job.Refusal("too much for one approval: a job's summary cannot show all of it; name fewer addresses")
    for part in _context(prepared):
        left -= utf8_size(part)
        if left < 0:
            return text + _OMITTED
        text += part
    return text


def _approved(prepared: Prepared) -> Iterator[str]:
    """All that comes from elsewhere is escaped, and in blocks that end with their text."""
    asked = prepared.asked
    yield f"### {asked.operation}: {code(' '.join(asked.patterns))}\n\n"
    yield f"The environment `{asked.stage}` approves this. Then these commands run, and nothing else:\n\n"
    yield _block("\n".join(map(_line, prepared.commands)))
    if risk := operations.OPERATIONS[asked.operation].risk:
        yield f"**{risk}**\n\n"
    for path in prepared.files:
        yield f"{code(path.name)}:\n\n{_block(_shown(asked, path))}"
    yield from (f"What it would accept:\n\n{_block(text)}" for text in prepared.accepted)


def _context(prepared: Prepared) -> Iterator[str]:
    patterns = [part for pattern in prepared.asked.patterns for part in ("-t", pattern)]
    for address in dict.fromkeys(row["address"] for row in prepared.rows):
        yield _output("state", "show", address)
    ended, text = job.reconciler("plan", "--detailed-exitcode", *patterns, streams=(1, 2))
    operation = prepared.asked.operation
    if operations.OPERATIONS[operation].declared and _MATCHES_NOTHING in text:
        raise job.Refusal(
            f"address: {text.removeprefix('Error: ').strip()}; {operation} is about what config/ declares"
        )
    if operation == "state init" and _NO_RECORD in text:
        yield "No record yet: this creates it.\n\n"
    else:
        yield f"The plan as it is now:\n\n{_block(text)}"
    if ended == job.UNRESOLVED and not operation.startswith("state resolve"):
        yield job.RESOLVE_BY_FORM


def _shown(asked: Asked, path: Path) -> str:
    """What a file says: of notifications, which are about people, only how many there are."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if asked.operation == "state observe":
        return f"{len(text.splitlines())} notifications"
    return text if len(text) <= _MOST else f"{text[:_MOST]}…\n({len(text)} characters)"


def _harmlessly(command: Command) -> str:
    """What a command says that it would accept: without --force it does no more. Warnings are about this runner."""
    _, text = job.reconciler(*(part for part in command if part != "--force"), streams=(1, 2))
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("Warning: "))


def _line(command: Command) -> str:
    """A command as one line: what was typed cannot look like another."""
    return visible(f"reconciler {shlex.join(command)}")


def _output(*command: str) -> str:
    return _block(job.reconciler(*command, streams=(1, 2))[1])


def _block(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>\n\n"


def _set_up(asked: Asked) -> None:
    """Give the settings of the environment their names. Raises job.Refusal for a secret without a key to seal it to."""
    target = TargetName("/".join(asked.patterns[0].split("/")[:2]))
    for field in ("CLIENT_ID", "AUTH_URL", "BASE_URL"):
        if os.environ.get(field):
            os.environ[f"{target.variable_prefix}{field}"] = os.environ[field]
    if asked.operation == "secret set":
        if not os.environ.get("RECONCILER_RECIPIENTS"):
            raise job.Refusal("the environment has no variable RECONCILER_RECIPIENTS: config/ does not decide alone")
        _feed(os.environ.pop("SUBSCRIPTION_SECRET", ""))


def _feed(secret: str) -> None:
    """Let stdin be the secret. Raises job.Refusal if there is none."""
    if not secret:
        raise job.Refusal("the environment has no secret SUBSCRIPTION_SECRET: store the value there, then start again")
    reading, writing = os.pipe()
    os.write(writing, secret.encode())
    os.close(writing)
    os.dup2(reading, 0)


def _do(command: Command) -> int:
    ended, text = job.reconciler(*command, streams=(1, 2))
    sys.stderr.write(text)
    result = "Done" if ended == 0 else f"Failed with exit code {ended}"
    job.summarise(f"{result}: {code(_line(command))}\n\n{_block(text)}")
    if "reconciler secret set" in text:
        job.summarise(_VALUE_BY_FORM)
    return ended


COMMANDS = {"preview": preview, "mend": mend}


if __name__ == "__main__":
    job.main(COMMANDS)
