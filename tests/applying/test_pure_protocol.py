"""The protocol of an apply does no I/O: it imports nothing that could read a clock, a file or the network."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from reconciler import applying

ROOM = Path(applying.__file__).parent
IMPURE = {"driver", "failed_appends", "run", "service_caller", "waiting"}
"""The modules that perform effects; everything else in the room is the protocol."""
PURE = {"__future__", "collections", "collections.abc", "msgspec", "msgspec.structs", "typing"}


def imports(path: Path) -> set[str]:
    """The modules that a module imports, at run time or for annotations."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.stem)
def test_the_protocol_is_pure(path: Path) -> None:
    """No module of the protocol imports an I/O library, a module that performs effects, or another room's I/O."""
    if path.stem in IMPURE:
        return
    rooms = ("reconciler.applying.", "reconciler.model.", "reconciler.planning.", "reconciler.state.journal.")
    others = {
        name
        for name in imports(path) - PURE - {"reconciler.errors", "reconciler.values"}
        if not name.startswith(rooms) or name in {f"reconciler.applying.{stem}" for stem in IMPURE}
    }
    assert set() == others
