"""Compares what a repository has with what the workflow needs."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from reconciler.operations.github_setup.changes import (
    KEY_TITLE,
    AddEnvironment,
    AddRuleset,
    AllowBranch,
    Change,
    ReplaceKey,
    SetSecret,
    SetVariable,
)
from reconciler.operations.github_setup.gh import NotOffered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reconciler.model.desired import Desired, Target
    from reconciler.operations.github_setup.gh import Gh

_KEEP = "reconciler: the record is append-only"
_WRITE = "reconciler: the record is written with the deploy key"
_REVIEW = "reconciler: changes are reviewed"
_REVIEWED: dict[str, object] = {
    "type": "pull_request",
    "parameters": {
        "required_approving_review_count": 1,
        "dismiss_stale_reviews_on_push": True,
        "require_code_owner_review": False,
        "require_last_push_approval": True,
        "required_review_thread_resolution": False,
    },
}


class Survey(Struct, frozen=True):
    """What is missing, in the order in which it is set, and what differs but is left to a person."""

    changes: tuple[Change, ...]
    differences: tuple[str, ...]
    private: bool


def survey(gh: Gh, desired: Desired, stages: tuple[str, ...], record: str) -> Survey:
    """Compare. `record` is the branch of the record. Raises Refused."""
    repository, user = gh.get(""), gh.user()
    branch = repository["default_branch"]
    changes: list[Change] = []
    differences: list[str] = []
    for stage in stages:
        changes += _environment(gh, stage, branch, user, differences)
    changes += _rulesets(gh, branch, record, differences)
    changes += _key(gh, stages)
    for stage in stages:
        targets = [target for name, target in desired.targets.items() if name.environment == stage]
        changes += _variables(gh, stage, targets, desired.recipients, differences)
        changes += _secrets(gh, stage, targets)
    return Survey(tuple(changes), tuple(differences), bool(repository["private"]))


def _environment(gh: Gh, stage: str, branch: str, user: dict[str, object], differences: list[str]) -> Iterator[Change]:
    path = f"/environments/{stage}"
    environment = gh.get(path)
    rules = {rule["type"]: rule for rule in environment["protection_rules"]} if environment else {}
    policy = environment and environment["deployment_branch_policy"]
    is_reviewed = "required_reviewers" in rules
    if not (is_reviewed and policy):
        yield AddEnvironment(stage, None if is_reviewed else str(user["login"]), _settings(rules, policy, user))
    if policy and policy["protected_branches"]:
        return
    allowed = gh.get(f"{path}/deployment-branch-policies") if policy else None
    names = [one["name"] for one in allowed["branch_policies"]] if allowed else []
    if branch not in names:
        yield AllowBranch(stage, branch)
    differences += [
        f"environment {stage}: jobs of {name}, not only of {branch}, may use it" for name in names if name != branch
    ]


def _settings(rules: dict[str, Any], policy: object, user: dict[str, object]) -> dict[str, object]:
    """All settings of an environment, since setting one replaces them: those that it has, and what is missing."""
    review = rules.get("required_reviewers", {"reviewers": [{"type": "User", "reviewer": user}]})
    return {
        "wait_timer": rules.get("wait_timer", {}).get("wait_timer", 0),
        "prevent_self_review": review.get("prevent_self_review", False),
        "reviewers": [{"type": one["type"], "id": int(one["reviewer"]["id"])} for one in review["reviewers"]],
        "deployment_branch_policy": policy or {"protected_branches": False, "custom_branch_policies": True},
    }


def _rulesets(gh: Gh, branch: str, record: str, differences: list[str]) -> Iterator[Change]:
    try:
        existing = {ruleset["name"]: ruleset["enforcement"] for ruleset in gh.get("/rulesets?per_page=100") or []}
    except NotOffered:
        existing = {}
    key = {"actor_type": "DeployKey", "actor_id": None, "bypass_mode": "always"}
    for ruleset in (
        AddRuleset(_KEEP, record, ({"type": "deletion"}, {"type": "non_fast_forward"}), ()),
        AddRuleset(_WRITE, record, ({"type": "update"},), (key,)),
        AddRuleset(_REVIEW, branch, ({"type": "deletion"}, {"type": "non_fast_forward"}, _REVIEWED), ()),
    ):
        if ruleset.name not in existing:
            yield ruleset
        elif existing[ruleset.name] != "active":
            differences.append(f"ruleset {ruleset.name}: is {existing[ruleset.name]}, so it protects nothing")


def _key(gh: Gh, stages: tuple[str, ...]) -> Iterator[Change]:
    keys = tuple(key["id"] for key in gh.get("/keys?per_page=100") or [] if key["title"] == KEY_TITLE)
    if len(keys) != 1 or any("RECORD_KEY" not in _names(gh, stage, "secrets") for stage in stages):
        yield ReplaceKey(stages, keys)


def _names(gh: Gh, stage: str, kind: str) -> dict[str, str]:
    """The secrets or variables of an environment, by name; a secret's value is not shown."""
    names: dict[str, str] = {}
    for page in count(1):  # a page has 30 at most
        found = gh.get(f"/environments/{stage}/{kind}?per_page=30&page={page}")
        if not found or not found[kind]:
            return names
        names |= {one["name"]: one.get("value", "") for one in found[kind]}
    raise AssertionError("pages end")


def _variables(
    gh: Gh, stage: str, targets: list[Target], recipients: tuple[str, ...], differences: list[str]
) -> Iterator[Change]:
    existing = _names(gh, stage, "variables")
    for name, value in _values(targets, recipients).items():
        if name not in existing:
            yield SetVariable(stage, name, value)
        elif existing[name] != value:
            differences.append(f"environment {stage}: variable {name} is {existing[name]}, but config/ has {value}")


def _values(targets: list[Target], recipients: tuple[str, ...]) -> dict[str, str]:
    found = {"RECONCILER_RECIPIENTS": " ".join(recipients)} if recipients else {}
    for target in targets:
        prefix = target.name.variable_prefix
        found[f"{prefix}AUTH_URL"], found[f"{prefix}BASE_URL"] = target.auth_url, target.base_url
        if target.audience_base != target.base_url:
            found[f"{prefix}AUDIENCE_BASE"] = target.audience_base
    return found


def _secrets(gh: Gh, stage: str, targets: list[Target]) -> Iterator[Change]:
    existing = _names(gh, stage, "secrets")
    for target in targets:
        for field in ("CLIENT_ID", "CLIENT_SECRET"):
            name = f"{target.name.variable_prefix}{field}"
            if name not in existing:
                yield SetSecret(stage, name)
