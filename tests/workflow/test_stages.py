"""Which stages and targets a run is about: the script that the jobs of the workflow are made from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.scripts import run_script

from reconciler.planning.digest import plan_digest

if TYPE_CHECKING:
    from support.project import Project

URLS = "".join(f"    {name}: https://{{}}\n" for name in ("auth_url", "base_url", "audience_base"))


def targets(project: Project, *names: str, host: str = "api.service.test") -> None:
    """Declare targets."""
    lines = [
        f"  {name}:\n{URLS.format(*[host] * 3)}".replace("https://", f"https://{name.replace('/', '-')}.")
        for name in names
    ]
    subscription = (
        'subscriptions:\n  "*/*":\n    offers:\n      eventCodes: [ONB10011]\n      webhookUrl: https://hooks.test/o\n'
    )
    project.write("config/all.yaml", "targets:\n" + "".join(lines) + subscription)


def run(project: Project, command: str, event: object = None, **environment: str) -> tuple[int, dict[str, str], str]:
    """Run the script; its exit code, what it told, and what it said."""
    file, outputs = project.write("event.json", json.dumps(event or {})), project.write("outputs", "")
    given = {
        "GITHUB_EVENT_PATH": str(file),
        "GITHUB_OUTPUT": str(outputs),
        "STAGES": "staging production",
        **environment,
    }
    done = run_script("stages.py", command, path=project.path, environment={**project.variables(), **given})
    return done.code, dict(line.split("=", 1) for line in outputs.read_text().splitlines()), done.err


def test_every_stage(project: Project) -> None:
    """A push is about all stages, in the order of the workflow."""
    targets(project, "a/staging", "b/staging", "a/production")
    code, told, _ = run(project, "request")
    assert (0, "stages", ["staging", "production"]) == (code, told["kind"], json.loads(told["stages"]))


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (["a/staging", "a/production", "a/test"], "config/ declares targets of test, which no stage applies"),
        (["a/production"], "config/ declares no target of staging"),
    ],
)
def test_no_target_is_left_out(project: Project, declared: list[str], words: str) -> None:
    """A target that no stage applies is an error, and so is a stage that would be passed without a target."""
    targets(project, *declared)
    code, told, said = run(project, "request")
    assert (1, {}) == (code, told)
    assert words in said


@pytest.mark.parametrize("stages", ["", "a b c d e", "staging staging"])
def test_stages_that_cannot_be(project: Project, stages: str) -> None:
    """There are one to four, each once."""
    targets(project, "a/staging")
    code, _, said = run(project, "request", STAGES=stages)
    assert 1 == code
    assert "expected 1 to 4 different names" in said


def test_the_example_is_no_service(project: Project) -> None:
    """A repository that has the example's addresses has nothing to plan for, and no record to miss; others have."""
    targets(project, "a/staging", "a/production", host="lending.example")
    assert (0, {"kind": "nothing"}) == run(project, "request")[:2]
    targets(project, "a/staging", "a/production", host="lending.example.test")
    assert "stages" == run(project, "request")[1]["kind"]


def test_what_later_jobs_cannot_be_told(project: Project) -> None:
    """Without its outputs all that follows would be left out, as if there was nothing to do: an error says so."""
    targets(project, "a/staging", "a/production")
    code, _, said = run(project, "request", GITHUB_OUTPUT="/dev/full")
    assert 1 == code
    assert said == (
        "Warning: GITHUB_OUTPUT cannot be written: No space left on device\n"
        "Error: later jobs cannot be told what to do; start the workflow again\n"
    )


def test_a_summary_that_is_full(project: Project) -> None:
    """What cannot be shown is a warning: what follows does not depend on it."""
    targets(project, "a/staging", "a/production", host="lending.example")
    code, told, said = run(project, "request", GITHUB_STEP_SUMMARY="/dev/full")
    assert (0, {"kind": "nothing"}) == (code, told)
    assert said == "Warning: GITHUB_STEP_SUMMARY cannot be written: No space left on device\n"


def test_a_job_for_each_target_with_changes(project: Project) -> None:
    """It has the digest of its target in the plan that was shown, the patterns that concern it, and its variables."""
    plan = {
        "targets": {name: {"digest": f"sha256:{name}"} for name in ("a/staging", "b-c/staging", "d/staging")},
        "changes": [{"address": "b-c/staging/x"}, {"address": "b-c/staging/y"}, {"address": "a/staging/x"}],
    }
    file = project.write("plan.json", json.dumps(plan))
    code, told, _ = run(project, "targets", PLAN=str(file), PATTERNS="*/staging/x b-c/*/y")
    assert 0 == code
    assert json.loads(told["targets"]) == [
        {"target": "a/staging", "patterns": "a/staging/x", "variables": "RECONCILER_A_STAGING_",
         "digest": plan_digest({"a/staging": "sha256:a/staging"})},  # type: ignore[dict-item]
        {"target": "b-c/staging", "patterns": "b-c/staging/x\nb-c/staging/y", "variables": "RECONCILER_B_C_STAGING_",
         "digest": plan_digest({"b-c/staging": "sha256:b-c/staging"})},  # type: ignore[dict-item]
    ]  # fmt: skip


def test_nothing_to_do_is_no_job(project: Project) -> None:
    """Without changes there are no jobs, so nobody is asked."""
    file = project.write("plan.json", json.dumps({"targets": {}, "changes": []}))
    assert {"targets": "[]"} == run(project, "targets", PLAN=str(file), PATTERNS="")[1]


def test_a_stage_before_the_one_before_it(project: Project) -> None:
    """Production initialized before staging: the gate stays shut, and the summary tells what is to be done first."""
    targets(project, "europe/staging", "europe/production")
    project.step("state", "init", "-t", "europe/production")
    project.step("plan", "-t", "*/production", "--out", "plan.json")
    given = {"AFTER": "staging", "STAGE": "production", "PLAN": "plan.json"}
    summary = project.write("summary", "")
    code, _, err = run(project, "gate", **given, GITHUB_STEP_SUMMARY=str(summary))
    assert (1, True) == (code, "no state record for europe/staging" in err)
    assert "Initialize and apply <code>staging</code> first: *Run workflow*, operation `state init`, address" in (
        summary.read_text()
    )
    project.step("state", "init", "-t", "europe/staging")
    run(project, "gate", **given, GITHUB_STEP_SUMMARY=str(summary))
    assert 1 == summary.read_text().count("waits for")


def test_the_gate_waits_for_no_target_that_was_left_out(project: Project) -> None:
    """It is shut until the stage before has everything, except where nothing can be sent: there is no record yet."""
    targets(project, "a/staging", "b/staging", "a/production", "b/production")
    project.step("state", "init", "-t", "a/*")
    project.step("plan", "-t", "*/production", "--skip-uninitialized", "--out", "plan.json")
    given = {"PLAN": str(project.path / "plan.json"), "AFTER": "staging", "STAGE": "production"}
    assert 2 == run(project, "gate", **given)[0]
    project.step("state", "import", "--all", "-t", "a/staging")
    assert 0 == run(project, "gate", **given)[0]
    project.step("state", "init")
    project.step("plan", "-t", "*/production", "--out", "plan.json")
    assert 2 == run(project, "gate", **given)[0]
