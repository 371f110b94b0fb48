"""Which module imports which: no circles, not even of types. And how long modules and functions are."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import reconciler

ROOT = Path(reconciler.__file__).parent
MODULES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}
ROOMS = sorted({name.split(".")[1] for name in MODULES if name.count(".") > 1})


def imports_of(path: Path) -> set[str]:
    """The project's modules that a file imports anywhere in it, in functions and for types alone too."""
    imported: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = {f"{module}.{alias.name}" for alias in node.names}
            imported |= {name if name in MODULES else module for name in names}
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
    return imported & MODULES.keys()


@pytest.mark.parametrize("room", ROOMS)
def test_no_circles(room: str) -> None:
    """Within a room, what a module imports does not import it, directly or through others."""
    inside = {name for name in MODULES if name.split(".")[1:2] == [room]}
    graph = {name: imports_of(MODULES[name]) & inside for name in inside}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as problem:
        pytest.fail(" imports ".join(reversed(problem.args[1])))


def test_functions_and_files_are_short() -> None:
    """No function of the package has more than 44 lines, and no file more than 300."""
    for path in MODULES.values():
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 300, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                assert node.end_lineno - node.lineno < 44, f"{path}:{node.lineno}"
