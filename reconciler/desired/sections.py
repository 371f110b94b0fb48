"""The top-level keys of all files, laid together: each thing may be defined once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from reconciler.desired import reading
from reconciler.desired.fields import FILE, PATTERN, SUBSCRIPTIONS, TARGETS
from reconciler.desired.mistakes import Mistakes, listed
from reconciler.desired.nodes import Broken, MapNode, Member, Node, refuse_duplicate

if TYPE_CHECKING:
    from collections.abc import Iterable

Members = dict[str, Member]


class Pattern(Struct):
    """A target or a pattern of targets under `subscriptions:`: one key for each file that has it, and all members.

    `misnamed` are those whose name, which is reported, cannot be that of a subscription.
    """

    keys: list[Member] = field(default_factory=list)
    members: Members = field(default_factory=dict)
    misnamed: list[Member] = field(default_factory=list)


class Sections(Struct):
    """All files as one; `single` holds the sections that may be given only once."""

    targets: Members = field(default_factory=dict)
    patterns: dict[str, Pattern] = field(default_factory=dict)
    single: Members = field(default_factory=dict)


def gather(roots: Iterable[Node], mistakes: Mistakes) -> Sections:
    """Return all files as one. A key that is defined twice counts where it is first, and is reported at the second."""
    sections = Sections()
    for root in roots:
        if isinstance(root, MapNode):
            for name, member in root.members.items():
                _add(name, member, sections, mistakes)
        elif not isinstance(root, Broken) and not reading.is_plain(root, ""):
            mistakes.hide("file-not-mapping", root, "expected a mapping", f"valid keys: {listed(FILE.known)}")
    return sections


def _add(name: str, member: Member, sections: Sections, mistakes: Mistakes) -> None:
    if name not in FILE.known:
        if reading.refuse_key(member, FILE.name, FILE.known, mistakes) is not None:
            mistakes.hidden = True
    elif name == TARGETS.name:
        for target, declared in _members(member, mistakes).items():
            if reading.is_named(TARGETS, declared, mistakes):
                _put(sections.targets, target, declared, mistakes)
            else:
                mistakes.hidden = True
    elif name == SUBSCRIPTIONS.name:
        for pattern, wanted in _members(member, mistakes).items():
            if reading.is_named(SUBSCRIPTIONS, wanted, mistakes):
                _add_pattern(sections.patterns.setdefault(pattern, Pattern()), wanted, mistakes)
    else:
        _put(sections.single, name, member, mistakes)


def _add_pattern(pattern: Pattern, member: Member, mistakes: Mistakes) -> None:
    pattern.keys.append(member)
    for name, wanted in (reading.members(member.value, member.key, mistakes) or {}).items():
        if reading.is_named(PATTERN, wanted, mistakes):
            _put(pattern.members, name, wanted, mistakes)
        else:
            pattern.misnamed.append(wanted)


def _members(section: Member, mistakes: Mistakes) -> Members:
    """Return the members of a section; where it is no mapping, whatever it was meant to declare is hidden."""
    members = reading.members(section.value, section.key, mistakes)
    mistakes.hidden |= members is None
    return members or {}


def _put(members: Members, name: str, member: Member, mistakes: Mistakes) -> None:
    first = members.setdefault(name, member)
    if first is not member:
        refuse_duplicate(member, first, mistakes)
