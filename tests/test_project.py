"""What the project says of itself holds: its README, its CI, what lies at its top."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click

from reconciler.cli.main import cli

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
TOP = {"pyproject.toml", "reconciler", "config", "tests", ".github", "README.md", ".ci", "CHANGELOG.md"}


def commands(group: click.Group, path: str = "") -> list[str]:
    """Every command there is, as a user writes it."""
    context = click.Context(group)
    found = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            found += commands(command, f"{path}{name} ")
        else:
            found.append(f"{path}{name}")
    return found


def documented() -> set[str]:
    """Every command in the README's table; `a b`, `c` in one row means `a b` and `a c`."""
    found = set()
    for row in re.findall(r"^\| (`[^|]*`) \|", README.partition("## Commands")[2].partition("\n## ")[0], re.MULTILINE):
        first, *others = re.findall(r"`([^`]+)`", row)
        group = first.rpartition(" ")[0]
        found |= {first, *(f"{group} {other}".strip() for other in others)}
    return found


def test_every_command_is_in_the_readme() -> None:
    """The README's table has each command there is, and no other."""
    assert set(commands(cli)) == documented()


def test_ci_runs_the_readme_s_test_command() -> None:
    """What the README tells a new user to run is what CI runs."""
    (line,) = re.findall(r"^python3 -m venv .*pytest$", README, re.MULTILINE)
    assert line in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_the_test_command_leaves_a_developer_s_environment_alone() -> None:
    """CI and the README install into another place than the editable one of CONTRIBUTING."""
    (line,) = re.findall(r"^python3 -m venv .*pytest$", README, re.MULTILINE)
    for text in (line, (ROOT / ".ci" / "run").read_text(encoding="utf-8")):
        assert {".venv-test"} == set(re.findall(r"\.venv[\w-]*", text))


def test_ci_fails_where_the_installation_fails(tmp_path: Path) -> None:
    """Also where an environment with all its tools is left from before."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    (tmp_path / ".ci" / "components").write_text("")
    tools = tmp_path / ".venv-test" / "bin"
    tools.mkdir(parents=True)
    for name, code in {"python3": 0, "pip": 1, "pytest": 0, "ruff": 0, "mypy": 0, "lint-imports": 0}.items():
        (tools / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (tools / name).chmod(0o700)
    done = subprocess.run(
        ["bash", ".ci/run"], cwd=tmp_path, env={"PATH": f"{tools}:/usr/bin:/bin"}, check=False, capture_output=True
    )
    assert 1 == done.returncode


def test_the_sdist_holds_what_the_tests_read() -> None:
    """All that lies at the top is in it, so that the tests pass where it is unpacked."""
    included = {path.removeprefix("/") for path in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]}
    assert TOP | {".pre-commit-hooks.yaml"} == included | {"pyproject.toml"}


def test_nobody_uploads_it() -> None:
    """An index refuses what is so classified: the name is another program's there, and the README says so."""
    assert "Private :: Do Not Upload" in PROJECT["project"]["classifiers"]
    assert "`reconciler` on the package index is another program." in README


def test_ci_tests_the_lowest_dependencies() -> None:
    """The constraints hold each dependency at the version that it says is enough."""
    said = subprocess.run(
        [sys.executable, ".ci/lower_bounds.py"], cwd=ROOT, check=True, stdout=subprocess.PIPE
    ).stdout.decode()
    extras = PROJECT["project"]["optional-dependencies"]
    used = [*PROJECT["project"]["dependencies"], *extras["objectstore"], *extras["postgres"]]
    bounds = [re.split(r"(?:\[binary\])?>=|,", dependency)[:2] for dependency in used]
    assert [f"{name}=={version}" for name, version in bounds] == said.splitlines()
    assert ".ci/lower_bounds.py" in (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")


def test_ci_tests_every_python_that_is_declared() -> None:
    """Each version of the classifiers is in the matrix, and the lowest is the one that is required."""
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    (matrix,) = re.findall(r"python: \[(.*)\]", (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    assert declared == re.findall(r"3\.\d+", matrix)
    assert PROJECT["project"]["requires-python"] == f">={declared[0]}"


def test_exit_codes_are_in_the_readme() -> None:
    """Each exit code has its row."""
    for code in ("0", "1", "2", "3", "129, 130, 143"):
        assert f"\n| {code} | " in README


def test_top_of_the_tree() -> None:
    """Nothing lies at the top but what belongs there; dot-files aside."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=False, capture_output=True).stdout.decode()
    top = {path.partition("/")[0] for path in listed.splitlines()}
    assert set() == {name for name in top if not name.startswith(".")} - TOP


def test_names_of_test_files_are_unique() -> None:
    """pytest and mypy take two files of one name in different directories for one module."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert [] == sorted({name for name in names if names.count(name) > 1})
