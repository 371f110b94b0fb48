"""The pages agree with the program: what they name is there, and what a user can say stands on a page."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from support.simulation import broken_protocols

from reconciler.applying.context import Limits

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "reconciler"
FILES = [*ROOT.glob("*.md"), *(ROOT / ".github").glob("*.md"), ROOT / "config" / "README.md"]
PAGES = {path.name if path.parent.name != "config" else "config/README.md": path.read_text("utf-8") for path in FILES}
ROOMS = {path.name for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"(?:[\w.-]+/)*[\w.-]+\.(?:py|md|yml|yaml|toml)")
FOLDER = re.compile(r"(?:[\w.-]+/)+")
NAMED = re.compile(r"([\w./-]+\.py)::?([\w.]+)(?:\[.*\])?")


def code(page: str) -> list[str]:
    """Everything that a page writes as code within a line."""
    return CODE.findall(PAGES[page])


def found(name: str) -> Path | None:
    """The file or folder that a page names: relative to the repository, to the package, or to .github."""
    candidates = [place / name for place in (ROOT, PACKAGE, ROOT / ".github")]
    return next((path for path in candidates if path.exists()), None)


@cache
def names(path: Path) -> set[str]:
    """The names that a module defines: functions, classes, methods, and what it assigns at its top."""
    defined: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                defined.add(name)
            case ast.Assign(targets=targets):
                defined.update(target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                defined.add(name)
            case _:
                pass
    return defined


def missing(words: list[str]) -> list[str]:
    """Which of the words are written as a file, a folder or a name in a file, and are not there."""
    wrong = []
    for word in words:
        named = NAMED.fullmatch(word)
        file = named[1] if named else word
        if not named and not FILE.fullmatch(word) and not (FOLDER.fullmatch(word) and word.split("/")[0] in ROOMS):
            continue
        path = found(file)
        if path is None or (named and not set(named[2].split(".")) <= names(path)):
            wrong.append(word)
    return wrong


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "RECIPES.md", "CONTRIBUTING.md", "SERVICE.md"])
def test_what_a_page_names_is_there(page: str) -> None:
    """Each file, and each name in a file, that a page for contributors writes as code."""
    placeholders = [word for word in code(page) if "NAME" not in word]
    assert [] == missing(placeholders)


def test_what_is_not_there_is_found() -> None:
    """A file, a folder of the package or a name that does not exist is a mistake; other words are not looked at."""
    wrong = [
        "nowhere.py",
        "planning/nowhere/",
        "planning/planner.py:nothing",
        "tests/test_documentation.py::test_nothing",
    ]
    fine = ["planning/planner.py:make_plan", "applying/run.py:Apply.prepare", "state/", "europe/staging/", "--force"]
    assert wrong == missing([*wrong, *fine])


def test_the_tests_and_mutants_of_the_guarantees_are_there() -> None:
    """A guarantee is worth no more than the test that holds it; a file without a folder is in the one named before."""
    for line in re.findall(r"\*\*Tests\*\*:.*?(?=\n- |\n\n|\n##)", PAGES["GUARANTEES.md"], re.DOTALL):
        tests, _, mutants = line.partition("Mutants:")
        folder = ROOT
        for word in CODE.findall(tests):
            path = ROOT / word if "/" in word else folder / word
            assert path.exists(), word
            folder = path if path.is_dir() else path.parent
        assert [] == [name for name in CODE.findall(mutants) if not hasattr(broken_protocols, name)]


def test_every_room_is_in_the_tree() -> None:
    """The tree of ARCHITECTURE.md has each room and each module at the top of the package, and the parts of rooms."""
    tree = PAGES["ARCHITECTURE.md"].partition("## The rooms\n\n```\n")[2].partition("```")[0]
    listed = set(re.findall(r"^ *([\w.]+?)/? ", tree, re.MULTILINE))
    parts = {path.parent.name for path in (PACKAGE / "state").glob("*/__init__.py")}
    assert (ROOMS - {"__init__.py"}) | parts | {"terminal", "doctor", "drills"} == listed


def test_the_layers_are_those_of_the_contract() -> None:
    """The list of layers is what import-linter holds."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (layers,) = (contract["layers"] for contract in contracts if contract.get("containers") == ["reconciler"])
    assert "```\n{}\n```".format("\n".join(layers)) in PAGES["ARCHITECTURE.md"]


def test_every_page_is_linked() -> None:
    """A reader finds each page from the README, or from one that it links to; and no link leads nowhere."""
    links: dict[str, set[str]] = {}
    for name, text in PAGES.items():
        place = (ROOT if (ROOT / name).exists() else ROOT / ".github").joinpath(name).parent
        local = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
        assert [] == [link for link in local if link and not (place / link).exists()], name
        targets = ((place / link).resolve() for link in local)
        links[name] = {str(target.relative_to(ROOT)).removeprefix(".github/") for target in targets}
    reached, new = set(), {"README.md"}
    while new:
        reached |= new
        new = {name for page in new for name in links[page] if name in PAGES} - reached
    assert set(PAGES) == reached


def test_the_guarantees_name_the_window() -> None:
    """How long after its intent a call may be sent."""
    assert f"until when its call may be sent ({Limits().send_window:.0f} s)" in PAGES["GUARANTEES.md"]
