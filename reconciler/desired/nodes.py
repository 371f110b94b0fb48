"""YAML text -> a tree of nodes that know their places; what is no plain tree of mappings, lists and text is a mistake.

`yaml.load` is not used: it keeps the last of two equal keys, reads `no` as False and `0123` as 83, and expands
aliases until memory is full.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

import yaml
from msgspec import Struct
from yaml import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    MarkedYAMLError,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from reconciler.desired.files import File, place_after
from reconciler.desired.mistakes import Mistakes, place, shown
from reconciler.mistake import Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from yaml import CollectionStartEvent
    from yaml.error import Mark

DEPTH_LIMIT: Final = 64
EVENT_LIMIT: Final = 500_000
"""Events in one file, which bound the memory it takes. Ten thousand subscriptions make about a hundred thousand."""

Loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader

_UNPRINTABLE = r"[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


class Scalar(Struct, gc=False):
    """Text as it was written, and where: `line` and `column` count from 0. `plain` is without quotes."""

    value: str
    plain: bool
    file: str
    line: int
    column: int


class Member(Struct, gc=False):
    """One key of a mapping with its value; file, line and column are those of the key."""

    key: str
    value: Node
    file: str
    line: int
    column: int


class MapNode(Struct, gc=False):
    """A mapping, by its keys."""

    members: dict[str, Member]
    file: str
    line: int
    column: int


class ListNode(Struct, gc=False):
    """A list."""

    items: list[Node]
    file: str
    line: int
    column: int


class Broken(Struct, gc=False):
    """Where a value should stand and a mistake does, already reported."""

    file: str
    line: int
    column: int


Node = Scalar | MapNode | ListNode | Broken


class _TooDeep(Exception):
    """A file is nested deeper than anything meant; args: the place."""


def build(file: File, mistakes: Mistakes) -> Node | None:
    """The one document of a file; None where it is empty, or where its mistakes leave nothing to go on with."""
    try:
        events = iter(Loader(file.data).get_event, None)
        return _Builder(file.name, islice(events, EVENT_LIMIT).__next__, mistakes).document()
    except _TooDeep as problem:
        what = f"the file is nested deeper than {DEPTH_LIMIT} levels"
        mistakes.hide(problem.args[0], what, "reduce the nesting")
    except StopIteration:
        mistakes.hide(Place(file.name, 1, 1), "the file has too many values", "split it into several files")
    except MarkedYAMLError as problem:
        mistakes.hide(*_syntax_mistake(file, problem))
    except (yaml.YAMLError, ValueError):  # ValueError: the pure parser on an escape beyond Unicode
        mistakes.hide(*_character_mistake(file))
    return None


class _Builder:
    """One file while it is being read."""

    def __init__(self, file: str, next_event: Callable[[], Event], mistakes: Mistakes) -> None:
        self._file = file
        self._next = next_event
        self._mistakes = mistakes
        self._line = 0
        """The line of the last node, kept once for all nodes on it."""
        self._keys: dict[str, str] = {}
        """Each key, kept once: the names of fields are repeated in every mapping."""

    def document(self) -> Node | None:
        root = None
        self._next()
        if type(event := self._next()) is DocumentStartEvent:
            root = self._node(self._next(), 1)
            self._next()
            event = self._next()
        if type(event) is not StreamEndEvent:
            self._mistakes.hide(self._place(event), "more than one YAML document", "move this document to its own file")
        return root

    def _node(self, event: Event, depth: int) -> Node:
        mark: Mark = event.start_mark  # type: ignore[assignment]  # the parser marks every event
        line = mark.line
        if line == self._line:
            line = self._line
        else:
            self._line = line
        if type(event) is ScalarEvent:
            if event.anchor or event.tag:
                self._refuse_properties(event)
            return Scalar(event.value, not event.style, self._file, line, mark.column)
        if type(event) is AliasEvent:
            self._mistakes.add(self._place(event), "YAML aliases are not supported", "repeat the value")
            return Broken(self._file, line, mark.column)
        self._refuse_properties(cast("CollectionStartEvent", event))
        if depth > DEPTH_LIMIT:
            raise _TooDeep(self._place(event))
        if type(event) is MappingStartEvent:
            return MapNode(self._members(depth + 1), self._file, line, mark.column)
        return ListNode(self._items(depth + 1), self._file, line, mark.column)

    def _members(self, depth: int) -> dict[str, Member]:
        members: dict[str, Member] = {}
        node, next_event, keys = self._node, self._next, self._keys
        while type(event := next_event()) is not MappingEndEvent:
            key, value = node(event, depth), node(next_event(), depth)
            if type(key) is not Scalar:
                self._refuse_key(key)
                continue
            name = keys.setdefault(key.value, key.value)
            member = Member(name, value, key.file, key.line, key.column)
            if (first := members.setdefault(name, member)) is not member:
                refuse_duplicate(member, first, self._mistakes)
        return members

    def _items(self, depth: int) -> list[Node]:
        items, next_event = [], self._next
        while type(event := next_event()) is not SequenceEndEvent:
            items.append(self._node(event, depth))
        return items

    def _refuse_properties(self, event: ScalarEvent | CollectionStartEvent) -> None:
        if event.anchor:
            self._mistakes.add(self._place(event), "YAML anchors are not supported", "repeat the value")
        if event.tag:
            self._mistakes.add(self._place(event), "YAML tags are not supported", "remove the tag")

    def _refuse_key(self, key: Node) -> None:
        if not isinstance(key, Broken):
            self._mistakes.add(place(key), "expected a text key", "quote a key that contains { or [")

    def _place(self, event: Event) -> Place:
        mark = cast("Mark", event.start_mark)
        return Place(self._file, mark.line + 1, mark.column + 1)


def refuse_duplicate(member: Member, first: Member, mistakes: Mistakes) -> None:
    """Report a key that stands elsewhere already, in the same mapping or in another file."""
    what = f"duplicate key {shown(member.key)}: already defined at {place(first)}"
    mistakes.add(place(member), what, "remove one of them")


def _syntax_mistake(file: File, problem: MarkedYAMLError) -> tuple[Place, str, str]:
    """What the parser says, with a remedy for the slips that this configuration invites."""
    mark = cast("Mark", problem.problem_mark)
    lines = file.data.decode().split("\n")
    line = min(mark.line, len(lines) - 1)  # the parser sees the end of a file behind its last line
    column = mark.column if line == mark.line else len(lines[line])
    around = lines[line][max(column - 1, 0) : column + 1]
    if "\t" in around:
        remedy = "use spaces to indent, not tabs"
    elif "*" in around:
        remedy = 'quote the pattern: "*/*"'
    else:
        remedy = "correct the YAML; quote text that contains { } [ ] * & ! # % @ or a colon"
    return Place(file.name, line + 1, column + 1), f"YAML syntax: {problem.problem}", remedy


def _character_mistake(file: File) -> tuple[Place, str, str]:
    text = file.data.decode()
    strange = re.search(_UNPRINTABLE, text)
    before = text[: strange.start()] if strange else ""
    return place_after(file.name, before), "the file contains a character that YAML does not allow", "remove it"
