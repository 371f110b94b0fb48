"""The workflow to copy, its jobs run for real against the sandbox and a bare repository as origin."""

from __future__ import annotations

import json
from shutil import copytree
from typing import TYPE_CHECKING

import pytest
from support.forge import ROOT, WORKFLOW, from_elsewhere
from support.hub import REPOSITORY, TOKEN, commit_id
from support.sandbox_forge import REGIONS, committed, declared_repository, one_client_sandbox, push

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.forge import Forge
    from support.hub import Hub

    from reconciler.sandbox import Sandbox

pytestmark = pytest.mark.timeout(600)  # several runs of several jobs, each bounded by itself

FROM_FORK = {"pull_request": {"number": 1, "head": {"ref": "x", "repo": {"full_name": "fork/hooks"}}}}
FROM_HERE = {"pull_request": {"number": 1, "head": {"ref": "x", "repo": {"full_name": "partner/hooks"}}}}


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """The service, with one target."""
    with one_client_sandbox(["europe"], ["staging"]) as served:
        yield served


@pytest.fixture
def forge(tmp_path: Path, sandbox: Sandbox) -> Forge:
    """A repository that declares two subscriptions on the target of the sandbox, with a state record, and one stage."""
    return declared_repository(tmp_path / "forge", sandbox)


def test_pull_request_from_a_fork(tmp_path: Path, hub: Hub) -> None:
    """A fork's pull request is planned without any secret; its report goes to the summary, not into a comment."""
    with one_client_sandbox() as sandbox:
        forge = declared_repository(tmp_path / "forge", sandbox)
        forge.secrets = {"GITHUB_TOKEN": TOKEN}
        done = forge.run("pull_request", FROM_FORK, extra={**hub.environment, "GITHUB_REF": "refs/pull/1/merge"})
        assert (0, []) == (done.code, hub.written), done.log
        assert [] == sandbox.world.commits
    plans = [json.loads(path.read_text()) for path in (forge.path / "artifacts").rglob("plan.json")]
    assert [8] == [plan["summary"]["create"] for plan in plans]
    assert "### Plan: 8 create calls (8 new)" in done.summary
    assert [f"{region}/staging and {region}/production match" in done.summary for region in REGIONS] == [True, True]


def test_from_a_pull_request_to_production(tmp_path: Path, hub: Hub) -> None:
    """A copy of the caller, and a config/ with one region more: from plan to production with no other edit.

    A pull request of the repository itself gets one comment, with the plan. Until the record of the new region is
    initialized it is left out, with a warning: of the pull request's plan, and of each stage. A merge applies staging,
    and then production: only where all of staging was applied, and only what was not applied before.
    """
    with one_client_sandbox(("asia-south", *REGIONS)) as sandbox:
        forge = declared_repository(tmp_path / "forge", sandbox, initialized=REGIONS)
        _review(forge, hub)
        _stop_at_an_address_that_is_not_pinned(forge, sandbox)
        _begin_the_record_of_a_region(forge)
        _go_on_to_production(forge, sandbox)


def _review(forge: Forge, hub: Hub) -> None:
    forge.secrets["GITHUB_TOKEN"] = TOKEN
    head = {"ref": "x", "sha": commit_id(3), "repo": {"full_name": REPOSITORY}}
    payload = {"number": 5, "pull_request": {"number": 5, "head": head}}
    done = forge.run("pull_request", payload, extra={**hub.environment, "GITHUB_REF": "refs/pull/5/merge"})
    assert 0 == done.code, done.log
    (comment,) = hub.comments
    for shown in (comment["body"], done.summary):
        assert "Plan: 8 create calls (8 new)" in shown
        assert 2 == shown.count("is not initialized, and left out here")
    del forge.secrets["GITHUB_TOKEN"]  # what follows has no witness, which takes time


def _stop_at_an_address_that_is_not_pinned(forge: Forge, sandbox: Sandbox) -> None:
    """An environment that does not say where secrets go sends none; that stops no other target, but the next stage."""
    address = forge.variables.pop("RECONCILER_USA_STAGING_BASE_URL")
    code, log = push(forge, "staging", "production")
    assert 0 != code
    assert "--pinned: not set outside of the checkout: usa/staging:" in log
    assert "::warning::asia-south/staging is not initialized: Run workflow" in log
    assert {"europe/staging"} == {one.target for one in sandbox.world.commits}
    assert 2 == len(sandbox.world.commits)
    forge.variables["RECONCILER_USA_STAGING_BASE_URL"] = address


def _begin_the_record_of_a_region(forge: Forge) -> None:
    asked = {"operation": "state init", "address": "asia-south/staging", "value": "", "note": "", "force": "false"}
    done = forge.run("workflow_dispatch", {"inputs": asked})
    assert 0 == done.code, done.log
    forge.project.step("state", "init", "--state", "git:reconciler-state", "-t", "asia-south/production")


def _go_on_to_production(forge: Forge, sandbox: Sandbox) -> None:
    """What staging lacks, of the new region and of a new code too; then production."""
    more = "    applications:\n      eventCodes: [ONB10001, ONB10002]\n"
    forge.project.write("config/more.yaml", f"subscriptions:\n  europe/staging:\n{more}")
    forge.push("Subscribe to another code")
    code, log = push(forge, "staging", "production")
    assert 0 == code, log
    stages = [one.target.partition("/")[2] for one in sandbox.world.commits]
    assert ["staging"] * 7 + ["production"] * 6 == stages
    regions, codes = ("asia-south", *REGIONS), (("ONB10001",), ("ONB10011",))
    added = ("europe/staging", ("ONB10002",))
    assert sorted([*((f"{one}/staging", code) for one in regions for code in codes), added]) == committed(
        sandbox, "staging"
    )
    assert [(f"{one}/production", code) for one in regions for code in codes] == committed(sandbox, "production")
    assert "the-client-secret" not in log


def test_merge_queue(forge: Forge, sandbox: Sandbox, hub: Hub) -> None:
    """What is about to be merged is checked, without a comment and without a secret."""
    forge.secrets = {"GITHUB_TOKEN": TOKEN}
    queued = {"merge_group": {"head_ref": "refs/heads/gh-readonly-queue/main/pr-1"}}
    done = forge.run("merge_group", queued, extra=hub.environment)
    assert (0, []) == (done.code, hub.written), done.log
    assert "### Plan: 2 create calls (2 new)" in done.summary
    assert [] == sandbox.world.commits


def test_the_example_is_green(forge: Forge, sandbox: Sandbox) -> None:
    """With the addresses of the example and without a record, as in the repository of the workflows, no job fails."""
    forge.project.write("config/all.yaml", "targets: {}\n")
    forge.project.write(forge.workflow, from_elsewhere(WORKFLOW.read_text()))
    forge.git(forge.work, "rm", "-q", "-r", "--cached", "config")
    (forge.work / "config/all.yaml").unlink()
    forge.git(forge.work, "push", "-q", "origin", ":reconciler-state")
    copytree(ROOT / "config", forge.work / "config", dirs_exist_ok=True)
    forge.push("Begin again")
    for event, payload in (("pull_request", FROM_HERE), ("schedule", {}), ("push", {})):
        done = forge.run(event, payload)
        assert 0 == done.code, done.log
        assert "there is no service to plan for" in done.summary
    assert 0 == sandbox.world.requests.total()


def test_without_the_key_to_the_record(forge: Forge, sandbox: Sandbox) -> None:
    """An environment that was not given the key stops before anything is sent; no token takes its place silently."""
    del forge.secrets["RECORD_KEY"]
    code, log = push(forge, "staging")
    assert 0 != code
    assert "the environment staging has no secret RECORD_KEY" in log
    assert 0 == sandbox.world.requests.total()


def test_runner_dies(tmp_path: Path) -> None:
    """A runner that dies after the intent leaves it on the branch; the next finds it, and nothing is created twice.

    Where staging has an unknown outcome, production is not applied.
    """
    with one_client_sandbox(["europe"]) as sandbox:
        forge = declared_repository(tmp_path / "forge", sandbox)
        code, log = push(forge, "staging", RECONCILER_TEST_FAILPOINT="after-send:1:kill")
        assert 0 != code, log
        assert 1 == len(sandbox.world.commits)
        code, log = push(forge, "staging", "production")
        assert 0 != code, log
        assert [("europe/staging", ("ONB10001",)), ("europe/staging", ("ONB10011",))] == committed(sandbox, "staging")
        assert [] == committed(sandbox, "production")
        asked = {"operation": "state resolve --created", "address": "*/staging/applications", "force": "true"}
        done = forge.run("workflow_dispatch", {"inputs": {**asked, "note": "it arrives", "value": ""}})
        assert 0 == done.code, done.log
        record = ("--state", "git:reconciler-state", "-t", "*/staging")
        forge.project.step("plan", "--detailed-exitcode", *record)  # nothing is left to do


@pytest.mark.soak
def test_commit_that_was_overtaken(forge: Forge, sandbox: Sandbox) -> None:
    """An apply stops if the branch's tip has another configuration."""
    _overtake(forge, "config/more.yaml")
    code, log = push(forge, "staging")
    assert (True, 0) == (code != 0, len(sandbox.world.commits)), log
    assert "the branch main has moved on to" in log


def _overtake(forge: Forge, file: str) -> None:
    """Have the branch move on to a commit with this file, while the run is of the one before."""
    forge.git(forge.work, "checkout", "-q", "--detach")
    forge.project.write(file, "{}\n")
    forge.git(forge.work, "add", "-A")
    forge.git(forge.work, "commit", "-q", "-m", "Newer")
    forge.git(forge.work, "push", "-q", "origin", "HEAD:main")
    forge.git(forge.work, "checkout", "-q", "main")


def _push_similar_names(forge: Forge) -> None:
    """Push what anybody may: tags and branches that are named like the branch of the record and the default branch."""
    elsewhere = forge.path / "elsewhere"
    forge.git(forge.path, "clone", "-q", "-b", "reconciler-state", str(forge.origin), str(elsewhere))
    forge.git(elsewhere, "rm", "-q", "-r", ".")
    forge.git(elsewhere, "commit", "-q", "-m", "Of another")
    names = ["tags/main", "tags/reconciler-state", "heads/heads/reconciler-state", "heads/origin/reconciler-state"]
    forge.git(elsewhere, "push", "-q", "origin", *(f"HEAD:refs/{name}" for name in names))


def test_what_a_push_leaves_on_the_branch(forge: Forge, sandbox: Sandbox, hub: Hub) -> None:
    """A history without a secret; that it was rolled back is noticed by a fresh runner.

    The commit statuses that an apply has set outlast the runner and its cache. What anybody may push under a similar
    name is neither the record nor the tip of the branch, and an apply goes on if that tip has the same configuration.
    """
    _overtake(forge, "README.md")
    _push_similar_names(forge)
    forge.secrets["GITHUB_TOKEN"] = TOKEN
    record = "refs/heads/reconciler-state"
    before = forge.git(forge.origin, "rev-parse", record).strip()
    code, log = push(forge, "staging", **hub.environment)
    assert (0, 2) == (code, len(sandbox.world.commits)), log
    assert "offers" in forge.git(forge.origin, "log", "--format=%s", record)
    everything = forge.git(forge.origin, "log", "-p", "--all")
    secrets = [one.secret for one in sandbox.world.commits]
    assert [] == [one for one in ("the-client-secret", *secrets, *sandbox.world.tokens) if one in everything]
    assert {"reconciler/europe/staging"} == {status["context"] for status in hub.statuses[commit_id(3)]}
    forge.git(forge.origin, "update-ref", record, before)
    code, log = push(forge.another_runner("fresh"), "staging", **hub.environment)
    assert 0 != code
    assert "was rolled back" in log
    assert 2 == len(sandbox.world.commits)
