"""`init --github --apply`: what it sets up through `gh`, once, and what it says where GitHub does not offer it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.terminal import at_terminal

if TYPE_CHECKING:
    from support.project import Project

STAND_IN = Path(__file__).parents[1] / "support" / "stand_in_gh"
STAGES = ("staging", "production")
SECRETS = [
    f"RECONCILER_{region}_{stage}_{field}".upper()
    for stage in STAGES
    for region in ("europe", "usa")
    for field in ("client_id", "client_secret")
]


@pytest.fixture
def clone(project: Project) -> Project:
    """A directory with a `gh` that keeps a repository."""
    here = (STAND_IN, Path(sys.executable).parent)  # with this Python first: gh is a script of it
    project.environment["PATH"] = os.pathsep.join(map(str, (*here, os.environ["PATH"])))
    project.environment["TEST_REPOSITORY"] = str(project.path.parent / "repository.json")
    return project


def repository(project: Project) -> Any:
    """The repository as it is now."""
    return json.loads(Path(project.environment["TEST_REPOSITORY"]).read_text(encoding="utf-8"))


def save(project: Project, now: Any) -> None:
    """Have the repository be like this."""
    Path(project.environment["TEST_REPOSITORY"]).write_text(json.dumps(now), encoding="utf-8")


def test_all_of_it_once(clone: Project) -> None:
    """Environments, rulesets, the key and the variables are set; a second run changes nothing, or has nothing left.

    The private key is on no command line, nor in the output: it goes from memory to gh's standard input.
    """
    done = clone.succeed("init", "--github", "--age-key", "--apply")
    now = repository(clone)
    assert list(STAGES) == list(now["environments"])
    for stage in STAGES:
        environment = now["environments"][stage]
        assert [{"type": "User", "id": 7}] == environment["reviewers"]
        assert [{"name": "main"}] == environment["branches"]
        assert ["RECORD_KEY"] == [secret["name"] for secret in environment["secrets"]]
        variables = {variable["name"]: variable["value"] for variable in environment["variables"]}
        assert variables["RECONCILER_RECIPIENTS"].startswith("age1")
        assert f"RECONCILER_USA_{stage.upper()}_BASE_URL" in variables
    keep, write, review = now["rulesets"]
    assert (["deletion", "non_fast_forward"], []) == ([rule["type"] for rule in keep["rules"]], keep["bypass_actors"])
    assert (["update"], ["DeployKey"]) == (
        [rule["type"] for rule in write["rules"]], [actor["actor_type"] for actor in write["bypass_actors"]]
    )  # fmt: skip
    assert ["refs/heads/reconciler-state"] == write["conditions"]["ref_name"]["include"]
    assert ["refs/heads/main"] == review["conditions"]["ref_name"]["include"]
    (key,) = now["keys"]
    assert (False, True) == (key["read_only"], key["key"].startswith("ssh-ed25519 "))
    assert all(f"gh secret set {name} -e " in done.out for name in SECRETS)
    values = now["values"]
    assert len({*values.values()}) == 1
    assert "BEGIN OPENSSH PRIVATE KEY" in values["staging/RECORD_KEY"]
    body = values["staging/RECORD_KEY"].splitlines()[1]
    assert body not in done.out + done.err + "".join(now["calls"])
    again = clone.succeed("init", "--github", "--apply")
    assert now == repository(clone)
    assert all(f"gh secret set {name} -e " in again.out for name in SECRETS)
    for stage in STAGES:
        now["environments"][stage]["secrets"] += [{"name": name} for name in SECRETS]
    save(clone, now)
    assert "Nothing to set up" in clone.succeed("init", "--github", "--apply").out


def test_a_lost_key_is_replaced(clone: Project) -> None:
    """An environment without the key gets a new one, and so do the others; the one before is deleted."""
    clone.step("init", "--github", "--apply")
    now = repository(clone)
    before = now["keys"][0]["key"]
    now["environments"]["production"]["secrets"] = []
    save(clone, now)
    clone.succeed("init", "--github", "--apply")
    (key,) = repository(clone)["keys"]
    assert before != key["key"]


def test_it_asks_first(clone: Project) -> None:
    """At a terminal it shows what it will do, and without a yes does none of it."""
    clone.step("init", "--github")
    done = at_terminal(clone, "init", "--github", "--apply", answers={"Type 'yes' to continue: ": "no\n"})
    assert 1 == done.code
    assert "environment staging: required reviewer someone" in done.out
    assert [] == repository(clone)["calls"]


@pytest.mark.parametrize(
    ("refused", "what", "instead"),
    [
        ("PUT /environments/.*", "environment staging", "an apply asks no one"),
        ("POST /rulesets", "ruleset reconciler", "Another store can refuse it"),
        ("POST /keys", "deploy key", "use `record: token`"),
    ],
)
def test_what_the_plan_does_not_offer(clone: Project, refused: str, what: str, instead: str) -> None:
    """It is named, with GitHub's reason and what protects then; the rest is set up, and the run fails."""
    empty = {"private": True, "refused": [refused], "environments": {}, "rulesets": [], "keys": [], "calls": []}
    if "environments" in refused:
        bare: dict[str, object] = {"protection_rules": [], "deployment_branch_policy": None}
        empty["environments"] = {stage: {**bare, "branches": [], "secrets": [], "variables": []} for stage in STAGES}
    save(clone, empty)
    done = clone.run("init", "--github", "--apply")
    assert 1 == done.code
    said = " ".join(done.err.split())
    assert f"not offered for this repository: {what}" in said
    assert "Upgrade to GitHub Pro" in said
    assert instead in said
    assert "could not be set up" in said
    assert repository(clone)["calls"]


def test_a_variable_that_differs(clone: Project) -> None:
    """An address that was approved is not replaced by the one in config/."""
    clone.step("init", "--github", "--apply")
    text = clone.read("config/targets.yaml")
    clone.write("config/targets.yaml", text.replace("https://api.usa.lending.example", "https://evil.example"))
    calls = repository(clone)["calls"]
    done = clone.succeed("init", "--github", "--apply")
    assert calls == repository(clone)["calls"]
    assert "RECONCILER_USA_PRODUCTION_BASE_URL is https://api.usa.lending.example, but config/ has" in done.err


def test_who_reviews_already_stays(clone: Project) -> None:
    """Of an environment that lacks its branches, the reviewers and the rules of their review stay as they are."""
    clone.step("init", "--github", "--apply")
    now = repository(clone)
    team = {"type": "Team", "reviewer": {"id": 42, "name": "reviewers"}}
    rules = [
        {"type": "required_reviewers", "reviewers": [team], "prevent_self_review": True},
        {"type": "wait_timer", "wait_timer": 30},
    ]
    now["environments"]["production"] |= {"protection_rules": rules, "deployment_branch_policy": None, "branches": []}
    save(clone, now)
    done = clone.succeed("init", "--github", "--apply")
    assert "done: environment production: for chosen branches only" in done.out
    environment = repository(clone)["environments"]["production"]
    assert [{"type": "Team", "id": 42}] == environment["reviewers"]
    assert (True, 30) == (environment["prevent_self_review"], environment["wait_timer"])
    assert [{"name": "main"}] == environment["branches"]


def test_protection_that_was_loosened(clone: Project) -> None:
    """Other branches that may use an environment, and a ruleset that is off, are told, and left to a person."""
    clone.step("init", "--github", "--apply")
    now = repository(clone)
    now["environments"]["production"]["branches"].append({"name": "feature/*"})
    now["rulesets"][1]["enforcement"] = "disabled"
    save(clone, now)
    done = clone.succeed("init", "--github", "--apply")
    assert now["calls"] == repository(clone)["calls"]
    said = " ".join(done.err.split())
    assert "environment production: jobs of feature/*, not only of main, may use it; it is left as it is" in said
    assert "ruleset reconciler: the record is written with the deploy key: is disabled, so it protects nothing" in said


def test_without_gh(project: Project) -> None:
    """Its absence is said, before anything is asked of GitHub."""
    project.environment["PATH"] = "/nowhere"
    done = project.run("init", "--github", "--apply")
    assert 1 == done.code
    assert "gh, the command-line client of GitHub, is not installed" in done.err
    assert "set it up manually, as listed in .github/actions/reconcile/README.md" in " ".join(done.err.split())
