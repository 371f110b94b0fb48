"""A repository that declares subscriptions of the sandbox, with a record on a branch."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pyrage  # type: ignore[import-untyped]
import pytest
from support.forge import ACTION, CALLER, RECORD, Forge, for_act

from reconciler.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REGIONS = ("asia-south", "europe", "usa")
STAGES = ("staging", "production")
sys.path.insert(0, str(ACTION))  # the scripts import each other


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
