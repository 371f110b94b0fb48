"""Values, plans and reports do no I/O: they import nothing that could."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import reconciler

ROOT = Path(reconciler.__file__).parent
SOURCES = sorted(path for room in ("model", "planning", "reports") for path in (ROOT / room).rglob("*.py"))

PURE = {
    "__future__", "base64", "collections", "collections.abc", "datetime", "deepdiff", "difflib", "enum", "fnmatch",
    "functools", "hashlib", "html", "ipaddress", "itertools", "jinja2", "json", "msgspec", "msgspec.structs",
    "operator", "re", "shlex", "string", "types", "typing", "urllib.parse", "zlib",
}  # fmt: skip


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_imports(path: Path) -> None:
    """A module of these rooms imports the project, and of the rest only what is pure: no os, no pathlib, no time."""
    imported: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
    assert set() == {name for name in imported if name.partition(".")[0] != "reconciler"} - PURE


def test_no_clock() -> None:
    """Nor do they ask what time it is."""
    asked = {
        path.name for path in SOURCES for word in (".now(", ".today(", ".utcnow(") if word in path.read_text("utf-8")
    }
    assert set() == asked
