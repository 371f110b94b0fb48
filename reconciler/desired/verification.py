"""`verification:`: how notifications are signed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from reconciler.desired import shapes
from reconciler.desired.mistakes import Mistakes, place, shown
from reconciler.model.desired import ALGORITHMS, ENCODINGS, KEY_ENCODINGS, Verification

if TYPE_CHECKING:
    from reconciler.desired.nodes import Node

_WORDS: Final = {"algorithm": tuple(ALGORITHMS), "encoding": ENCODINGS, "key_encoding": KEY_ENCODINGS}
_KEYS: Final = ("header", "algorithm", "prefix", "encoding", "key_encoding", "content", "enforce")
_REQUIRED: Final = ("header", "algorithm")

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - what RFC 9110, section 5.6.2, calls a token
_HEADER = re.compile(_TOKEN)
_CONTENT = re.compile(rf"(?:[^{{}}]|\{{header:{_TOKEN}\}})*\{{body\}}(?:[^{{}}]|\{{header:{_TOKEN}\}})*")
_PREFIX = re.compile("[ -~]*")


def read(node: Node, mistakes: Mistakes) -> Verification | None:
    """How notifications are signed; None where that has a mistake."""
    given = shapes.fields(node, "verification", _KEYS, mistakes)
    if given is None:
        return None
    missing = [field for field in _REQUIRED if field not in given]
    for field in missing:
        mistakes.add(place(node), f"verification: missing {field}", f"add `{field}`")
    values = {field: _value(field, value, mistakes) for field, value in given.items()}
    if missing or None in values.values():
        return None
    return Verification(**values)  # type: ignore[arg-type]  # each field was read as what it is


def _value(field: str, node: Node, mistakes: Mistakes) -> str | bool | None:
    match field:
        case "enforce":
            return _flag(node, mistakes)
        case "header":
            return _matching(field, node, _HEADER, "use an HTTP header name", mistakes)
        case "prefix":
            return _matching(field, node, _PREFIX, "use printable ASCII", mistakes)
        case "content":
            remedy = "use {body} exactly once; otherwise only {header:NAME} and text without braces"
            return _matching(field, node, _CONTENT, remedy, mistakes)
        case _:
            return shapes.choice(node, field, _WORDS[field], mistakes)


def _flag(node: Node, mistakes: Mistakes) -> bool | None:
    if shapes.is_plain(node, "true") or shapes.is_plain(node, "false"):
        return shapes.is_plain(node, "true")
    if shapes.text(node, "enforce", mistakes) is not None:
        mistakes.add(place(node), "enforce: invalid value", "expected true or false, without quotes")
    return None


def _matching(field: str, node: Node, rule: re.Pattern[str], remedy: str, mistakes: Mistakes) -> str | None:
    value = shapes.text(node, field, mistakes)
    if value is None or rule.fullmatch(value):
        return value
    mistakes.add(place(node), f"{field}: invalid value {shown(value)}", remedy)
    return None
