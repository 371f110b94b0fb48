"""Print every message and every help text of the program from its source, to be read as one list.

A line has the file, the name of the message or command, and its text; an expression in it is in braces. The lines are
in the order of the source and have no numbers, so that two lists can be compared.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parents[1] / "reconciler"
CALLS = {"Message": "message", "step": "step", "Step": "step", "Todo": "step", "UsageError": "usage", "note": "note"}
"""The functions that take text for people, by their last names, with what that text is."""
HELP = ("help", "short_help", "epilog")


def texts(package: Path = PACKAGE) -> list[tuple[str, int, str, str]]:
    """Return file, line, kind and text of each, in the order of the source."""
    found: list[tuple[str, int, str, str]] = []
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            found += [(path.relative_to(package.parent).as_posix(), *text) for text in _of(node)]
    return sorted(found)


def _of(node: ast.AST) -> Iterator[tuple[int, str, str]]:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[first, *rest]) if name in CALLS:
            is_message = name == "Message" and rest
            kind = f"message {_text(first)}" if is_message else CALLS[name]
            yield node.lineno, kind, _text(rest[0] if is_message else first)
        case ast.Assign(targets=[ast.Name(id="what" | "text" | "verdict" as name)], value=value):
            yield node.lineno, name, _text(value)
        case ast.FunctionDef(decorator_list=[ast.Call(func=ast.Name(id="command"), args=[name, *_]), *_]):
            yield node.lineno, f"help of {_text(name)}", ast.get_docstring(node) or ""
    if isinstance(node, ast.Call):
        yield from ((word.value.lineno, "help", _text(word.value)) for word in node.keywords if word.arg in HELP)


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(_text, parts))
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _text(left) + _text(right)
        case ast.FormattedValue(value=value):
            return f"{{{ast.unparse(value)}}}"
        case _:
            return f"{{{ast.unparse(node)}}}"


if __name__ == "__main__":
    for file, _, kind, text in texts():
        print(f"{file} [{kind}] {text}")  # noqa: T201 - it is what this is for
