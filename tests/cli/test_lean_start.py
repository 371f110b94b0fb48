"""A command pays only for what it uses: which modules a fresh interpreter has loaded by the end."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from support.hub import Hub
    from support.project import Project

# What is loaded before ours, by whatever measures coverage for instance, does not count.
PROGRAM = """
import json, re, sys
before, patterns, compile_pattern = set(sys.modules), [], re._compiler.compile

def noted(pattern, flags=0):
    frame = sys._getframe(1)
    while frame.f_globals["__name__"] == "re":
        frame = frame.f_back
    patterns.append((frame.f_globals["__name__"], str(pattern)))
    return compile_pattern(pattern, flags)

re._compiler.compile = noted
from reconciler.cli.main import run
code = run(sys.argv[1:])
modules = {name: module for name, module in sys.modules.items() if name not in before}
libraries = {name.partition(".")[0] for name, module in modules.items() if getattr(module, "__spec__", None)}
libraries -= sys.stdlib_module_names | {"reconciler"}
print(json.dumps([sorted(modules), sorted(libraries), patterns]), file=sys.stderr)
sys.exit(code)
"""

HEAVY = {
    "pydantic", "pydantic_settings", "httpx", "deepdiff", "rich", "asyncio", "importlib.metadata", "cryptography",
    "pyrage", "dotenv", "obstore", "psycopg", "jinja2",
}  # fmt: skip
NEEDLESS = {"dataclasses", "getpass", "logging", "queue", "random", "shutil", "socket", "subprocess", "tempfile"}
"""Of the standard library, what takes a millisecond or more in all, or is made for something else."""

MODULES = {
    "cli": 10, "desired": 15, "disk": 4, "errors": 1, "mistake": 1, "model": 16, "operations": 9, "planning": 10,
    "reports": 9, "state": 17, "values": 1,
}  # fmt: skip
"""How many modules of each room a plan may load."""

PATTERNS = {
    "reconciler.desired.credentials": 1,
    "reconciler.desired.patches": 2,
    "reconciler.desired.templates": 1,
    "reconciler.desired.urls": 2,
    "reconciler.model.address": 5,
    "reconciler.model.url": 1,
    "reconciler.state.heads.remembered": 1,
}
"""How many regular expressions each module may compile for a plan without changes: any other is a string until used."""


@dataclass(frozen=True)
class Start:
    """What a command has loaded: modules, libraries, and regular expressions with the modules that compiled them."""

    modules: set[str]
    libraries: set[str]
    patterns: list[tuple[str, str]]


def started(project: Project, *arguments: str, code: int = 0) -> Start:
    """Run a command in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=project.path, env=project.variables(), capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == code, done
    modules, libraries, patterns = json.loads(done.stderr.decode().splitlines()[-1])
    return Start(set(modules), set(libraries), [(module, pattern) for module, pattern in patterns])


def above(budget: Mapping[str, int], found: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """What there is more of than the budget has: the group, and all that is in it."""
    groups: dict[str, list[str]] = {}
    for group, name in sorted(found):
        groups.setdefault(group, []).append(name)
    return {group: names for group, names in groups.items() if len(names) > budget.get(group, 0)}


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
    assert set() == (HEAVY | NEEDLESS) & started(project, *arguments).modules


def test_what_a_plan_loads_does_not_grow(project: Project) -> None:
    """Each module, library and regular expression is paid for at every start, so each more is a decision."""
    project.declare({"offers": (["ONB10011"], "https://hooks.partner.example/offers")})
    project.step("state", "init")
    project.step("state", "import", "--all")
    start = started(project, "plan")
    ours = [(name.split(".")[1], name) for name in start.modules if name.startswith("reconciler.")]
    assert {} == above(MODULES, ours)
    assert {"click", "msgspec", "typing_extensions", "yaml"} >= start.libraries
    assert {} == above(PATTERNS, [found for found in start.patterns if found[0].startswith("reconciler")])


@pytest.mark.parametrize("completes", [False, True])
def test_help_loads_next_to_nothing(project: Project, completes: bool) -> None:
    """The root help takes click and the table of commands, and so does the completion of a command's name."""
    if completes:
        project.environment |= {
            "_RECONCILER_COMPLETE": "bash_complete", "COMP_WORDS": "reconciler st", "COMP_CWORD": "1",
        }  # fmt: skip
    start = started(project, "--help")
    ours = {name for name in start.modules if name.startswith("reconciler")}
    assert ours <= {"reconciler", "reconciler.errors"} | {
        f"reconciler.cli{name}" for name in ("", ".lazy", ".main", ".options")
    }
    assert start.libraries <= {"click", "typing_extensions"}
    assert not {*NEEDLESS, "pathlib"} & start.modules
    assert [] == [found for found in start.patterns if found[0].startswith("reconciler")]


def test_a_witness_takes_an_http_client_alone(project: Project, hub: Hub) -> None:
    """Not what a plan at a terminal is printed with, which an HTTP client brings along unless it is kept from that."""
    project.declare({"offers": (["ONB10011"], "https://hooks.partner.example/offers")})
    project.step("state", "init")
    project.environment |= {"RECONCILER_WITNESS": "github", **hub.environment}
    libraries = started(project, "plan").libraries
    assert ({"httpx"}, []) == ({"httpx"} & libraries, hub.written)
    assert {"rich", "pydantic", "cryptography"}.isdisjoint(libraries)


def test_the_check_would_notice(project: Project) -> None:
    """A command that calls the service does load what a plan does not."""
    project.declare({"offers": (["ONB10011"], "https://hooks.partner.example/offers")})
    start = started(project, "token", "-t", "europe/staging", code=1)
    assert {"pydantic", "httpx"} <= start.libraries
    assert {"cli": ["reconciler.cli.token"]} == above({"cli": 0}, [("cli", "reconciler.cli.token")])


COLLECTIONS = """
import atexit, gc, sys
searches = []
gc.callbacks.append(lambda phase, info: searches.append(phase))
from reconciler.__main__ import main
atexit.register(lambda: print(len(searches), gc.get_freeze_count() > 10_000, file=sys.stderr))
sys.exit = lambda code: print("the interpreter ends by itself", file=sys.stderr)
main()
"""


def test_little_is_searched_for_garbage(project: Project) -> None:
    """What a plan loads and makes stays in use: it is searched rarely, and not at the end, nor destroyed."""
    project.declare({f"s{number}": ([f"ONB{number:05}"], "https://hooks.example") for number in range(1000)})
    project.step("state", "init")
    done = subprocess.run(
        [sys.executable, "-c", COLLECTIONS, "plan"],
        cwd=project.path, env=project.variables(), capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    (line,) = done.stderr.decode().splitlines()
    count, frozen = line.split()
    assert int(count) < 10
    assert frozen == "True"
