"""The workflows, their jobs run for real against the sandbox, with a bare repository as origin."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
from support.forge import TAKEN, Forge, Job

from reconciler.sandbox import Sandbox

pytestmark = pytest.mark.timeout(300)  # each runs several workflows, which are bounded by themselves

FILE = "config/subscriptions.yaml"
OFFERS = """subscriptions:
  "*/*":
    offers:
      eventCodes: [ONB10011]
      webhookUrl: https://hooks.example.org/{region}/{environment}/offers
"""
MORE = """    applications:
      eventCodes: [ONB10001]
      webhookUrl: https://hooks.example.org/{region}/{environment}/applications
"""


def created(sandbox: Sandbox) -> dict[str, int]:
    """Return how many subscriptions each stage has at the service."""
    return dict(Counter(row.target.partition("/")[2] for row in sandbox.world.subscriptions()))


def dispatched(forge: Forge, command: str, **extra: str) -> Job:
    """Run the form with a command."""
    return forge.run("workflow_dispatch", {"inputs": {"command": command}}, **extra)


def approved(forge: Forge, *, rules: tuple[str, ...] = ("required_reviewers",)) -> None:
    """Have each environment protected by rules, and someone be allowed to write."""
    for stage in ("staging", "production"):
        forge.answers[f"environments/{stage}"] = {"protection_rules": [{"type": rule} for rule in rules]}
    forge.answers["collaborators/someone/permission"] = {"role_name": "write"}


def comments(forge: Forge) -> list[Any]:
    """Return the comments on the pull request."""
    file = forge.path / "comments.json"
    return json.loads(file.read_text()) if file.exists() else []


def test_from_a_pull_request_to_production(forge: Forge, sandbox: Sandbox) -> None:
    """A pull request gets one comment with the plan; its merge applies every region, staging before production.

    A second pull request changes the comment of the first.
    """
    forge.write(FILE, OFFERS)
    job = forge.review(1)
    assert 0 == job.code, job.log
    (comment,) = comments(forge)
    assert "Plan: 6 to create" in comment["body"]
    assert comment["body"].startswith("<!-- reconciler:pull-request -->\n")
    forge.merge(1)
    job = forge.run("push")
    assert 0 == job.code, job.log
    targets = [row.target.partition("/")[2] for row in sandbox.world.subscriptions()]
    assert ["staging"] * 3 + ["production"] * 3 == targets
    forge.write(FILE, OFFERS + MORE)
    assert forge.review(2).code == 0
    (comment,) = comments(forge)
    assert "applications" in comment["body"]
    assert [] == [name for name, value in forge.secrets.items() if name.endswith("SECRET") and value in job.log]


def test_pull_request_from_a_fork(forge: Forge) -> None:
    """A fork's pull request is validated, and neither planned nor commented on."""
    forge.write(FILE, OFFERS)
    job = forge.review(1, of="fork/hooks")
    assert (0, []) == (job.code, comments(forge)), job.log
    assert "Plan on the record" not in job.log
    assert not (forge.path / "artifacts").exists()


def test_mistakes_in_a_pull_request(forge: Forge) -> None:
    """Mistakes fail the run with an annotation on the line, and the comment says that there is no plan.

    Names with commands of the runner, ANSI, bidi and HTML take no effect in the log, the summary or the comment.
    """
    forge.write(FILE, OFFERS.replace("ONB10011", "ONB1"))
    forge.write(f"config/{TAKEN}.yaml", "subscriptions: [")
    job = forge.review(1)
    assert job.code != 0
    assert "config/subscriptions.yaml" in job.log
    assert not re.search(r"[❗⚠]\S*\s+::warning::taken|uid=|\u202e|\x1b\[31m", job.log.replace("\x1b[0m", ""))
    (comment,) = comments(forge)
    assert "There is no plan" in comment["body"]
    assert "<b>" not in job.summary + comment["body"]


def test_environment_without_a_stage(forge: Forge) -> None:
    """A target of an environment that no stage applies is not left out without a word."""
    text = (forge.work / "config/targets.yaml").read_text()
    forge.write("config/targets.yaml", text.replace("usa/staging", "usa/testing"))
    job = forge.review(1)
    assert job.code != 0
    assert "config/ has production, staging, testing" in job.log


def test_place_of_the_record_in_a_pull_request(forge: Forge) -> None:
    """A pull request that names another place is planned on the record of the default branch."""
    text = (forge.work / "config/targets.yaml").read_text()
    forge.write("config/targets.yaml", text.replace("git:reconciler-state", "git:of-another"))
    forge.write(FILE, OFFERS)
    job = forge.review(1)
    assert 0 == job.code, job.log
    assert "reconciler&#45;state" in job.summary
    assert "of&#45;another" not in job.summary


@pytest.mark.parametrize("has_config", [True, False])
def test_default_branch_that_names_no_place(forge: Forge, has_config: bool) -> None:
    """A pull request that is the first to name a place gets the store's credentials sent nowhere, and no plan."""
    text = (forge.work / "config/targets.yaml").read_text()
    forge.write("config/targets.yaml", text.replace("state: git:reconciler-state\n", ""))
    if not has_config:
        forge.git("rm", "-r", "-q", "-f", "config")
    forge.push("Name no place")
    forge.write("config/targets.yaml", text.replace("git:reconciler-state", "git:of-another"))
    forge.secrets["STORE_CREDENTIALS"] = "PGPASSWORD=of-the-store"
    job = forge.review(1)
    assert 0 == job.code, job.log
    assert "Validated, not planned" in job.summary
    assert not (forge.path / "artifacts").exists()


def test_merge_queue(forge: Forge, sandbox: Sandbox) -> None:
    """What is about to be merged is planned, without a comment."""
    forge.write(FILE, OFFERS)
    forge.push("Queue")
    job = forge.run("merge_group", {"merge_group": {"head_ref": "refs/heads/gh-readonly-queue/main/pr-1"}})
    assert (0, []) == (job.code, comments(forge)), job.log
    assert "Plan: 6 to create" in job.summary
    assert [] == sandbox.world.subscriptions()


def test_change_that_was_not_shown(forge: Forge, sandbox: Sandbox) -> None:
    """What came without a review stops the stage, with the command that goes on; the rest waits with it.

    That command needs a person: a reviewer of the environment, or somebody who may maintain the repository.
    """
    forge.write(FILE, OFFERS)
    assert forge.review(1).code == 0
    forge.git("checkout", "-q", "change-1")
    forge.write(FILE, OFFERS + MORE)
    forge.commit("One more, after the review")
    forge.git("branch", "-q", "-f", "kept", "change-1~1")
    forge.merge(1)
    forge.answers["pulls"][0]["head"]["sha"] = forge.git("rev-parse", "kept")  # type: ignore[index]
    job = forge.run("push")
    assert job.code != 0
    assert [] == sandbox.world.subscriptions()
    assert "europe/staging/applications: create, never shown" in job.summary
    assert "staging/offers: create" not in job.summary
    ((digest),) = set(re.findall(r"apply -t '\*/staging' --expect-digest (sha256:\w{64})", job.summary))
    command = f"apply -t '*/staging' --expect-digest {digest}"
    approved(forge, rules=())
    assert dispatched(forge, command).code != 0
    assert [] == sandbox.world.subscriptions()
    approved(forge)
    assert "the plan has changed" in dispatched(forge, command.replace(digest, f"sha256:{'0' * 64}")).log
    job = dispatched(forge, command)
    assert (0, {"staging": 6}) == (job.code, created(sandbox)), job.log
    job = dispatched(forge, command)
    assert (0, {"staging": 6}) == (job.code, created(sandbox)), job.log


def test_killed_apply(forge: Forge, sandbox: Sandbox) -> None:
    """A runner that dies leaves its intent in the record: the next apply sends nothing twice, and production waits."""
    forge.write(FILE, OFFERS)
    assert forge.review(1).code == 0
    forge.merge(1)
    assert forge.run("push", RECONCILER_TEST_FAILPOINT="after-send:1:kill").code != 0
    assert sandbox.world.subscriptions()
    job = forge.run("push")
    assert job.code != 0, job.log
    routes = Counter((row.target, row.codes) for row in sandbox.world.subscriptions())
    assert {1} == set(routes.values())
    assert "production" not in created(sandbox)


def test_repair(forge: Forge, sandbox: Sandbox) -> None:
    """A create that was refused stops the stages; once a person has recorded what exists, they go on.

    A run of a stage that has nothing left to send sends nothing.
    """
    forge.write(FILE, OFFERS)
    assert forge.review(1).code == 0
    forge.merge(1)
    sandbox.world.fail_next("403", 1, "europe/staging")
    assert forge.run("push").code != 0
    assert {"staging": 2} == created(sandbox)
    approved(forge)
    job = dispatched(forge, "state import europe/staging/offers")
    assert 0 == job.code, job.log
    assert ["staging"] == re.findall(r"^\[(\w+)/Apply/Apply \w+\] 🏁", job.log, re.MULTILINE)
    job = forge.run("push")
    assert (0, {"staging": 2, "production": 3}) == (job.code, created(sandbox)), job.log


def test_plan_that_does_not_fit(forge: Forge, sandbox: Sandbox) -> None:
    """Thousands of codes hide no other create: what does not fit into the summary is neither shown nor applied."""
    codes = ", ".join(f"ONB{number:05}" for number in range(20_000, 26_500))
    forge.write(FILE, OFFERS.replace("ONB10011", codes) + MORE)
    job = forge.review(1)
    assert job.code != 0
    assert not (forge.path / "artifacts").exists()
    (comment,) = comments(forge)
    assert "There is no plan" in comment["body"]
    forge.merge(1)
    job = forge.run("push")
    assert job.code != 0
    assert "there is no plan that can be shown" in job.log
    assert [] == sandbox.world.subscriptions()


def test_repair_that_names_what_only_the_environment_knows(forge: Forge) -> None:
    """A service moves, with an account that the preview does not know, and so does the record: each by its digest."""
    approved(forge)
    forge.write(FILE, OFFERS)
    forge.reconciler("state", "import", "europe/production/offers")
    name = "RECONCILER_EUROPE_PRODUCTION_BASE_URL"
    text, url = (forge.work / "config/targets.yaml").read_text(), forge.variables[name]
    forge.variables[name] = f"{url}/moved"
    forge.write("config/targets.yaml", text.replace(f"base_url: {url}\n", f"base_url: {url}/moved\n", 1))
    forge.push("Move a service")
    job = dispatched(forge, "state rebind -t europe/production")
    assert 0 == job.code, job.log
    assert '"rebound"' in forge.reconciler("state", "history", "--format", "json")
    job = dispatched(forge, "state copy git:reconciler-state git:moved")
    assert 0 == job.code, job.log
    assert "europe/production/offers" in forge.reconciler("state", "show", "--state", "git:moved")


def test_repair_of_the_whole_record(forge: Forge) -> None:
    """The last stage approves it; no other stage's job does anything."""
    approved(forge)
    forge.git("push", "-q", "origin", ":reconciler-state", ":reconciler-state-head")
    job = dispatched(forge, "state init --complete")
    assert 0 == job.code, job.log
    assert ["production"] == re.findall(r"^\[(\w+)/Apply/Apply \w+\] 🏁", job.log, re.MULTILINE)
    assert "reconciler-state" in forge.git("branch", "--list", at=forge.origin)


def test_command_that_is_none(forge: Forge) -> None:
    """No shell, and no command of the runner, is in what was typed."""
    approved(forge)
    for command in ("state import $(id); id", "state show\n::error::x\n::set-env name=X::y"):
        job = dispatched(forge, command)
        assert "uid=" not in job.log
        assert not re.search(r"^\[[^]]*\]\s+(::set-env|::error::x)", job.log, re.MULTILINE)


def test_stops_before_it_plans(forge: Forge, sandbox: Sandbox) -> None:
    """An environment that does not say where secrets go sends none; nor does a run whose config/ is not the tip's."""
    forge.write(FILE, OFFERS)
    assert forge.review(1).code == 0
    commit = forge.merge(1)
    url = forge.variables.pop("RECONCILER_USA_STAGING_BASE_URL")
    job = forge.run("push")
    assert job.code != 0
    assert "RECONCILER_USA_STAGING_BASE_URL" in job.log
    forge.variables["RECONCILER_USA_STAGING_BASE_URL"] = url
    forge.write(FILE, OFFERS + MORE)
    forge.push("Newer")
    forge.git("checkout", "-q", commit)
    job = forge.run("push")
    assert job.code != 0
    assert "the default branch has moved on" in job.log
    assert [] == sandbox.world.subscriptions()


def test_nightly(forge: Forge) -> None:
    """What waits for a person fails the run, and what the set-up lacks is a warning; else it succeeds.

    An environment for a tag of the default branch's name, or for one more branch, is not for one alone.
    """
    job = forge.run("schedule")
    assert 0 == job.code, job.log
    assert "the environment staging allows not only deployments from main" in job.log
    assert "what was pushed after an approval may be merged into main" in job.log
    assert "creation, deletion, non_fast_forward, update of the branch reconciler-state-head" in job.log
    main, more = ({"name": name, "type": "branch"} for name in ("main", "release/*"))
    wrong = {"staging": [{"name": "main", "type": "tag"}], "production": [main, more]}
    for stage, rows in wrong.items():
        forge.answers[f"environments/{stage}/deployment-branch-policies"] = {"branch_policies": rows}
    job = forge.run("schedule")
    for stage in wrong:
        assert f"the environment {stage} allows not only deployments from main" in job.log
        forge.answers[f"environments/{stage}/deployment-branch-policies"] = {"branch_policies": [main]}
    rules = [{"type": name} for name in ("creation", "deletion", "non_fast_forward", "update")]
    for branch in ("reconciler-state", "reconciler-state-head"):
        forge.answers[f"rules/branches/{branch}"] = rules
    review = {"dismiss_stale_reviews_on_push": True, "require_last_push_approval": True}
    forge.answers["rules/branches/main"] = [{"type": "pull_request", "parameters": review}]
    forge.write(FILE, OFFERS)
    forge.push("Desire what nobody applied")
    assert "see the set-up" not in forge.run("schedule").log
