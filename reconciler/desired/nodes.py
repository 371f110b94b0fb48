"""Parses YAML text into a tree of nodes with positions. Anything other than mappings, lists and text is a mistake.

`yaml.load` is not used: it keeps the last of two equal keys, reads `no` as False and `0123` as 83, and expands aliases
until memory is full.
"""

from __future__ import annotations

import re
from itertools import repeat, starmap
from typing import TYPE_CHECKING, Final, cast

import yaml
from msgspec import Struct, field
from yaml import AliasEvent, Event, MappingEndEvent, MappingStartEvent, MarkedYAMLError, ScalarEvent, SequenceEndEvent

from reconciler.desired.files import File, place_after
from reconciler.desired.mistakes import Mistakes, Positioned, place, shown
from reconciler.errors import Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from yaml import CollectionStartEvent
    from yaml.error import Mark

DEPTH_LIMIT: Final = 64
EVENT_LIMIT: Final = 500_000
"""The maximum number of parser events in one file; it bounds memory. 10,000 subscriptions cause about 100,000."""

Loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader

_UNPRINTABLE = r"[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


class Scalar(Positioned, gc=False):
    """Text as it was written; `plain` is true if it is not quoted."""

    value: str
    plain: bool


class Member(Positioned, gc=False):
    """A key of a mapping, its place, and its value."""

    key: str
    value: Node


class MapNode(Positioned, gc=False):
    """A mapping and its members by key."""

    value: dict[str, Member]


class ListNode(Positioned, gc=False):
    """A list and its items."""

    value: list[Node]


class Broken(Positioned, gc=False):
    """A placeholder for a value whose mistake has already been reported."""


Node = Scalar | MapNode | ListNode | Broken


class _TooDeep(Exception):
    """Raised if a file is nested too deeply, with the place as its argument."""


def build(file: File, mistakes: Mistakes) -> Node | None:
    """Return the root node of the only document in a file, or None if there is no document or it cannot be parsed."""
    try:
        events = starmap(Loader(file.data).get_event, repeat((), EVENT_LIMIT))  # a call for each, up to the limit
        builder = _Builder(file.name, events.__next__, mistakes)
        root = None
        builder.next()
        if type(event := builder.next()) is yaml.DocumentStartEvent:
            root = builder.node(builder.next(), 1)
            builder.next()
            event = builder.next()
        if type(event) is not yaml.StreamEndEvent:
            what = "more than one YAML document"
            mistakes.hide("yaml-documents", builder.at(event), what, "move this document to its own file")
    except _TooDeep as problem:
        what = f"the file is nested deeper than {DEPTH_LIMIT} levels"
        mistakes.hide("yaml-too-deep", problem.args[0], what, "reduce the nesting")
    except StopIteration:
        what = "the file has too many values"
        mistakes.hide("yaml-too-many-values", Place(file.name, 1, 1), what, "split it into several files")
    except MarkedYAMLError as problem:
        _refuse_syntax(file, problem, mistakes)
    except (yaml.YAMLError, ValueError):  # the pure Python parser raises ValueError for an escape beyond Unicode
        text = file.data.decode()
        strange = re.search(_UNPRINTABLE, text)
        at = place_after(file.name, text[: strange.start()] if strange else "")
        mistakes.hide("yaml-character", at, "the file contains a character that YAML does not allow", "remove it")
    else:
        return root
    return None


class _Builder(Struct):
    """Builds the nodes of one file. `keys` interns keys, because field names recur in every mapping."""

    file: str
    next: Callable[[], Event]
    mistakes: Mistakes
    keys: dict[str, str] = field(default_factory=dict)

    def node(self, event: Event, depth: int) -> Node:
        mark: Mark = event.start_mark  # type: ignore[assignment]  # the parser marks every event
        if type(event) is ScalarEvent:
            if event.anchor or event.tag:
                self._refuse_properties(event)
            return Scalar(self.file, mark.line, mark.column, event.value, not event.style)
        if type(event) is AliasEvent:
            self.mistakes.add("yaml-alias", self.at(event), "YAML aliases are not supported", "repeat the value")
            return Broken(self.file, mark.line, mark.column)
        opening: CollectionStartEvent = event  # type: ignore[assignment]  # nothing else begins a node
        if opening.anchor or opening.tag:
            self._refuse_properties(opening)
        if depth > DEPTH_LIMIT:
            raise _TooDeep(self.at(event))
        if type(event) is MappingStartEvent:
            return MapNode(self.file, mark.line, mark.column, self._members(depth + 1))
        return ListNode(self.file, mark.line, mark.column, self._items(depth + 1))

    def _members(self, depth: int) -> dict[str, Member]:
        members: dict[str, Member] = {}
        file, node, next_event, keys = self.file, self.node, self.next, self.keys
        while type(event := next_event()) is not MappingEndEvent:
            mark: Mark = event.start_mark  # type: ignore[assignment]
            if type(event) is not ScalarEvent or event.anchor or event.tag:
                key = node(event, depth)
                if isinstance(key, (MapNode, ListNode)):
                    what = "expected a text key"
                    self.mistakes.add("key-not-text", key, what, "quote a key that contains { or [")
            value = node(next_event(), depth)
            if type(event) is ScalarEvent:
                name = keys.setdefault(event.value, event.value)
                member = Member(file, mark.line, mark.column, name, value)
                if (first := members.setdefault(name, member)) is not member:
                    refuse_duplicate(member, first, self.mistakes)
        return members

    def _items(self, depth: int) -> list[Node]:
        items, node, next_event = [], self.node, self.next
        while type(event := next_event()) is not SequenceEndEvent:
            items.append(node(event, depth))
        return items

    def _refuse_properties(self, event: ScalarEvent | CollectionStartEvent) -> None:
        if event.anchor:
            self.mistakes.add("yaml-anchor", self.at(event), "YAML anchors are not supported", "repeat the value")
        if event.tag:
            self.mistakes.add("yaml-tag", self.at(event), "YAML tags are not supported", "remove the tag")

    def at(self, event: Event) -> Positioned:
        mark = cast("Mark", event.start_mark)
        return Positioned(self.file, mark.line, mark.column)


def refuse_duplicate(member: Member, first: Member, mistakes: Mistakes) -> None:
    """Report a key that is already defined in the same mapping or in another file."""
    what = f"duplicate key {shown(member.key)}: already defined at {place(first)}"
    mistakes.add("duplicate-key", member, what, "remove one of them")


def _refuse_syntax(file: File, problem: MarkedYAMLError, mistakes: Mistakes) -> None:
    """Report a syntax error with the parser's message, and with a remedy if the mistake is common."""
    if marker := re.search(rb"^(<<<<<<<|>>>>>>>)", file.data, re.MULTILINE):
        at = place_after(file.name, file.data[: marker.start()].decode())
        mistakes.hide("git-conflict", at, "a git conflict marker", "resolve the conflict, and remove the markers")
        return
    mark = cast("Mark", problem.problem_mark)
    lines = file.data.decode().split("\n")
    line = min(mark.line, len(lines) - 1)  # the parser places the end of a file after its last line
    column = mark.column if line == mark.line else len(lines[line])
    around = lines[line][max(column - 1, 0) : column + 1]
    if "\t" in around:
        remedy = "use spaces to indent, not tabs"
    elif "*" in around:
        remedy = 'quote the pattern: "*/*"'
    else:
        remedy = "correct the YAML; quote text that contains { } [ ] * & ! # % @ or a colon"
    at = Place(file.name, line + 1, column + 1)
    mistakes.hide("yaml-syntax", at, f"YAML syntax: {problem.problem}", remedy)
