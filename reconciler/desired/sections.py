"""The top-level keys of all files, laid together: each thing may be said once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from reconciler.desired import shapes
from reconciler.desired.mistakes import Mistakes, listed, place, shown
from reconciler.desired.nodes import Broken, MapNode, Member, Node, refuse_duplicate
from reconciler.model.address import NAME, SPELLING, TARGET, TARGET_PATTERN

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

Members = dict[str, Member]

KEYS: Final = ("targets", "subscriptions", "recipients", "verification", "parity")


class Pattern(Struct):
    """A target or a pattern of targets under `subscriptions:`: one key for each file that has it, and all members.

    `misnamed` are those whose name, which is reported, cannot be that of a subscription.
    """

    keys: list[Member] = field(default_factory=list)
    members: Members = field(default_factory=dict)
    misnamed: list[Member] = field(default_factory=list)


class Sections(Struct):
    """What all files say; `single` holds the sections that can be given only once."""

    targets: Members = field(default_factory=dict)
    patterns: dict[str, Pattern] = field(default_factory=dict)
    single: Members = field(default_factory=dict)


def gather(roots: Iterable[Node], mistakes: Mistakes) -> Sections:
    """All files as one. What stands twice counts where it stands first, and is reported where it stands again."""
    sections = Sections()
    for root in roots:
        if isinstance(root, MapNode):
            for name, member in root.members.items():
                _add(name, member, sections, mistakes)
        elif not isinstance(root, Broken) and not shapes.is_plain(root, ""):
            mistakes.hide(place(root), "expected a mapping", f"valid keys: {listed(KEYS)}")
    return sections


def _add(name: str, member: Member, sections: Sections, mistakes: Mistakes) -> None:
    if name not in KEYS:
        if shapes.refuse_key(member, "a file", KEYS, mistakes) is not None:
            mistakes.hidden = True
    elif name == "targets":
        for target, declared in _members(member.value, name, mistakes).items():
            if _is_named(TARGET, declared, "a target region/environment", mistakes):
                _put(sections.targets, target, declared, mistakes)
            else:
                mistakes.hidden = True
    elif name == "subscriptions":
        for pattern, wanted in _members(member.value, name, mistakes).items():
            if _is_named(TARGET_PATTERN, wanted, "a pattern region/environment (either may be *)", mistakes):
                _add_pattern(sections.patterns.setdefault(pattern, Pattern()), wanted, mistakes)
    else:
        _put(sections.single, name, member, mistakes)


def _add_pattern(pattern: Pattern, member: Member, mistakes: Mistakes) -> None:
    pattern.keys.append(member)
    for name, wanted in (shapes.members(member.value, member.key, mistakes) or {}).items():
        if _is_named(NAME, wanted, "a subscription name", mistakes):
            _put(pattern.members, name, wanted, mistakes)
        else:
            pattern.misnamed.append(wanted)


def _members(node: Node, name: str, mistakes: Mistakes) -> Members:
    """The members of a section; where it is no mapping, whatever it was meant to declare is hidden."""
    members = shapes.members(node, name, mistakes)
    if members is None:
        mistakes.hidden = True
        return {}
    return members


def _is_named(rule: re.Pattern[str], member: Member, expected: str, mistakes: Mistakes) -> bool:
    if rule.fullmatch(member.key):
        return True
    mistakes.add(place(member), f"expected {expected}, got {shown(member.key)}", SPELLING)
    return False


def _put(members: Members, name: str, member: Member, mistakes: Mistakes) -> None:
    first = members.setdefault(name, member)
    if first is not member:
        refuse_duplicate(member, first, mistakes)
