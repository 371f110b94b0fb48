"""Print every message of the program from its source, to be read in one list: file and line, kind, text.

A message is a string of `reconciler/` that holds two words, or is given to an error or a help text; docstrings (but for
those of commands), annotations and regular expressions are none. A part of an f-string is shown as `{expression}`.
"""

from __future__ import annotations

import argparse
import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parents[1] / "reconciler"
ERRORS = [node.name for node in ast.parse((PACKAGE / "errors.py").read_text()).body if isinstance(node, ast.ClassDef)]
CALLEES = {
    "error": [*ERRORS, "add", "claim", "complain", "end", "error", "hide", "UsageError"],
    "warning": ["warn", "warn_once", "warning"],
    "info": ["debug", "echo", "info", "say", "say_line", "say_more"],
    "question": ["ask", "confirm"],
    "result": ["Line", "print_lines", "print_value"],
    "help": ["argument", "command", "group", "option"],
    "no message": ["compile", "cast", "findall", "fullmatch", "match", "search", "sub"],
}
"""The kinds of messages, by the last names of the functions that take them; text that another one takes is `text`."""
KINDS = {name: kind for kind, names in CALLEES.items() for name in names}
KEYWORDS = {"remedy": "remedy", "help": "help", "epilog": "help"}
WORD = re.compile(r"[^\W\d]{2}")
TWO_WORDS = re.compile(r"[^\W\d]\S* +\S*\w")
PLACEHOLDER = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}")


class Message(NamedTuple):
    """A message and where it is: the file below the project's directory, the line from 1."""

    file: str
    line: int
    kind: str
    text: str

    @property
    def room(self) -> str:
        """The directory of the package that holds it, or the module."""
        return Path(self.file).parts[1].removesuffix(".py")

    def __str__(self) -> str:
        text = self.text.replace("\n", "\n    ")
        return f"{self.file}:{self.line} [{self.kind}] {text}"


def messages(package: Path = PACKAGE) -> list[Message]:
    """Every message of a package, sorted by file and line."""
    found = set()
    for path in package.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found |= {Message(path.relative_to(package.parent).as_posix(), *one) for one in _of(tree, "text")}
    return sorted(found)


def _of(node: ast.AST, kind: str) -> Iterator[tuple[int, str, str]]:
    """The messages in a node that is given to a function which takes this kind: line, kind and text."""
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr() | ast.BinOp(op=ast.Add()):
            text = _text(node)
            short = kind in ("error", "remedy", "help") and WORD.search(PLACEHOLDER.sub("", text))
            if short or TWO_WORDS.search(PLACEHOLDER.sub("x", text)):
                yield node.lineno, kind, text
                return
        case ast.Call(args=arguments, keywords=keywords):
            kind = KINDS.get(_last_name(node), "text")
            given = [] if kind == "no message" else [(one, "text" if kind == "help" else kind) for one in arguments]
            given += [(one.value, KEYWORDS.get(one.arg or "", "text" if kind == "help" else kind)) for one in keywords]
            for argument, of_kind in [(node.func, "text"), *given]:
                yield from _of(argument, of_kind)
            return
        case ast.FunctionDef() if any(_last_name(one) in ("command", "group") for one in node.decorator_list):
            yield node.body[0].lineno, "help of a command", ast.get_docstring(node) or ""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            is_docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.AST) and not is_docstring and name not in ("annotation", "returns", "slice"):
                yield from _of(child, kind)


def _last_name(node: ast.expr) -> str:
    """The last name of what is called or decorates: `warn` of `terminal.warn(...)`."""
    match node:
        case ast.Call(func=function):
            return _last_name(function)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _text(node: ast.expr) -> str:
    """The text of a string, an f-string or a sum of them; what else there is, in braces."""
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
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--room", help="only the messages of this part of the package, such as `state`")
    parser.add_argument("--kind", help="only the messages of this kind, such as `error`")
    options = parser.parse_args()
    for message in messages():
        if options.room in (None, message.room) and options.kind in (None, message.kind):
            print(message)  # noqa: T201 - what it is for
