"""The workflow to copy, its jobs run for real against the sandbox and a bare repository as origin."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from runner import Forge

from reconciler.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RECIPIENT = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
FROM_FORK = {"pull_request": {"number": 1, "head": {"ref": "x", "repo": {"full_name": "fork/hooks"}}}}
FROM_HERE = {"pull_request": {"number": 1, "head": {"ref": "x", "repo": {"full_name": "partner/hooks"}}}}
REGIONS = ("europe", "usa")


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """The service, with one client for every target."""
    targets = ("europe/staging", "europe/production", "usa/staging", "usa/production")
    with Sandbox(credentials=dict.fromkeys(targets, ("client", "the-client-secret"))) as served:
        yield served


@pytest.fixture
def forge(tmp_path: Path, sandbox: Sandbox) -> Forge:
    """A repository that declares two subscriptions on four targets of the sandbox, with a state record."""
    forge = Forge(tmp_path / "forge")
    forge.secrets = {f"{region.upper()}_{name}": value for region in REGIONS for name, value in CREDENTIALS.items()}
    declare(forge, sandbox, ["ONB10001"])
    forge.push("Declare subscriptions")
    forge.project.succeed("state", "init", "--state", "git:reconciler-state")
    return forge


CREDENTIALS = {"CLIENT_ID": "client", "CLIENT_SECRET": "the-client-secret"}


def declare(forge: Forge, sandbox: Sandbox, codes: list[str]) -> None:
    """Write config/: applications with these codes, and offers, on every target."""
    lines = [f"recipients: [{RECIPIENT}]", "targets:"]
    for name, target in sandbox.world.targets.items():
        lines += [
            f"  {name}:",
            f"    auth_url: {target.provider.auth_url}",
            f"    base_url: {target.base_url}",
            f"    audience_base: {target.provider.audience_base}",
        ]
    lines += ["subscriptions:", '  "*/*":', "    applications:", f"      eventCodes: [{', '.join(codes)}]"]
    lines += ['      webhookUrl: "https://hooks.partner.example/{region}/{environment}/applications"', "    offers:"]
    lines += ["      eventCodes: [ONB10011]", '      webhookUrl: "https://hooks.partner.example/{region}/offers"']
    forge.project.write("config/all.yaml", "\n".join(lines) + "\n")


def variables(sandbox: Sandbox, environment: str) -> dict[str, str]:
    """The variables of a GitHub environment: the addresses as they were approved."""
    found = {}
    for region in REGIONS:
        target = sandbox.world.targets[f"{region}/{environment}"]
        found[f"{region.upper()}_AUTH_URL"] = target.provider.auth_url
        found[f"{region.upper()}_BASE_URL"] = target.base_url
        found[f"{region.upper()}_AUDIENCE_BASE"] = target.provider.audience_base
    return found


def committed(sandbox: Sandbox, environment: str) -> list[tuple[str, tuple[str, ...]]]:
    """What the service has in an environment: (target, codes), sorted."""
    return sorted((one.target, one.codes) for one in sandbox.world.commits if one.target.endswith(environment))


def push(forge: Forge, sandbox: Sandbox, environment: str, **extra: str) -> tuple[int, str]:
    """Run the jobs of a push, up to the apply of an environment."""
    forge.variables = variables(sandbox, environment)
    done = forge.run("push", {}, job=f"apply-{environment}", extra=extra)
    return done.code, done.log


def test_pull_request_from_a_fork(forge: Forge, sandbox: Sandbox) -> None:
    """A fork's pull request is planned without any secret; its report goes to the summary, not into a comment."""
    forge.secrets = {}
    done = forge.run("pull_request", FROM_FORK)
    assert (0, []) == (done.code, list((forge.path / "comments").iterdir())), done.log
    assert [] == sandbox.world.commits
    plans = [json.loads(path.read_text()) for path in (forge.path / "artifacts").rglob("plan.json")]
    assert [8] == [plan["summary"]["create"] for plan in plans]


def test_pull_request_from_here(forge: Forge) -> None:
    """A pull request of the repository itself gets one comment, with the plan and its digest."""
    done = forge.run("pull_request", FROM_HERE)
    assert 1 == len(list((forge.path / "comments").iterdir())), done.log
    (comment,) = (forge.path / "comments").iterdir()
    assert 0 == done.code, done.log
    assert "<!-- reconciler:plan sha256:" in comment.read_text()
    assert "Plan: 8 to create" in comment.read_text()


def test_from_staging_to_production(forge: Forge, sandbox: Sandbox) -> None:
    """A merge applies staging, then production; a second run changes nothing, and a new code goes the same way."""
    wanted = [(f"{region}/%s", codes) for region in REGIONS for codes in (("ONB10001",), ("ONB10011",))]
    code, log = push(forge, sandbox, "staging")
    assert 0 == code, log
    assert [(name % "staging", codes) for name, codes in wanted] == committed(sandbox, "staging")
    assert [] == committed(sandbox, "production")
    code, log = push(forge, sandbox, "production")
    assert 0 == code, log
    assert [(name % "production", codes) for name, codes in wanted] == committed(sandbox, "production")
    assert (0, 8) == (push(forge, sandbox, "production")[0], len(sandbox.world.commits))
    assert "the-client-secret" not in log
    declare(forge, sandbox, ["ONB10001", "ONB10002"])
    forge.push("Subscribe to another code")
    code, log = push(forge, sandbox, "staging")
    assert (0, 10) == (code, len(sandbox.world.commits)), log
    assert ("ONB10002",) == sandbox.world.commits[-1].codes


def test_production_waits_for_staging(forge: Forge, sandbox: Sandbox) -> None:
    """Where staging has an unknown outcome, production is not applied."""
    sandbox.world.fail_next("500", count=1, target="usa/staging")
    assert 0 != push(forge, sandbox, "staging")[0]
    code, log = push(forge, sandbox, "production")
    assert 0 != code, log
    assert [] == committed(sandbox, "production")


def test_runner_dies(forge: Forge, sandbox: Sandbox) -> None:
    """A runner that dies after the intent leaves it on the branch; the next one finds it and creates nothing twice."""
    code, log = push(forge, sandbox, "staging", RECONCILER_TEST_FAILPOINT="after-send:1:kill")
    assert 0 != code, log
    assert 1 == len(sandbox.world.commits)
    forge.git(forge.work, "commit", "-q", "--allow-empty", "-m", "Try again")
    forge.git(forge.work, "push", "-q", "origin", "main")
    code, log = push(forge, sandbox, "staging")
    assert 0 != code, log
    addresses = [(one.target, one.codes) for one in sandbox.world.commits]
    assert len(set(addresses)) == len(addresses) == 4
    done = forge.run(
        "workflow_dispatch",
        {"inputs": {"environment": "staging", "operation": "resolve --created", "force": "true",
                    "address": "europe/staging/applications", "to": "", "attempt": "", "note": "it arrives"}},
    )  # fmt: skip
    assert 0 == done.code, done.log
    assert (0, 4) == (push(forge, sandbox, "staging")[0], len(sandbox.world.commits))


def test_commit_that_was_overtaken(forge: Forge, sandbox: Sandbox) -> None:
    """An apply whose commit is no longer the branch's tip stops."""
    forge.git(forge.work, "checkout", "-q", "--detach")
    forge.git(forge.work, "commit", "-q", "--allow-empty", "-m", "Newer")
    forge.git(forge.work, "push", "-q", "origin", "HEAD:main")
    forge.git(forge.work, "checkout", "-q", "main")
    code, log = push(forge, sandbox, "staging")
    assert 0 != code
    assert "the branch has moved on" in log
    assert [] == sandbox.world.commits


def test_schedule(forge: Forge) -> None:
    """The daily report plans everything, and says what it cannot say."""
    done = forge.run("schedule", {})
    assert 0 == done.code, done.log


def test_history_of_the_branch(forge: Forge, sandbox: Sandbox) -> None:
    """The branch reads as a history, and holds no secret."""
    assert 0 == push(forge, sandbox, "staging")[0]
    assert "offers" in forge.on_branch()
    everything = forge.git(forge.origin, "log", "-p", "--all")
    secrets = [one.secret for one in sandbox.world.commits]
    assert [] == [one for one in ("the-client-secret", *secrets, *sandbox.world.tokens) if one in everything]
