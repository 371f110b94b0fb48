"""The step of the action that runs reconciler: inputs from the environment, outputs and job summary to their files.

It runs the program in its own process, so that the signals of a cancelled run reach it.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from given import is_true, take_inputs
from tip import refuse_moved

from reconciler.cli.main import leave, run
from reconciler.cli.options import Invocation
from reconciler.errors import Interrupted, ReconcilerError, SettingsError
from reconciler.operations.github_settings import run_url
from reconciler.operations.workspace import Workspace
from reconciler.reports.comments import page_in_artifact
from reconciler.reports.cutting import SUMMARY_LIMIT, cut

if TYPE_CHECKING:
    from collections.abc import Iterator

ACTIONS = ("create", "extend", "replace", "restore", "retire", "blocked")
PLANNED = (0, 2, 3)
"""Exit codes of a plan that was made, whatever is in it."""
INVOCATION = Invocation()
"""Of all commands of this step: a thread stuck in a stream of one must not keep the process from ending."""


def main() -> int:
    """Run the command that the inputs name; the step's exit code, also where a signal comes between two runs."""
    try:
        take_inputs()
        return _command()
    except ReconcilerError as problem:
        INVOCATION.terminal.print_problem(problem)
        return _told(problem.exit_code)
    except Interrupted as problem:
        return _told(problem.exit_code)


def _command() -> int:
    command = os.environ["INPUT_COMMAND"]
    folder = Path(tempfile.mkdtemp(prefix="reconciler-report-", dir=os.environ.get("RUNNER_TEMP")))
    _tell({"folder": str(folder), "number": folder.name[-8:]})
    if command == "validate":
        return _told(_validate(folder))
    if command == "plan":
        return _told(_plan(folder, report=True), tolerated=PLANNED)
    if command == "apply":
        return _apply(folder)
    sys.stderr.write("Error: command: expected one of validate, plan, apply\n")
    return _told(1)


def _told(code: int, tolerated: tuple[int, ...] = (0,)) -> int:
    """Tell the exit code, and give that of the step: a plan fails neither with changes nor with what waits."""
    _tell({"exit-code": str(code)})
    return 0 if code in tolerated else code


def _validate(folder: Path) -> int:
    """Validate, with mistakes and warnings beside the lines they are of, and what is beyond that in the summary."""
    file = folder / "validation.txt"
    with _stdout_to(file):
        code = run(["validate", "--format", "github"], INVOCATION)
    text = file.read_text(encoding="utf-8")
    sys.stdout.write(text)
    rest = [line.strip().replace("`", "'") for line in text.split("\n") if line and not line.startswith("::")]
    if rest:
        _append(
            "GITHUB_STEP_SUMMARY", "".join(["### More in the configuration\n\n", *(f"- `{line}`\n" for line in rest)])
        )
    return code


def _plan(folder: Path, *, report: bool) -> int:
    """Plan, and tell what the plan has; the exit code."""
    file = folder / "plan.json"
    page = folder / "plan.html"
    saved = ["--out", str(file), *(["--page", str(page)] if report else [])]
    with _stdout_to(folder / "plan.md"):
        code = run(["plan", *_targets(), "--detailed-exitcode", "--format", "markdown", *saved], INVOCATION)
    if file.exists():
        _tell_plan(file)
    if page.exists():
        with (folder / "plan.md").open("a", encoding="utf-8") as text:
            text.write(f"\n{page_in_artifact(run_url())}\n")
    if report:
        _summarise(folder / "plan.md")
    return code


def _apply(folder: Path) -> int:
    """Apply what was approved, and tell what became of it."""
    planned = _plan(folder, report=False)
    if planned not in PLANNED:  # failed, or the run was cancelled
        _summarise(folder / "plan.md")
        return _told(planned)
    try:
        approval = _approval(json.loads((folder / "plan.json").read_text(encoding="utf-8")))
    except ReconcilerError:
        _summarise(folder / "plan.md")
        raise
    most = os.environ.get("INPUT_MAX_CREATES")
    guard = ["--max-creates", most] if most else []
    pinned = ["--pinned"] if is_true("pinned") else []
    with _stdout_to(folder / "apply.md"):
        code = run(["apply", *_targets(), *approval, *guard, *pinned, "--format", "markdown"], INVOCATION)
    _summarise(folder / "apply.md")
    return _told(code)


def _approval(plan: dict[str, Any]) -> list[str]:
    """How the plan was approved, as options. Raises SettingsError if it was not, Refused if the branch has moved on.

    A plan without changes needs no approval: what is applied then is that plan, and no other. So the second run of an
    apply that is done succeeds, whatever it was given.
    """
    digest, is_automatic = os.environ.get("INPUT_EXPECT_DIGEST"), is_true("auto-approve")
    checks_tip = is_true("check-tip")
    if not plan["changes"]:
        return ["--expect-digest", plan["digest"]]
    if bool(digest) == is_automatic:
        what = "given, with auto-approve: true" if digest else "empty, which approves nothing"
        remedy = "set the digest of the plan that was approved; or, to apply whatever the plan is, auto-approve: true"
        raise SettingsError(what, where="expect-digest", remedy=remedy)
    if checks_tip:
        workspace = Workspace(INVOCATION.terminal)
        refuse_moved(workspace.config, workspace.cache_directory)
    return ["--expect-digest", digest] if digest else ["--auto-approve"]


def _targets() -> list[str]:
    """What a plan and its apply are about, as options."""
    patterns = os.environ.get("INPUT_TARGET", "").split()
    allowed = ["--allow-empty"] if os.environ.get("INPUT_ALLOW_EMPTY") == "true" else []
    return [*(argument for pattern in patterns for argument in ("-t", pattern)), *allowed]


@contextmanager
def _stdout_to(path: Path) -> Iterator[None]:
    """Let stdout be a file for a while."""
    sys.stdout.flush()
    kept = os.dup(1)
    with path.open("wb") as file:
        os.dup2(file.fileno(), 1)
        try:
            yield
        finally:
            sys.stdout.flush()
            os.dup2(kept, 1)
            os.close(kept)


def _tell_plan(file: Path) -> None:
    document = json.loads(file.read_text(encoding="utf-8"))
    counts = {action: str(document["summary"][action]) for action in ACTIONS}
    told = {"changes": str(len(document["changes"])), "digest": document["digest"], "plan-file": str(file)}
    _tell({**told, **counts})


def _summarise(report: Path) -> None:
    """Put a report on the job's summary, and name it; where there is none, the log says why.

    One that cannot be read or saved is a warning: the step has the exit code of what was done.
    """
    try:
        text = report.read_text(encoding="utf-8", errors="replace")
        if not text:
            text = "reconciler ended before there was a report; the log says why.\n"
            report.write_text(text, encoding="utf-8")
    except OSError as problem:
        _warn(f"the report cannot be saved: {problem.strerror}")
        return
    _append("GITHUB_STEP_SUMMARY", cut(text, SUMMARY_LIMIT - _summary_size(), "see the artifact of this run"))
    _tell({"report-file": str(report)})


def _summary_size() -> int:
    """The bytes that the summary has by now: one that is too large is not shown at all."""
    try:
        return Path(os.environ["GITHUB_STEP_SUMMARY"]).stat().st_size
    except (KeyError, OSError):
        return 0


def _tell(outputs: dict[str, str]) -> None:
    """Tell outputs. None of them has a line break: they are numbers, a digest, and paths that were made here."""
    _append("GITHUB_OUTPUT", "".join(f"{name}={value}\n" for name, value in outputs.items()))


def _append(variable: str, text: str) -> None:
    path = os.environ.get(variable)
    if path:
        try:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as problem:  # the step has the exit code of what was done
            _warn(f"{variable} cannot be written: {problem.strerror}")


def _warn(text: str) -> None:
    with suppress(OSError):
        sys.stderr.write(f"Warning: {text}\n")


if __name__ == "__main__":
    leave(main(), INVOCATION)
