"""YAML text -> a tree of nodes that know their places; what is no plain tree of mappings, lists and text is a mistake.

`yaml.load` is not used: it keeps the last of two equal keys, reads `no` as False and `0123` as 83, and expands
aliases until memory is full.
"""

from __future__ import annotations

import re
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

import yaml
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

_UNPRINTABLE = re.compile(r"[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Scalar:
    """Text as it was written; `plain` is without quotes. Smaller than its event, which goes at once."""

    __slots__ = ("plain", "start_mark", "value")

    def __init__(self, event: ScalarEvent) -> None:
        self.start_mark = event.start_mark
        self.value = event.value
        self.plain = not event.style


class MapNode:
    """A mapping: key -> (the key's own node, the value). Keys are unique."""

    __slots__ = ("entries", "start_mark")

    def __init__(self, start: Event) -> None:
        self.start_mark = start.start_mark
        self.entries: dict[str, tuple[Scalar, Node]] = {}


class ListNode:
    """A list."""

    __slots__ = ("items", "start_mark")

    def __init__(self, start: Event) -> None:
        self.start_mark = start.start_mark
        self.items: list[Node] = []


class Broken:
    """Where a value should stand and a mistake does, already reported."""

    __slots__ = ("start_mark",)

    def __init__(self, event: Event) -> None:
        self.start_mark = event.start_mark


Node = Scalar | MapNode | ListNode | Broken


class _TooDeep(Exception):
    """A file is nested deeper than anything meant; args: the place."""


class _Stream(BytesIO):
    """Bytes under a name, which the parser puts into every mark."""

    def __init__(self, file: File) -> None:
        super().__init__(file.data)
        self.name = file.name


def build(file: File, mistakes: Mistakes) -> Node | None:
    """The one document of a file; None where it is empty, or where its mistakes leave nothing to go on with."""
    try:
        loader = Loader(_Stream(file))
        return _Builder(islice(iter(loader.get_event, None), EVENT_LIMIT).__next__, mistakes).document()
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

    def __init__(self, next_event: Callable[[], Event], mistakes: Mistakes) -> None:
        self._next = next_event
        self._mistakes = mistakes

    def document(self) -> Node | None:
        root = None
        self._next()
        if type(event := self._next()) is DocumentStartEvent:
            root = self._node(self._next(), 1)
            self._next()
            event = self._next()
        if type(event) is not StreamEndEvent:
            self._mistakes.hide(place(event), "more than one YAML document", "move this document to its own file")
        return root

    def _node(self, event: Event, depth: int) -> Node:
        if type(event) is ScalarEvent and not event.anchor and not event.tag:
            return Scalar(event)
        if type(event) is AliasEvent:
            self._mistakes.add(place(event), "YAML aliases are not supported", "repeat the value")
            return Broken(event)
        self._refuse_properties(event)
        if type(event) is ScalarEvent:
            return Scalar(event)
        if depth > DEPTH_LIMIT:
            raise _TooDeep(place(event))
        return self._mapping(event, depth) if type(event) is MappingStartEvent else self._list(event, depth)

    def _mapping(self, start: Event, depth: int) -> MapNode:
        node, next_event = MapNode(start), self._next
        entries = node.entries
        while type(event := next_event()) is not MappingEndEvent:
            key, value = self._node(event, depth + 1), self._node(next_event(), depth + 1)
            if not isinstance(key, Scalar):
                self._refuse_key(key)
            elif entries.setdefault(key.value, entry := (key, value)) is not entry:
                refuse_duplicate(key, entries[key.value][0], self._mistakes)
        return node

    def _list(self, start: Event, depth: int) -> ListNode:
        node, next_event = ListNode(start), self._next
        while type(event := next_event()) is not SequenceEndEvent:
            node.items.append(self._node(event, depth + 1))
        return node

    def _refuse_properties(self, event: Event) -> None:
        node = cast("ScalarEvent | CollectionStartEvent", event)
        if node.anchor:
            self._mistakes.add(place(event), "YAML anchors are not supported", "repeat the value")
        if node.tag:
            self._mistakes.add(place(event), "YAML tags are not supported", "remove the tag")

    def _refuse_key(self, key: Node) -> None:
        if not isinstance(key, Broken):
            self._mistakes.add(place(key), "expected a text key", "quote a key that contains { or [")


def refuse_duplicate(key: Scalar, first: Scalar, mistakes: Mistakes) -> None:
    """Report a key that stands elsewhere already, in the same mapping or in another file."""
    what = f"duplicate key {shown(key.value)}: already defined at {place(first)}"
    mistakes.add(place(key), what, "remove one of them")


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
    strange = _UNPRINTABLE.search(text)
    before = text[: strange.start()] if strange else ""
    return place_after(file.name, before), "the file contains a character that YAML does not allow", "remove it"
