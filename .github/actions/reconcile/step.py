"""The step of the action that runs reconciler: inputs from the environment, outputs and job summary to their files.

It runs the program in its own process, so that the signals of a cancelled run reach it.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import job
import stages
from given import is_true, take_inputs
from tip import refuse_moved

from reconciler.cli.main import leave
from reconciler.errors import ReconcilerError, SettingsError
from reconciler.model.selection import Selection
from reconciler.operations.github_settings import run_url
from reconciler.operations.workspace import Workspace
from reconciler.reports.comments import nothing_recorded, page_in_artifact, uninitialized
from reconciler.reports.cutting import SUMMARY_LIMIT, cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.model.address import TargetName

ACTIONS = ("create", "extend", "replace", "restore", "retire", "blocked")
PLANNED = (0, 2, 3)
"""Exit codes of a plan that was made, whatever is in it."""


def main() -> int:
    """Run the command that the inputs name, and tell its exit code; that of the step.

    A plan fails neither with changes nor with what waits.
    """
    code = job.ended(_command)
    job.tell(exit_code=str(code))
    return 0 if code in PLANNED and os.environ["INPUT_COMMAND"] == "plan" else code


def _command() -> int:
    take_inputs()
    folder = Path(tempfile.mkdtemp(prefix="reconciler-report-", dir=os.environ.get("RUNNER_TEMP")))
    job.tell(folder=str(folder), number=folder.name[-8:])
    match os.environ["INPUT_COMMAND"]:
        case "validate":
            return _validate(folder)
        case "plan":
            return _plan(folder, report=True)
        case "apply":
            return _apply(folder)
    raise SettingsError("expected one of validate, plan, apply", where="command")


def _validate(folder: Path) -> int:
    """Validate, with mistakes and warnings beside the lines they are of, and what is beyond that in the summary."""
    file = folder / "validation.txt"
    code = job.report(file, "validate", "--format", "github")
    text = file.read_text(encoding="utf-8")
    sys.stdout.write(text)
    rest = [line.strip().replace("`", "'") for line in text.split("\n") if line and not line.startswith("::")]
    if rest:
        job.summarise("".join(["### More in the configuration\n\n", *(f"- `{line}`\n" for line in rest)]))
    return code


def _plan(folder: Path, *, report: bool) -> int:
    """Plan, and tell what the plan has; the exit code."""
    file = folder / "plan.json"
    page = folder / "plan.html"
    saved = ["--out", str(file), *(["--page", str(page)] if report else [])]
    skips = ["--skip-uninitialized"] if report and is_true("skip-uninitialized") else []
    options = ["--detailed-exitcode", "--format", "markdown", *saved, *skips]
    code = job.report(folder / "plan.md", "plan", *_targets(), *options)
    if file.exists():
        _tell_plan(file)
    if page.exists():
        with (folder / "plan.md").open("a", encoding="utf-8") as text:
            text.write(f"\n{page_in_artifact(run_url())}\n")
    if skips and file.exists():
        _tell_left_out(stages.left_out(file), folder / "plan.md")
    elif skips and code not in PLANNED:
        _tell_without_record(folder / "plan.md")
    if report:
        _summarise(folder / "plan.md", code)
    return code


def _tell_left_out(targets: Sequence[TargetName], report: Path) -> None:
    """Warn of the targets that the plan left out, on the run and in its report."""
    if not targets:
        return
    with report.open("a", encoding="utf-8") as text:
        text.write(f"\n{uninitialized(targets)}")
    for name in targets:
        sys.stdout.write(f"::warning::{name} is not initialized: Run workflow, operation state init, address {name}\n")


def _tell_without_record(report: Path) -> None:
    """Tell what to do if no plan was made since no target has a record, nor had one that is known here."""
    with suppress(ReconcilerError, OSError):  # the log has it already
        workspace = Workspace(job.INVOCATION.terminal)
        selection = Selection.of(tuple(os.environ.get("INPUT_TARGET", "").split()))
        declared = [name for name in workspace.read_desired().targets if selection.touches(name)]
        if not (workspace.store.targets() or workspace.targets_seen()):
            report.write_text(nothing_recorded(workspace.store.location, declared), encoding="utf-8")


def _apply(folder: Path) -> int:
    """Apply what was approved, and tell what became of it."""
    planned = _plan(folder, report=False)
    if planned not in PLANNED:  # failed, or the run was cancelled
        _summarise(folder / "plan.md")
        return planned
    try:
        approval = _approval(json.loads((folder / "plan.json").read_text(encoding="utf-8")))
    except ReconcilerError:
        _summarise(folder / "plan.md")
        raise
    most = os.environ.get("INPUT_MAX_CREATES")
    guard = ["--max-creates", most] if most else []
    pinned = ["--pinned"] if is_true("pinned") else []
    options = [*approval, *guard, *pinned, "--format", "markdown"]
    code = job.report(folder / "apply.md", "apply", *_targets(), *options)
    _summarise(folder / "apply.md", code)
    return code


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
        workspace = Workspace(job.INVOCATION.terminal)
        refuse_moved(workspace.config, workspace.cache_directory)
    return ["--expect-digest", digest] if digest else ["--auto-approve"]


def _targets() -> list[str]:
    """What a plan and its apply are about, as options."""
    patterns = os.environ.get("INPUT_TARGET", "").split()
    allowed = ["--allow-empty"] if os.environ.get("INPUT_ALLOW_EMPTY") == "true" else []
    return [*(argument for pattern in patterns for argument in ("-t", pattern)), *allowed]


def _tell_plan(file: Path) -> None:
    document = json.loads(file.read_text(encoding="utf-8"))
    counts = {action: str(document["summary"][action]) for action in ACTIONS}
    job.tell(changes=str(len(document["changes"])), digest=document["digest"], plan_file=str(file), **counts)


def _summarise(report: Path, code: int = 1) -> None:
    """Put the report of a command that ended so on the job's summary, and name it; without one, the log says why.

    One that cannot be read or saved is a warning: the step has the exit code of what was done.
    """
    try:
        text = report.read_text(encoding="utf-8", errors="replace")
        if not text:
            text = "reconciler ended before there was a report; the log says why.\n"
            report.write_text(text, encoding="utf-8")
        if code == job.UNRESOLVED:
            text += job.RESOLVE_BY_FORM
            report.write_text(text, encoding="utf-8")
    except OSError as problem:
        job.warn(f"the report cannot be saved: {problem.strerror}")
        return
    job.summarise(cut(text, SUMMARY_LIMIT - _summary_size(), "see the artifact of this run"))
    job.tell(report_file=str(report))


def _summary_size() -> int:
    """The bytes that the summary has by now: one that is too large is not shown at all."""
    try:
        return Path(os.environ["GITHUB_STEP_SUMMARY"]).stat().st_size
    except (KeyError, OSError):
        return 0


if __name__ == "__main__":
    leave(main(), job.INVOCATION)
