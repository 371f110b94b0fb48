"""What the table in SECURITY.md says of the workflows, as far as their text can hold it."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import yaml
from support.forge import ACTION, ROOT, WORKFLOW, WORKFLOWS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RECONCILE, REPORT, STAGE = (WORKFLOW.with_name(f"{name}.yml") for name in ("reconcile", "report", "stage"))


def jobs(*paths: Path) -> Iterator[tuple[str, Any]]:
    """The jobs of workflows, by name."""
    for path in paths:
        yield from ((f"{path.name}/{name}", job) for name, job in yaml.safe_load(path.read_text())["jobs"].items())


def test_never_with_the_rights_of_the_target() -> None:
    """No workflow is started by `pull_request_target` or `workflow_run`, which run others' code with secrets."""
    assert [] == [path.name for path in WORKFLOWS if re.search("pull_request_target|workflow_run", path.read_text())]


def test_secrets_are_those_of_an_environment() -> None:
    """A job without an environment is given no secret but the one that reads a store; nor is the report."""
    for name, job in jobs(RECONCILE, REPORT, STAGE):
        if "environment" not in job and "uses" not in job:
            assert {"STORE_CREDENTIALS"} >= {*re.findall(r"secrets(?:\.(\w+)|\[)", str(job))}, name
    caller = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    assert ["reconcile"] == [name for name, job in caller.items() if "secrets" in job]


def test_no_token_writes_the_repository() -> None:
    """The record is written with a key that only an environment has."""
    for name, job in jobs(*WORKFLOWS):
        assert "write" not in {**job.get("permissions", {})}.get("contents", ""), name
    environments = [job for _, job in jobs(RECONCILE, STAGE) if "environment" in job]
    assert 2 == len(environments)
    for job in environments:
        (checkout,) = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
        assert "secrets.RECORD_KEY" in checkout["with"]["ssh-key"]
        assert job["steps"][0]["name"] == "Stop unless the environment has the key to the record"


def test_nothing_is_restored_beside_secrets() -> None:
    """The action restores no cache in a job of an environment: it is given credentials there, or told not to."""
    for name, job in jobs(RECONCILE, STAGE):
        if "environment" in job:
            (action,) = [step for step in job["steps"] if step.get("uses", "").endswith("/actions/reconcile")]
            assert action["with"].get("cache") == "never" or "client-secret" in action["with"], name
            assert action["with"].get("cache", "auto") in {"never", "auto"}


def test_nothing_is_restored_where_approvals_come_from() -> None:
    """Whoever can write a cache must not change what a reviewer is shown, or which jobs follow."""
    for name, job in jobs(RECONCILE, STAGE):
        actions = [step for step in job.get("steps", []) if step.get("uses", "").endswith("/actions/reconcile")]
        for action in actions if "environment" not in job else []:
            assert "never" == action["with"].get("cache"), name


def test_whoever_reads_the_record_is_given_what_that_needs() -> None:
    """The credentials of its store, and the heads that the job knows: without those, no rollback would be noticed."""
    for name, job in jobs(RECONCILE, REPORT, STAGE):
        for step in job.get("steps", []):
            if "RECONCILER_STATE" in step.get("env", {}):
                assert {"INPUT_STORE_CREDENTIALS", "RECONCILER_CACHE_DIR"} <= step["env"].keys(), (name, step["name"])
                assert '"$SCRIPTS/' in step["run"], (name, step["name"])


def test_no_group_waits_for_an_approval() -> None:
    """GitHub holds a group while its job waits for a reviewer, so that a run nobody approves would block the rest."""
    for name, job in jobs(RECONCILE, STAGE):
        assert "concurrency" not in job, name


def test_an_older_check_is_cancelled() -> None:
    """A newer commit of a pull request ends the check of the one before; others have a group of their own."""
    check = yaml.safe_load(REPORT.read_text())["jobs"]["check"]["concurrency"]
    assert "github.event.pull_request.number || github.run_id" in check["group"]
    assert check["cancel-in-progress"] is True


def test_every_stage_is_the_next_one() -> None:
    """There are as many stages as the program allows; each follows the one before, and only if that succeeded."""
    from reconciler.operations.new_project.workflow import MOST_STAGES  # noqa: PLC0415

    stages = {name: job for name, job in jobs(RECONCILE) if re.search(r"/stage-\d$", name)}
    assert [f"reconcile.yml/stage-{number}" for number in range(1, MOST_STAGES + 1)] == [*stages]
    assert f"MOST = {MOST_STAGES}" in (ROOT / ".github/actions/reconcile/stages.py").read_text()
    for number, (before, after) in enumerate(pairwise(stages.values()), 1):
        assert f"needs.stage-{number}.result == 'success'" in after["if"]
        assert f"[{number}]" in after["with"]["stage"]
        assert f"[{number - 1}]" in after["with"]["after"]
        assert before["with"].keys() <= after["with"].keys()


def test_what_was_typed_reaches_no_shell() -> None:
    """The scripts read the form from the event; no workflow but the caller, for the run's name, mentions its fields."""
    for path in WORKFLOWS:
        fields = re.findall(r"(?:github\.event\.)?inputs\.(operation|address|value|note|force)\b", path.read_text())
        assert (set(fields) <= {"operation", "address", "value", "note"}) if path == WORKFLOW else not fields, path
    assert "run:" not in WORKFLOW.read_text()


def test_an_apply_is_of_what_was_approved() -> None:
    """The stage applies by digest, to addresses that were approved, and only while the branch has not moved on."""
    (action,) = [
        step["with"]
        for name, job in jobs(STAGE)
        for step in job["steps"]
        if name == "stage.yml/apply" and step.get("uses", "").endswith("/actions/reconcile")
    ]
    assert (True, "${{ matrix.digest }}") == (action["pinned"], action["expect-digest"])
    assert {"auto-approve", "check-tip"}.isdisjoint(action)
    inputs = yaml.safe_load(ACTION.read_text())["inputs"]
    assert ("false", "true") == tuple(inputs[name]["default"] for name in ("auto-approve", "check-tip"))
