"""What a node must be: each function gives the value, or reports why there is none and gives None."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from reconciler.desired.mistakes import Mistakes, listed, nearest, place, question, shown
from reconciler.desired.nodes import Broken, ListNode, MapNode, Member, Node, Scalar

if TYPE_CHECKING:
    from collections.abc import Collection

_NO_VALUE: Final = frozenset({"", "~", "null", "Null", "NULL"})

_REMEDIES: Final = {
    "text": "write a single value; quote text that begins with { or [",
    "a list": "write [one, two], or one `- ` line for each",
    "a mapping": "write `key: value` lines, indented beneath it",
}


def text(node: Node, field: str, mistakes: Mistakes) -> str | None:
    """A scalar as it was written: `no` and `0123` are text."""
    if type(node) is Scalar and not (node.plain and node.value in _NO_VALUE):
        return node.value
    _refuse(node, field, "text", mistakes)
    return None


def items(node: Node, field: str, mistakes: Mistakes) -> list[Node] | None:
    """The elements of a list."""
    if isinstance(node, ListNode):
        return node.items
    _refuse(node, field, "a list", mistakes)
    return None


def members(node: Node, field: str, mistakes: Mistakes) -> dict[str, Member] | None:
    """The members of a mapping whose keys are the user's own."""
    if isinstance(node, MapNode):
        return node.members
    _refuse(node, field, "a mapping", mistakes)
    return None


def fields(node: Node, name: str, known: Collection[str], mistakes: Mistakes) -> dict[str, Node] | None:
    """The values of a mapping whose keys are `known`; the others are reported, their values never shown.

    A misspelt key counts as the one that it resembles, with a value that is reported already: nothing is missing.
    """
    given = members(node, name, mistakes)
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
    """Report a key that `name` does not have; the key that was probably meant, if any."""
    at = place(member)
    meant = None if mistakes.crowd(at) else nearest(member.key, known)
    mistakes.add(at, f"unknown key {shown(member.key)} in {name}{question(meant)}", f"valid keys: {listed(known)}")
    return meant


def choice(node: Node, field: str, allowed: Collection[str], mistakes: Mistakes) -> str | None:
    """One of the words `allowed`."""
    value = text(node, field, mistakes)
    if value is None or value in allowed:
        return value
    mistakes.add(place(node), f"{field}: invalid value {shown(value)}", f"expected one of: {listed(allowed)}")
    return None


def is_plain(node: Node, word: str) -> bool:
    """Whether the node is exactly this word, without quotes."""
    return type(node) is Scalar and node.plain and node.value == word


def is_empty(node: Node) -> bool:
    """Whether the node is no value: nothing at all, `~`, or a null where none is taken."""
    return type(node) is Scalar and node.plain and node.value in _NO_VALUE


def _refuse(node: Node, field: str, expected: str, mistakes: Mistakes) -> None:
    if is_empty(node):
        mistakes.add(place(node), f"{field}: expected {expected}, got no value", "add a value, or remove the key")
    elif type(node) is not Broken:
        mistakes.add(place(node), f"{field}: expected {expected}, got {_kind(node)}", _REMEDIES[expected])


def _kind(node: Node) -> str:
    match node:
        case MapNode():
            return "a mapping"
        case ListNode():
            return "a list"
        case Scalar() | Broken():
            return "text"
        case _:
            assert_never(node)
