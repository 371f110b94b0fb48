"""The protocol of an apply does no I/O: it imports nothing that could read a clock, a file or the network."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from reconciler import applying

ROOM = Path(applying.__file__).parent
PERFORMING = {"driver", "execution"}
"""The modules that perform effects; all others of the room are the protocol."""
PURE = {"__future__", "collections", "collections.abc", "enum", "msgspec", "msgspec.structs", "typing"}


def imports(path: Path) -> set[str]:
    """Return the modules that a module imports, but for annotations."""
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if not isinstance(node, ast.If)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.stem)
def test_the_protocol_is_pure(path: Path) -> None:
    """No module of the protocol imports what does I/O, or a module that performs effects."""
    if path.stem in PERFORMING:
        return
    allowed = (
        "reconciler.applying.", "reconciler.model.", "reconciler.record.", "reconciler.errors", "reconciler.values",
    )  # fmt: skip
    performing = {f"reconciler.applying.{stem}" for stem in PERFORMING} | {"reconciler.record.journal"}
    assert set() == {name for name in imports(path) - PURE if not name.startswith(allowed) or name in performing}
