"""The workflow to copy, its jobs run for real against the sandbox and a bare repository as origin."""

from __future__ import annotations

import json
from shutil import copytree
from typing import TYPE_CHECKING

import pytest
from support.forge import ROOT
from support.hub import REPOSITORY, TOKEN, commit_id
from support.sandbox_forge import REGIONS, committed, declare, declared_repository, one_client_sandbox, push

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
    """The service, with one client for every target."""
    with one_client_sandbox() as served:
        yield served


@pytest.fixture
def forge(tmp_path: Path, sandbox: Sandbox) -> Forge:
    """A repository that declares two subscriptions on four targets of the sandbox, with a state record."""
    return declared_repository(tmp_path / "forge", sandbox)


def test_pull_request_from_a_fork(forge: Forge, sandbox: Sandbox, hub: Hub) -> None:
    """A fork's pull request is planned without any secret; its report goes to the summary, not into a comment."""
    forge.secrets = {"GITHUB_TOKEN": TOKEN}
    done = forge.run("pull_request", FROM_FORK, extra={**hub.environment, "GITHUB_REF": "refs/pull/1/merge"})
    assert (0, []) == (done.code, hub.written), done.log
    assert [] == sandbox.world.commits
    plans = [json.loads(path.read_text()) for path in (forge.path / "artifacts").rglob("plan.json")]
    assert [8] == [plan["summary"]["create"] for plan in plans]
    assert "### Plan: 8 create calls (8 new)" in done.summary
    assert [f"{region}/staging and {region}/production match" in done.summary for region in REGIONS] == [True, True]


def test_pull_request_from_here(forge: Forge, hub: Hub) -> None:
    """A pull request of the repository itself gets one comment, with the plan."""
    forge.secrets["GITHUB_TOKEN"] = TOKEN
    head = {"ref": "x", "sha": commit_id(3), "repo": {"full_name": REPOSITORY}}
    payload = {"number": 5, "pull_request": {"number": 5, "head": head}}
    done = forge.run("pull_request", payload, extra={**hub.environment, "GITHUB_REF": "refs/pull/5/merge"})
    assert 0 == done.code, done.log
    (comment,) = hub.comments
    assert "Plan: 8 create calls (8 new)" in comment["body"]


def test_from_staging_to_production(forge: Forge, sandbox: Sandbox) -> None:
    """A merge applies staging, then production; a second run changes nothing, and a new code goes the same way."""
    wanted = [(f"{region}/%s", codes) for region in REGIONS for codes in (("ONB10001",), ("ONB10011",))]
    code, log = push(forge, "staging")
    assert 0 == code, log
    assert [(name % "staging", codes) for name, codes in wanted] == committed(sandbox, "staging")
    assert [] == committed(sandbox, "production")
    code, log = push(forge, "staging", "production")
    assert 0 == code, log
    assert [(name % "production", codes) for name, codes in wanted] == committed(sandbox, "production")
    assert (0, 8) == (push(forge, "staging", "production")[0], len(sandbox.world.commits))
    assert "the-client-secret" not in log
    declare(forge, sandbox, ["ONB10001", "ONB10002"])
    forge.push("Subscribe to another code")
    code, log = push(forge, "staging")
    assert (0, 10) == (code, len(sandbox.world.commits)), log
    assert ("ONB10002",) == sandbox.world.commits[-1].codes


def test_three_regions_in_a_fresh_repository(tmp_path: Path) -> None:
    """A copy of the caller, and a config/ with one region more: from plan to production with no other edit."""
    regions = ("asia-south", *REGIONS)
    with one_client_sandbox(regions) as sandbox:
        forge = declared_repository(tmp_path / "forge", sandbox)
        code, log = push(forge, "staging", "production")
        assert 0 == code, log
        targets = {f"{region}/{environment}" for region in regions for environment in ("staging", "production")}
        assert targets == {one.target for one in sandbox.world.commits}
        assert 12 == len(sandbox.world.commits)


def test_a_region_is_added(tmp_path: Path, hub: Hub) -> None:
    """Until its record is initialized it is left out, with a warning: of the pull request's plan, and of each stage."""
    with one_client_sandbox(("asia-south", *REGIONS)) as sandbox:
        forge = declared_repository(tmp_path / "forge", sandbox, initialized=REGIONS)
        forge.secrets["GITHUB_TOKEN"] = TOKEN
        head = {"ref": "x", "sha": commit_id(3), "repo": {"full_name": REPOSITORY}}
        payload = {"number": 5, "pull_request": {"number": 5, "head": head}}
        done = forge.run("pull_request", payload, extra={**hub.environment, "GITHUB_REF": "refs/pull/5/merge"})
        assert 0 == done.code, done.log
        (comment,) = hub.comments
        for shown in (comment["body"], done.summary):
            assert "Plan: 8 create calls (8 new)" in shown
            assert 2 == shown.count("is not initialized, and left out here")
        code, log = push(forge, "staging", "production")
        assert 0 == code, log
        assert "::warning::asia-south/staging is not initialized: Run workflow" in log
        assert {*REGIONS} == {one.target.partition("/")[0] for one in sandbox.world.commits}
        assert 8 == len(sandbox.world.commits)
        asked = {"operation": "state init", "value": "", "note": "", "force": "false"}
        for stage in ("staging", "production"):
            inputs = {**asked, "address": f"asia-south/{stage}"}
            assert 0 == forge.run("workflow_dispatch", {"inputs": inputs}).code
        code, log = push(forge, "staging", "production")
        assert (0, 12) == (code, len(sandbox.world.commits)), log


def test_a_rolled_back_record_is_noticed_by_a_fresh_runner(forge: Forge, sandbox: Sandbox, hub: Hub) -> None:
    """The commit statuses that an apply has set outlast the runner and its cache."""
    forge.secrets["GITHUB_TOKEN"] = TOKEN
    before = forge.git(forge.origin, "rev-parse", "reconciler-state").strip()
    assert 0 == push(forge, "staging", **hub.environment)[0]
    told = {status["context"] for status in hub.statuses[commit_id(3)]}
    assert {f"reconciler/{region}/staging" for region in REGIONS} == told
    forge.git(forge.origin, "update-ref", "refs/heads/reconciler-state", before)
    code, log = push(forge.another_runner("fresh"), "staging", **hub.environment)
    assert 0 != code
    assert "was rolled back" in log
    assert 4 == len(sandbox.world.commits)


def test_merge_queue(forge: Forge, sandbox: Sandbox, hub: Hub) -> None:
    """What is about to be merged is checked, without a comment and without a secret."""
    forge.secrets = {"GITHUB_TOKEN": TOKEN}
    queued = {"merge_group": {"head_ref": "refs/heads/gh-readonly-queue/main/pr-1"}}
    done = forge.run("merge_group", queued, extra=hub.environment)
    assert (0, []) == (done.code, hub.written), done.log
    assert "### Plan: 8 create calls (8 new)" in done.summary
    assert [] == sandbox.world.commits


@pytest.mark.parametrize("event", ["pull_request", "schedule", "push"])
def test_the_example_is_green(forge: Forge, sandbox: Sandbox, event: str) -> None:
    """With the addresses of the example and without a record, as in the repository of the workflows, no job fails."""
    forge.project.write("config/all.yaml", "targets: {}\n")
    forge.git(forge.work, "rm", "-q", "-r", "--cached", "config")
    (forge.work / "config/all.yaml").unlink()
    forge.git(forge.work, "push", "-q", "origin", ":reconciler-state")
    copytree(ROOT / "config", forge.work / "config", dirs_exist_ok=True)
    forge.push("Begin again")
    done = forge.run(event, FROM_HERE if event == "pull_request" else {})
    assert 0 == done.code, done.log
    assert "there is no service to plan for" in done.summary
    assert 0 == sandbox.world.requests.total()


def test_tags_and_branches_of_the_same_names(forge: Forge, sandbox: Sandbox) -> None:
    """What anybody may push under a similar name is neither the record nor the tip of the branch."""
    elsewhere = forge.path / "elsewhere"
    forge.git(forge.path, "clone", "-q", "-b", "reconciler-state", str(forge.origin), str(elsewhere))
    forge.git(elsewhere, "rm", "-q", "-r", ".")
    forge.git(elsewhere, "commit", "-q", "-m", "Of another")
    names = ["tags/main", "tags/reconciler-state", "heads/heads/reconciler-state", "heads/origin/reconciler-state"]
    forge.git(elsewhere, "push", "-q", "origin", *(f"HEAD:refs/{name}" for name in names))
    code, log = push(forge, "staging")
    assert (0, 4) == (code, len(sandbox.world.commits)), log
    assert "offers" in forge.git(forge.origin, "log", "--format=%s", "refs/heads/reconciler-state")


def test_without_the_key_to_the_record(forge: Forge, sandbox: Sandbox) -> None:
    """An environment that was not given the key stops before anything is sent; no token takes its place silently."""
    del forge.secrets["RECORD_KEY"]
    code, log = push(forge, "staging")
    assert 0 != code
    assert "the environment staging has no secret RECORD_KEY" in log
    assert 0 == sandbox.world.requests.total()


def test_production_waits_for_staging(forge: Forge, sandbox: Sandbox) -> None:
    """Where staging has an unknown outcome, production is not applied."""
    sandbox.world.fail_next("500", count=1, target="usa/staging")
    assert 0 != push(forge, "staging")[0]
    code, log = push(forge, "staging", "production")
    assert 0 != code, log
    assert [] == committed(sandbox, "production")


def test_runner_dies(forge: Forge, sandbox: Sandbox) -> None:
    """Runners that die after the intent leave it on the branch; the next find it, and nothing is created twice."""
    code, log = push(forge, "staging", RECONCILER_TEST_FAILPOINT="after-send:1:kill")
    assert 0 != code, log
    assert len(REGIONS) == len(sandbox.world.commits)
    code, log = push(forge, "staging")
    assert 0 != code, log
    addresses = [(one.target, one.codes) for one in sandbox.world.commits]
    assert len(set(addresses)) == len(addresses) == 4
    asked = {"operation": "state resolve --created", "address": "*/staging/applications", "force": "true"}
    done = forge.run("workflow_dispatch", {"inputs": {**asked, "note": "it arrives", "value": ""}})
    assert 0 == done.code, done.log
    assert (0, 4) == (push(forge, "staging")[0], len(sandbox.world.commits))


@pytest.mark.parametrize("related", [True, False], ids=["configuration", "something else"])
def test_commit_that_was_overtaken(forge: Forge, sandbox: Sandbox, related: bool) -> None:
    """An apply stops if the branch's tip has another configuration, and goes on if it has not."""
    forge.git(forge.work, "checkout", "-q", "--detach")
    forge.project.write("config/more.yaml" if related else "README.md", "{}\n")
    forge.git(forge.work, "add", "-A")
    forge.git(forge.work, "commit", "-q", "-m", "Newer")
    forge.git(forge.work, "push", "-q", "origin", "HEAD:main")
    forge.git(forge.work, "checkout", "-q", "main")
    code, log = push(forge, "staging")
    assert (related, related) == (code != 0, "the branch main has moved on to" in log), log
    assert (0 if related else 4) == len(sandbox.world.commits)


def test_addresses_that_are_not_pinned(forge: Forge, sandbox: Sandbox) -> None:
    """An environment that does not say where secrets go sends none."""
    del forge.variables["RECONCILER_USA_STAGING_BASE_URL"]
    code, log = push(forge, "staging", "production")
    assert 0 != code
    assert "--pinned: not set outside of the checkout: usa/staging:" in log
    assert {"europe/staging"} == {one.target for one in sandbox.world.commits}


def test_history_of_the_branch(forge: Forge, sandbox: Sandbox) -> None:
    """The branch reads as a history, and holds no secret."""
    assert 0 == push(forge, "staging")[0]
    assert "offers" in forge.on_branch()
    everything = forge.git(forge.origin, "log", "-p", "--all")
    secrets = [one.secret for one in sandbox.world.commits]
    assert [] == [one for one in ("the-client-secret", *secrets, *sandbox.world.tokens) if one in everything]
