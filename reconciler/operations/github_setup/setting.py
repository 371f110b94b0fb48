"""Makes one change to a repository."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from reconciler.errors import SettingsError
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

if TYPE_CHECKING:
    from reconciler.operations.github_setup.gh import Gh


def make(gh: Gh, change: Change) -> None:
    """Make a change. Raises Refused, NotOffered, and SettingsError without `ssh-keygen`."""
    match change:
        case AddEnvironment():
            gh.send("PUT", f"/environments/{change.name}", change.settings)
        case AllowBranch():
            path = f"/environments/{change.environment}/deployment-branch-policies"
            gh.send("POST", path, {"name": change.branch})
        case AddRuleset():
            gh.send("POST", "/rulesets", _ruleset(change))
        case ReplaceKey():
            _replace_key(gh, change)
        case SetVariable():
            variable = {"name": change.name, "value": change.value}
            gh.send("POST", f"/environments/{change.environment}/variables", variable)
        case SetSecret():
            gh.set_secret(change.environment, change.name, None)
        case _:
            assert_never(change)


def instead(change: Change) -> str:
    """What protects where GitHub does not offer this."""
    match change:
        case AddEnvironment() | AllowBranch():
            return (
                "Without required reviewers an apply asks no one: what is merged is applied. Then only the right to"
                " merge protects, and a leaked right to push reaches the secrets."
            )
        case AddRuleset():
            return (
                "Without rulesets, everyone with the right to push can rewrite the record. The last known heads of the"
                " machines and of the runs notice it. Another store can refuse it: see STORES.md."
            )
        case ReplaceKey():
            return (
                "Without deploy keys, use `record: token` in the workflow, with the token of a GitHub App that alone"
                " may bypass the ruleset as the secret RECORD_TOKEN of each environment."
            )
        case SetVariable() | SetSecret():
            return "Without environments the workflow has no secrets, and applies nothing."
        case _:
            assert_never(change)


def _ruleset(change: AddRuleset) -> dict[str, object]:
    return {
        "name": change.name,
        "target": "branch",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": [f"refs/heads/{change.branch}"], "exclude": []}},
        "rules": list(change.rules),
        "bypass_actors": list(change.bypass),
    }


def _replace_key(gh: Gh, change: ReplaceKey) -> None:
    """Secrets first: a key that nothing can use yet does no harm, and the one before works until it is deleted."""
    private, public = _new_key()
    gh.send("POST", "/keys", {"title": KEY_TITLE, "key": public, "read_only": False})
    for stage in change.stages:
        gh.set_secret(stage, "RECORD_KEY", private)
    for identity in change.replaced:
        gh.send("DELETE", f"/keys/{identity}")


def _new_key() -> tuple[str, str]:
    """The private and the public half. Raises SettingsError."""
    path = shutil.which("ssh-keygen")
    if path is None:
        raise SettingsError("ssh-keygen is not installed", where="--apply", remedy="install OpenSSH")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "key")
        command = [path, "-q", "-t", "ed25519", "-N", "", "-C", KEY_TITLE, "-f", str(file)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)  # noqa: S603 - no shell
        return file.read_text(encoding="utf-8"), file.with_suffix(".pub").read_text(encoding="utf-8").strip()
