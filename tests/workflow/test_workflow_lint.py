"""What linters say of the workflows and the action, offline."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.forge import ROOT, WORKFLOW

BIN = Path(sys.executable).parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTION = ROOT / ".github" / "actions" / "reconcile"


def run(*command: str | Path) -> tuple[int, str]:
    """Run a linter; its exit code and what it said."""
    done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode()


def used_in(part: object) -> list[str]:
    """The actions that part of a workflow uses, in order."""
    match part:
        case dict():
            return [name for key, one in part.items() for name in ([one] if key == "uses" else used_in(one))]
        case list():
            return [name for one in part for name in used_in(one)]
        case _:
            return []


def test_zizmor(tmp_path: Path) -> None:
    """The audit of workflows and action finds nothing; in a workflow that is not pinned, it would."""
    audit = (BIN / "zizmor", "--offline", "--no-progress")
    code, said = run(*audit, *WORKFLOWS, ACTION / "action.yml")
    assert 0 == code, said
    loose, replaced = re.subn(r"@[0-9a-f]{40} # ", "@", WORKFLOW.read_text())
    assert replaced
    (tmp_path / "subscriptions.yml").write_text(loose)
    code, said = run(*audit, tmp_path / "subscriptions.yml")
    assert 0 != code, said
    assert "unpinned-uses" in said


@pytest.mark.parametrize(
    ("schema", "files"), [("github-workflows", WORKFLOWS), ("github-actions", [ACTION / "action.yml"])]
)
def test_schema(tmp_path: Path, schema: str, files: list[Path]) -> None:
    """They are what GitHub reads; with a key that it does not know, they would not be."""
    check = (BIN / "check-jsonschema", "--builtin-schema", f"vendor.{schema}")
    code, said = run(*check, *files)
    assert 0 == code, said
    (tmp_path / "wrong.yml").write_text(f"{files[0].read_text()}\nno-such-key: {{}}\n")
    code, said = run(*check, tmp_path / "wrong.yml")
    assert 0 != code, said
    assert "no-such-key" in said


def test_pinned_by_hash() -> None:
    """Every third-party action is pinned to a commit, with its version beside it."""
    texts = [path.read_text() for path in (*WORKFLOWS, ACTION / "action.yml")]
    used = [name for text in texts for name in used_in(yaml.safe_load(text)) if not name.startswith("./")]
    pinned = [name for text in texts for name in re.findall(r"uses: ([\w./-]+@[0-9a-f]{40}) # v[\d.]+\n", text)]
    assert used
    assert used == pinned


def test_requirements_are_hashes_without_addresses() -> None:
    """The action installs by hash, from whatever index the runner has."""
    text = (ACTION / "requirements.txt").read_text()
    pinned = re.findall(r"^[\w.-]+==\S+", text, re.MULTILINE)
    assert "://" not in text
    assert len(pinned) > 20
    assert [] == [one for one in re.split(r"\n(?=\w)", text.partition("\nannotated")[2]) if "--hash=sha256:" not in one]


def test_requirements_follow_the_project() -> None:
    """What the project depends on is pinned in the action's list."""
    project = (ROOT / "pyproject.toml").read_text()
    block = project.partition("dependencies = [")[2].partition("]")[0]
    pinned = re.findall(r"^([\w.-]+)==", (ACTION / "requirements.txt").read_text(), re.MULTILINE)
    assert set() == set(re.findall(r'"([\w-]+)', block)) - set(pinned)


@pytest.mark.parametrize("extra", ["objectstore", "postgres"])
def test_extras_are_pinned(extra: str) -> None:
    """What an extra depends on is pinned in a list of its own, or in the one for all."""
    project = (ROOT / "pyproject.toml").read_text()
    block = project.partition(f"\n{extra} = [")[2].partition("]\n")[0]
    pinned = (ACTION / f"requirements-{extra}.txt").read_text()
    assert "://" not in pinned
    assert set(re.findall(r'"([\w-]+)', block)) <= set(re.findall(r"^([\w-]+)(?:\[\w+\])?==", pinned, re.MULTILINE))
    assert [] == [one for one in re.split(r"\n(?=\w)", pinned)[1:] if "--hash=sha256:" not in one]


@pytest.mark.parametrize(
    ("state", "extra"), [("git:x", ""), ("state", ""), ("s3://b", "objectstore"), ("postgresql://h/d", "postgres")]
)
def test_what_the_store_needs_is_installed(tmp_path: Path, state: str, extra: str) -> None:
    """The action installs, by hash, what the type of the store needs and nothing else."""
    steps = yaml.safe_load((ACTION / "action.yml").read_text())["runs"]["steps"]
    ran, python = tmp_path / "ran", tmp_path / "python3"
    venv = tmp_path / f"reconciler-venv{'-' if extra else ''}{extra}" / "bin"
    python.write_text(f'#!/bin/sh\necho "$@" >>{ran}\nmkdir -p {venv}; cp -n "$0" {venv}/python || true\n')
    python.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "RUNNER_TEMP": str(tmp_path), "STATE": state}
    environment |= {"GITHUB_ACTION_PATH": "action", "GITHUB_OUTPUT": str(tmp_path / "output")}
    subprocess.run(["bash", "-euo", "pipefail", "-c", steps[0]["run"]], env=environment, check=True, timeout=30)
    _, dependencies, program = ran.read_text().splitlines()
    lists = re.findall(r"-r action/requirements(?:-(\w+))?\.txt", dependencies)
    assert ["", *([extra] if extra else [])] == lists
    assert "--require-hashes" in dependencies
    assert "--no-deps" in program


def test_documented() -> None:
    """The action's README names every input and every output."""
    action, readme = (ACTION / "action.yml").read_text(), (ACTION / "README.md").read_text()
    named = re.findall(r"^  ([a-z-]+):\n    description", action, re.MULTILINE)
    assert len(named) > 20
    assert [] == [name for name in named if f"`{name}`" not in readme]
