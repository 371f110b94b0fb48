"""What the project says of itself holds: its README, its CI, what lies at its top."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import click

from reconciler.cli.main import cli

ROOT = Path(__file__).parents[1]
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


def test_exit_codes_are_in_the_readme() -> None:
    """Each exit code has its row."""
    for code in ("0", "1", "2", "3", "129, 130, 143"):
        assert f"\n| {code} | " in README


def test_top_of_the_tree() -> None:
    """Nothing lies at the top but what belongs there; dot-files aside."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=False, capture_output=True).stdout.decode()
    top = {path.partition("/")[0] for path in listed.splitlines()}
    assert set() == {name for name in top if not name.startswith(".")} - TOP
