"""A command pays only for what it uses: which modules a fresh interpreter has loaded by the end."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.project import Project

# What is loaded before ours, by whatever measures coverage for instance, does not count.
PROGRAM = """
import sys
before = set(sys.modules)
from reconciler.cli.main import run
code = run(sys.argv[1:])
print(*sorted(set(sys.modules) - before), file=sys.stderr)
sys.exit(code)
"""

HEAVY = {
    "pydantic", "pydantic_settings", "httpx", "deepdiff", "rich", "asyncio", "importlib.metadata", "cryptography",
    "pyrage", "dotenv",
}  # fmt: skip


def loaded(project: Project, *arguments: str, code: int = 0) -> set[str]:
    """The modules that a command loads."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=project.path, env=project.variables(), capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == code, done
    return set(done.stderr.decode().splitlines()[-1].split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["validate"],
        ["plan"],
        ["plan", "--format", "json", "--out", "plan.json"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("state", ["creates", "unchanged"])
def test_plan_stays_lean(project: Project, arguments: list[str], state: str) -> None:
    """Neither pydantic nor an HTTP client nor anything else that takes long."""
    project.declare({"offers": (["ONB10011"], "https://hooks.partner.example/offers")})
    project.step("state", "init")
    if state == "unchanged":
        project.succeed("state", "import", "--all")
    assert set() == HEAVY & loaded(project, *arguments)


def test_help_loads_next_to_nothing(project: Project) -> None:
    """The root help takes click and the table of commands."""
    found = loaded(project, "--help")
    ours = {name for name in found if name.startswith("reconciler")}
    assert ours <= {"reconciler", "reconciler.errors"} | {
        f"reconciler.cli{name}" for name in ("", ".lazy", ".main", ".options")
    }
    assert not {"yaml", "logging"} & found


def test_the_check_would_notice(project: Project) -> None:
    """A command that calls the service does load what a plan does not."""
    project.declare({"offers": (["ONB10011"], "https://hooks.partner.example/offers")})
    found = loaded(project, "token", "-t", "europe/staging", code=1)
    assert {"pydantic", "httpx"} <= found


COLLECTIONS = """
import atexit, gc, sys
from reconciler.__main__ import main
searches = []
gc.callbacks.append(lambda phase, info: searches.append(phase))
atexit.register(lambda: print(len(searches), gc.get_freeze_count() > 10_000, file=sys.stderr))
main()
"""


def test_little_is_searched_for_garbage(project: Project) -> None:
    """A plan of many subscriptions is mostly values in use: they are searched rarely, and not at the end."""
    project.declare({f"s{number}": ([f"ONB{number:05}"], "https://hooks.example") for number in range(1000)})
    project.step("state", "init")
    done = subprocess.run(
        [sys.executable, "-c", COLLECTIONS, "plan"],
        cwd=project.path, env=project.variables(), capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    count, frozen = done.stderr.decode().split()[-2:]
    assert int(count) < 10
    assert frozen == "True"
