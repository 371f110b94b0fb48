"""What the workflow records when it is run by hand: its step, as the runner runs it, in a project with a record."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import yaml
from support.forge import WORKFLOW
from support.project import Finished, Project

OFFERS = "europe/staging/offers"


@pytest.fixture
def declared(project: Project) -> Project:
    """A project that wants one subscription and has an empty record."""
    project.declare({"offers": (["ONB10011"], "https://hooks.partner.example/offers")})
    project.step("state", "init")
    return project


def mend(project: Project, operation: str, address: str, environment: str = "staging", **given: str) -> Finished:
    """Run the step with these inputs."""
    steps = yaml.safe_load(WORKFLOW.read_text())["jobs"]["mend"]["steps"]
    (step,) = [one for one in steps if one.get("name") == "Record it"]
    script = project.write("step.sh", step["run"])
    inputs = {name: "" for name, value in step["env"].items() if "inputs." in value}
    inputs |= {"OPERATION": operation, "ADDRESS": address, "ENVIRONMENT": environment, "FORCE": "false", **given}
    assert step["env"].keys() - inputs.keys() == {"PYTHON", "RECONCILER_CACHE_DIR"}
    done = subprocess.run(
        ["bash", "-e", script], cwd=project.path, env={**os.environ, **inputs, "PYTHON": sys.executable},
        stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_operations(declared: Project) -> None:
    """What was made by hand is recorded, renamed, asked to be removed, and removed; a record that is whole stays so."""
    renamed = "europe/staging/deals"
    for operation, address, given in (
        ("import", OFFERS, {}),
        ("mv", OFFERS, {"TO": renamed}),
        ("retire", renamed, {}),
        ("removed", renamed, {}),
        ("accept-rollback", "europe/staging", {"FORCE": "true"}),
    ):
        done = mend(declared, operation, address, **given)
        assert 0 == done.code, (operation, done)
    history = declared.succeed("state", "history").out
    assert [OFFERS, renamed] == [address for address in (OFFERS, renamed) if address in history]
    assert [] == declared.succeed("state", "list", "--format", "json").document


@pytest.mark.parametrize(
    "address",
    [
        "europe/production/offers",
        "europe/production",
        "europe/production/staging",
        "europe/production/x/staging/offers",
        "--state=europe/staging",
        f"{OFFERS}\neurope/production/offers",
        "staging",
        "",
    ],
)
def test_address_of_another_environment(declared: Project, address: str) -> None:
    """Only addresses of the environment that approved it are mended."""
    done = mend(declared, "retire", address)
    assert (1, "Error: the address is not one of the environment that approved this\n") == (done.code, done.out)


def test_input_that_looks_like_a_flag(declared: Project) -> None:
    """A second address is one, whatever it looks like."""
    mend(declared, "import", OFFERS)
    done = mend(declared, "mv", OFFERS, TO="--help")
    assert (1, "") == (done.code, done.out)
