"""Reads nodes according to the table of fields.

A function that reads a value returns it, or reports a mistake and returns None.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from reconciler.desired.fields import Field, Shape
from reconciler.desired.mistakes import Mistakes, listed, question, shown
from reconciler.desired.nodes import Broken, ListNode, MapNode, Member, Node, Scalar

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_Value = TypeVar("_Value")


_fullmatch: Final = cache(lambda pattern: re.compile(pattern).fullmatch)
_NO_VALUE: Final = frozenset({"", "~", "null", "Null", "NULL"})
_KINDS: Final[Mapping[type, tuple[str, str]]] = {
    Scalar: ("text", "write a single value; quote text that begins with { or ["),
    ListNode: ("a list", "write [one, two], or one `- ` line for each"),
    MapNode: ("a mapping", "write `key: value` lines, indented beneath it"),
}


class _Valued(Protocol[_Value]):
    value: _Value


def content(node: Node, kind: type[_Valued[_Value]], name: str, mistakes: Mistakes) -> _Value | None:
    """Return the content of a node of type `kind`. The content of a scalar is its text, even for `no` and `0123`."""
    if isinstance(node, kind) and not is_empty(node):
        return node.value
    expected, remedy = _KINDS[kind]
    if is_empty(node):
        what = f"{name}: expected {expected}, got no value"
        mistakes.add("no-value", node, what, "add a value, or remove the key")
    elif not isinstance(node, Broken):
        mistakes.add("wrong-type", node, f"{name}: expected {expected}, got {_KINDS[type(node)][0]}", remedy)
    return None


def is_named(rule: Field, member: Member, mistakes: Mistakes) -> bool:
    """True if a key is a valid name in a NAMES field. An invalid name is reported."""
    if _fullmatch(rule.pattern)(member.key):
        return True
    mistakes.add("invalid-name", member, f"expected {rule.expected}, got {shown(member.key)}", rule.remedy)
    return False


def fields(node: Node, name: str, known: Collection[str], mistakes: Mistakes) -> dict[str, Node] | None:
    """Return the values of the `known` keys of a mapping. Report each other key, but not its value.

    A misspelt key counts as the key that it resembles, so that the correct key is not also reported as missing.
    """
    given = content(node, MapNode, name, mistakes)
    if given is None:
        return None
    values = {}
    for key, member in given.items():
        if key in known:
            values[key] = member.value
        else:
            meant = refuse_key(member, name, known, mistakes)
            if meant is not None and meant not in given:
                values[meant] = Broken(member.file, member.line, member.column)
    return values


def refuse_key(member: Member, name: str, known: Collection[str], mistakes: Mistakes) -> str | None:
    """Report an unknown key in `name`, and return the known key that was probably meant, or None."""
    meant = mistakes.nearest(member.key, known, member)
    what = f"unknown key {shown(member.key)} in {name}{question(meant)}"
    mistakes.add("unknown-key", member, what, f"valid keys: {listed(known)}")
    return meant


def mapping(node: Node, rule: Field, mistakes: Mistakes) -> dict[str, Any] | None:
    """Return the values of a MAPPING of scalars, by key."""
    given = fields(node, rule.name, rule.known, mistakes)
    if given is None:
        return None
    missing = [key.name for key in rule.keys if key.required and key.name not in given]
    for name in missing:
        mistakes.add("missing-key", node, f"{rule.name}: missing {name}", f"add `{name}`")
    values = {name: scalar(value, rule.known[name], mistakes) for name, value in given.items()}
    return None if missing or None in values.values() else values


def scalar(node: Node, rule: Field, mistakes: Mistakes) -> Any:
    """Return the value of a field that is text, one of several words, or a flag."""
    value, is_flag = content(node, Scalar, rule.name, mistakes), rule.shape is Shape.FLAG
    if value is None:
        return None
    is_printable = " ".join(value.split()).isprintable()
    if (
        re.fullmatch("|".join(rule.words) or rule.pattern, value)
        and is_printable
        and (not is_flag or is_plain(node, value))
    ):
        return value == "true" if is_flag else value
    what = f"{rule.name}: expected {' or '.join(rule.words) or rule.expected}, got {shown(value)}"
    mistakes.add("invalid-value", node, what, *filter(None, [rule.remedy]))
    return None


def is_plain(node: Node, word: str) -> bool:
    """True if the node is exactly this word, without quotes."""
    return type(node) is Scalar and node.plain and node.value == word


def is_empty(node: Node) -> bool:
    """True if the node has no value: it is blank, `~`, or a null where null is not allowed."""
    return type(node) is Scalar and node.plain and node.value in _NO_VALUE
