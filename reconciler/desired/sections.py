"""The top-level keys of all files, laid together: each thing may be said once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from reconciler.desired import shapes
from reconciler.desired.mistakes import Mistakes, listed, place, shown
from reconciler.desired.nodes import Broken, MapNode, Node, Scalar, refuse_duplicate
from reconciler.model.address import NAME, SPELLING, TARGET, TARGET_PATTERN

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

Entries = dict[str, tuple[Scalar, Node]]

KEYS: Final = ("targets", "subscriptions", "recipients", "verification", "parity")


class Pattern(Struct):
    """A target or a pattern of targets under `subscriptions:`: its keys, one for each file that has it."""

    keys: list[Scalar] = field(default_factory=list)
    entries: Entries = field(default_factory=dict)


class Sections(Struct):
    """What all files say; `single` holds the sections that can be given only once."""

    targets: Entries = field(default_factory=dict)
    patterns: dict[str, Pattern] = field(default_factory=dict)
    single: Entries = field(default_factory=dict)


def gather(roots: Iterable[Node], mistakes: Mistakes) -> Sections:
    """All files as one. What stands twice counts where it stands first, and is reported where it stands again."""
    sections = Sections()
    for root in roots:
        if isinstance(root, MapNode):
            for name, entry in root.entries.items():
                _add(name, entry, sections, mistakes)
        elif not isinstance(root, Broken) and not shapes.is_plain(root, ""):
            mistakes.hide(place(root), "expected a mapping", f"valid keys: {listed(KEYS)}")
    return sections


def _add(name: str, entry: tuple[Scalar, Node], sections: Sections, mistakes: Mistakes) -> None:
    key, node = entry
    if name not in KEYS:
        shapes.refuse_key(key, "a file", KEYS, mistakes)
    elif name == "targets":
        for target, declared in _entries(node, name, mistakes).items():
            if _is_named(TARGET, declared[0], "a target region/environment", mistakes):
                _put(sections.targets, target, declared, mistakes)
    elif name == "subscriptions":
        for pattern, wanted in _entries(node, name, mistakes).items():
            if _is_named(TARGET_PATTERN, wanted[0], "a pattern region/environment (either may be *)", mistakes):
                _add_pattern(sections.patterns.setdefault(pattern, Pattern()), wanted, mistakes)
    else:
        _put(sections.single, name, entry, mistakes)


def _add_pattern(pattern: Pattern, entry: tuple[Scalar, Node], mistakes: Mistakes) -> None:
    key, node = entry
    pattern.keys.append(key)
    for name, wanted in (shapes.entries(node, key.value, mistakes) or {}).items():
        if _is_named(NAME, wanted[0], "a subscription name", mistakes):
            _put(pattern.entries, name, wanted, mistakes)


def _entries(node: Node, name: str, mistakes: Mistakes) -> Entries:
    """The entries of a section; where it is no mapping, whatever it was meant to declare is hidden."""
    entries = shapes.entries(node, name, mistakes)
    if entries is None:
        mistakes.hidden = True
        return {}
    return entries


def _is_named(rule: re.Pattern[str], key: Scalar, expected: str, mistakes: Mistakes) -> bool:
    if rule.fullmatch(key.value):
        return True
    mistakes.add(place(key), f"expected {expected}, got {shown(key.value)}", SPELLING)
    return False


def _put(entries: Entries, name: str, entry: tuple[Scalar, Node], mistakes: Mistakes) -> None:
    first = entries.setdefault(name, entry)
    if first is not entry:
        refuse_duplicate(entry[0], first[0], mistakes)
