"""Which stages and targets a run of the workflow is about. Called as `stages.py request|targets|parity|gate`."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import job
import operations

from reconciler.errors import ReconcilerError
from reconciler.model.address import Address, matches
from reconciler.model.selection import Selection
from reconciler.model.url import is_placeholder
from reconciler.operations.workspace import Workspace
from reconciler.planning.digest import plan_digest
from reconciler.reports.comments import not_comparable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reconciler.model.address import TargetName
    from reconciler.model.desired import Target

MOST = 4
"""Stages that reconcile.yml has: a workflow has no loops."""
DIFFERENT = 2
"""The exit code of `parity` where two targets differ."""


def request() -> int:
    """Tell what the run is to do: the stages, one apply, one operation on the record, or nothing."""
    stages = named_stages(os.environ["STAGES"])
    given = job.inputs()
    if given.get("operation"):
        _tell_operation(stages, given)
    elif _is_example(stages):
        job.summarise(
            "`config/` has the addresses of the example, which end in `.example`: there is no service to plan for.\n"
        )
        job.hand_on(kind="nothing")
    else:
        job.hand_on(kind="stages", stages=json.dumps(stages))
    return 0


def named_stages(text: str) -> list[str]:
    """The names of the stages, in order. Raises Refusal."""
    stages = text.split()
    if not stages or len(stages) > MOST or len({*stages}) < len(stages):
        raise job.Refusal(f"stages: expected 1 to {MOST} different names, got: {text}")
    return stages


def _tell_operation(stages: Sequence[str], given: dict[str, str]) -> None:
    """Tell which stage approves the operation. Needs no valid config/: a broken one must not block a repair."""
    asked = operations.parse(given, stages)
    number = stages.index(asked.stage)
    job.hand_on(
        kind="apply" if asked.applies else "mend",
        stage=asked.stage,
        after=stages[number - 1] if asked.applies and number else "",
        patterns=" ".join(asked.patterns),
        allow_empty=str("--allow-empty" in asked.arguments).lower(),
    )


def _is_example(stages: Sequence[str]) -> bool:
    """Whether config/ is still the example. Raises Refusal for a target without a stage, and a stage without one."""
    targets = Workspace(job.INVOCATION.terminal).desired.targets
    environments = {name.environment for name in targets}
    if environments != {*stages}:
        missing, other = sorted({*stages} - environments), sorted(environments - {*stages})
        raise job.Refusal(
            f"the stages of the workflow are {', '.join(stages)};"
            + (f" config/ declares no target of {', '.join(missing)}" if missing else "")
            + (" and" if missing and other else "")
            + (f" config/ declares targets of {', '.join(other)}, which no stage applies" if other else "")
        )
    return all(_is_placeholder(target) for target in targets.values())


def _is_placeholder(target: Target) -> bool:
    return is_placeholder(target.base_url) and is_placeholder(target.auth_url)


def targets() -> int:
    """Tell the targets of a plan that has changes, one for each job, with the digest that the job may apply."""
    plan = json.loads(Path(os.environ["PLAN"]).read_text(encoding="utf-8"))
    job.hand_on(targets=json.dumps([*_changed(plan["changes"], plan["targets"], os.environ["PATTERNS"].split())]))
    return 0


def _changed(
    changes: Iterable[dict[str, str]], planned: dict[str, dict[str, str]], patterns: Sequence[str]
) -> Iterable[dict[str, str]]:
    for name in sorted({Address(change["address"]).target for change in changes}):
        yield {
            "target": name,
            "patterns": "\n".join(_concerning(name, patterns)),
            "variables": name.variable_prefix,
            "digest": plan_digest({name: planned[name]["digest"]}),
        }


def _concerning(target: TargetName, patterns: Sequence[str]) -> list[str]:
    """The patterns that select something of a target, each written for this target alone."""
    parts = [pattern.split("/") for pattern in patterns if matches("/".join(pattern.split("/")[:2]), target)]
    return sorted({"/".join((target, *rest)) for _, _, *rest in parts}) or [target]


def parity() -> int:
    """Compare each stage with the next, in the job's summary. A difference is none of the check's business."""
    pairs = pairwise(named_stages(os.environ["STAGES"]))
    codes = [_compare(f"*/{before}", f"*/{after}") for before, after in pairs]
    return max([code for code in codes if code != DIFFERENT], default=0)


def gate() -> int:
    """Go on only if all that a stage desires is in force in the one before, and for so long proven to deliver.

    A target that the plan left out is not waited for in the stage before: nothing can be sent for it.
    """
    soak = os.environ.get("SOAK", "")
    proven = ["--proven", "--soak", soak] if soak else ["--gate"]
    after, stage = os.environ["AFTER"], os.environ["STAGE"]
    without = left_out(Path(os.environ["PLAN"]))
    if not without:
        return _compare(f"*/{after}", f"*/{stage}", *proven)
    declared = Workspace(job.INVOCATION.terminal).read_desired().targets
    regions = [name.region for name in declared if name.environment == stage and name not in without]
    return max(_compare(f"{region}/{after}", f"{region}/{stage}", *proven) for region in regions)


def left_out(file: Path) -> list[TargetName]:
    """The targets that the saved plan is about and does not have: those without a record, where that is allowed."""
    plan = json.loads(file.read_text(encoding="utf-8"))
    selection = Selection.of(tuple(plan["selection"]))
    declared = Workspace(job.INVOCATION.terminal).read_desired().targets
    return [name for name in declared if selection.touches(name) and name not in plan["targets"]]


def _compare(before: str, after: str, *options: str) -> int:
    code, text = job.reconciler("parity", before, after, *options, "--format", "markdown")
    job.summarise(text or _why_not(before, after))
    return code


def _why_not(before: str, after: str) -> str:
    """Why two stages could not be compared, where records of the first are missing; else the log has it."""
    with suppress(ReconcilerError):
        workspace = Workspace(job.INVOCATION.terminal)
        recorded = {*workspace.store.targets(), *workspace.targets_seen()}
        missing = [name for name in workspace.read_desired().targets if matches(before, name) and name not in recorded]
        if missing:
            return not_comparable(before.rpartition("/")[2], after.rpartition("/")[2], missing)
    return ""


COMMANDS = {"request": request, "targets": targets, "parity": parity, "gate": gate}


if __name__ == "__main__":
    job.main(COMMANDS)
