"""A repository that declares subscriptions of the sandbox, with a record on a branch."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import pyrage  # type: ignore[import-untyped]
import pytest
from support.forge import ACTION, CALLER, RECORD, REPOSITORY, Forge, for_act

from reconciler.sandbox import Sandbox

REGIONS = ("asia-south", "europe", "usa")
STAGES = ("staging", "production")
EVENT = {"number": 5, "repository": {"default_branch": "main"}, "pull_request": {"head": {"sha": "c0ffee"}}}


def load_scripts() -> None:
    """Import the scripts, which read the event and the variables of a run as they are imported."""
    sys.path.insert(0, str(ACTION))
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        Path(folder, "event.json").write_text(json.dumps(EVENT))
        run = {
            "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_WORKFLOW_REF": f"{REPOSITORY}/{CALLER}@refs/heads/main",
            "GITHUB_EVENT_PATH": f"{folder}/event.json", "RECONCILER_CONFIG": "config", "RUNNER_TEMP": folder,
        }  # fmt: skip
        for name, value in run.items():
            patch.setenv(name, value)
        import_module("stage")


load_scripts()


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """The service in three regions and two environments."""
    with Sandbox(targets=[f"{region}/{stage}" for stage in STAGES for region in REGIONS]) as served:
        yield served


@pytest.fixture
def forge(tmp_path: Path, sandbox: Sandbox) -> Forge:
    """A repository with those targets, without a subscription, its workflow written by `init`, its record begun."""
    forge = Forge(tmp_path / "forge")
    recipient = str(pyrage.x25519.Identity.generate().to_public())
    text = f"state: {RECORD}\nrecipients: [{recipient}]\ntargets:\n"
    for name, target in sandbox.world.targets.items():
        text += f"  {name}:\n"
        for variable, value in target.variables():
            if "CLIENT" in variable:
                forge.secrets[variable] = value
            else:
                key = next(key for key in ("auth_url", "base_url", "audience_base") if variable.endswith(key.upper()))
                text += f"    {key}: {value}\n"
                forge.variables[variable] = value
    forge.variables["RECONCILER_RECIPIENTS"] = recipient
    forge.write("config/targets.yaml", text)
    forge.push("Declare targets")
    forge.reconciler("init", ".", "--github")
    workflow = forge.work / CALLER
    workflow.write_text(for_act(workflow.read_text()))
    forge.push("Add the workflow")
    forge.reconciler("state", "init", "--complete", "--yes")
    return forge
