"""What linters say of the workflows and the action, offline."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
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


def test_workflows_for_an_enterprise_server(tmp_path: Path) -> None:
    """What the README says to run leaves no `$/`, in a commit that is named either."""
    (script,) = re.findall(r"```\n(for workflows in .*?)```", (ACTION / "README.md").read_text(), re.DOTALL)
    shutil.copytree(ROOT / ".github", tmp_path / ".github")
    who = {f"GIT_{role}_{what}": "test" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def ask(*command: str) -> str:
        given = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        return subprocess.run(command, cwd=tmp_path, env=given, check=True, stdout=subprocess.PIPE).stdout.decode()

    ask("git", "init", "-q")
    ask("git", "add", ".")
    ask("git", "commit", "-q", "-m", "Copy")
    ask("bash", "-e", "-c", script)
    named = set()
    for path in (tmp_path / ".github/workflows").iterdir():
        assert "uses: $/" not in path.read_text(), path
        named |= {*re.findall(r"uses: OWNER/REPOSITORY/(\S+)@(\w{40})$", path.read_text(), re.MULTILINE)}
    files = {(path if path.endswith(".yml") else f"{path}/action.yml", commit) for path, commit in named}
    assert {"action.yml", "stage.yml", "reconcile.yml", "report.yml"} == {path.rpartition("/")[2] for path, _ in files}
    assert not any("uses: $/" in ask("git", "show", f"{commit}:{path}") for path, commit in files)


def test_zizmor(tmp_path: Path) -> None:
    """The audit of workflows and action finds nothing; in a workflow that is not pinned, it would."""
    audit = (BIN / "zizmor", "--offline", "--no-progress", "--pedantic")
    code, said = run(*audit, *WORKFLOWS, ACTION / "action.yml", ROOT / ".github" / "dependabot.yml")
    assert 0 == code, said
    loose, replaced = re.subn(r"@[0-9a-f]{40} # ", "@", WORKFLOW.with_name("report.yml").read_text())
    assert replaced
    (tmp_path / "loose.yml").write_text(loose)
    code, said = run(*audit, tmp_path / "loose.yml")
    assert 0 != code, said
    assert "unpinned-uses" in said


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", WORKFLOWS),
        ("github-actions", [ACTION / "action.yml"]),
        ("dependabot", [ROOT / ".github" / "dependabot.yml"]),
    ],
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
    used = [name for text in texts for name in used_in(yaml.safe_load(text)) if not name.startswith("$/")]
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
    """What the project depends on is pinned in the action's lists, in a version that it accepts; no build tool is."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    pinned: dict[str, str] = {}
    for name in ("requirements", "requirements-objectstore", "requirements-postgres"):
        pinned |= dict(re.findall(r"^([\w.-]+)==(\S+)", (ACTION / f"{name}.txt").read_text(), re.MULTILINE))
    wanted = [Requirement(one) for one in project["dependencies"] + extras["objectstore"] + extras["postgres"]]
    assert [] == [str(one) for one in wanted if one.name not in pinned or not one.specifier.contains(pinned[one.name])]
    assert "hatchling" not in pinned


@pytest.mark.parametrize("extra", ["objectstore", "postgres"])
def test_extras_are_pinned(extra: str) -> None:
    """What an extra depends on is pinned in a list of its own, or in the one for all."""
    project = (ROOT / "pyproject.toml").read_text()
    block = project.partition(f"\n{extra} = [")[2].partition("]\n")[0]
    pinned = (ACTION / f"requirements-{extra}.txt").read_text()
    assert "://" not in pinned
    assert set(re.findall(r'"([\w-]+)', block)) <= set(re.findall(r"^([\w-]+)(?:\[\w+\])?==", pinned, re.MULTILINE))
    assert [] == [one for one in re.split(r"\n(?=\w)", pinned)[1:] if "--hash=sha256:" not in one]


def test_credentials_go_to_one_step() -> None:
    """Only steps that run the program get credentials, and one of them only those of the store."""
    steps = yaml.safe_load((ACTION / "action.yml").read_text())["runs"]["steps"]
    given = {step["name"]: str({**step.get("env", {}), **step.get("with", {})}) for step in steps}
    alone = r"inputs\.(client-id|client-secret|credentials) *}"
    assert ["Run reconciler"] == [name for name, values in given.items() if re.search(alone, values)]
    store = [name for name, values in given.items() if re.search(r"inputs\.store-credentials *}", values)]
    assert ["Run reconciler", "Save the entries of the record"] == store


def test_what_may_fail() -> None:
    """No step after the apply fails what was done."""
    steps = yaml.safe_load((ACTION / "action.yml").read_text())["runs"]["steps"]
    after = steps[[step.get("id") for step in steps].index("run") + 1 : -1]
    assert len(after) > 4
    assert [] == [step["name"] for step in after if step.get("continue-on-error") is not True]


def test_what_is_cached() -> None:
    """Only directories that hold nothing but data: never the one in which the program keeps what it works with."""
    steps = yaml.safe_load((ACTION / "action.yml").read_text())["runs"]["steps"]
    cached = {step["with"]["path"] for step in steps if "actions/cache" in step.get("uses", "")}
    assert {"${{ runner.temp }}/reconciler-wheels", "${{ runner.temp }}/reconciler-kept"} == cached
    (run,) = [step for step in steps if step.get("id") == "run"]
    assert run["env"]["RECONCILER_CACHE_DIR"] == "${{ runner.temp }}/reconciler-cache"


def test_unpinned_packages_write_no_cache() -> None:
    """What runs packages that are not pinned does not write a cache that another job would take."""
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    used = used_in(yaml.safe_load(text))
    assert [] == [name for name in used if "cache" in name or "reconcile" in name]
    assert not re.search(r"^\s*cache:", text, re.MULTILINE)


def test_pins_are_kept_up_to_date() -> None:
    """Dependabot looks after the actions of workflows and of the action, and after the lists of hashes."""
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())["updates"]
    looked_after = {update["package-ecosystem"]: set(update["directories"]) for update in updates}
    action = "/.github/actions/reconcile"
    assert {"github-actions": {"/", action}, "pip": {action}} == looked_after


def test_documented() -> None:
    """The action's README names every input and every output."""
    action, readme = (ACTION / "action.yml").read_text(), (ACTION / "README.md").read_text()
    named = re.findall(r"^  ([a-z-]+):\n    description", action, re.MULTILINE)
    assert len(named) > 20
    assert [] == [name for name in named if f"`{name}`" not in readme]
