"""Merges the top-level keys of all files, and reads the sections `recipients`, `verification` and `parity`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from reconciler.desired import reading
from reconciler.desired.fields import (
    FILE,
    IGNORE,
    IGNORED,
    PARITY,
    PATTERN,
    RECIPIENT,
    RECIPIENTS,
    SUBSCRIPTIONS,
    TARGETS,
    VERIFICATION,
)
from reconciler.desired.mistakes import Mistakes, listed, place
from reconciler.desired.nodes import Broken, ListNode, MapNode, Member, Node, Scalar, refuse_duplicate
from reconciler.errors import Place
from reconciler.model.desired import ParityException, Verification

if TYPE_CHECKING:
    from collections.abc import Iterable


Members = dict[str, Member]
Lookup = Callable[[str], str | None]
"""A function that returns the value of a variable by name, or None if the variable is unset."""


class Pattern(Struct):
    """A target or a pattern under `subscriptions:`, with its key in each file that contains it, and its members.

    `misnamed` are the members with invalid names, which have already been reported.
    """

    keys: list[Member] = field(default_factory=list)
    members: Members = field(default_factory=dict)
    misnamed: list[Member] = field(default_factory=list)


class Sections(Struct):
    """The merged files; `single` holds the sections that may occur only once."""

    targets: Members = field(default_factory=dict)
    patterns: dict[str, Pattern] = field(default_factory=dict)
    single: Members = field(default_factory=dict)


def gather(roots: Iterable[Node], mistakes: Mistakes) -> Sections:
    """Return the merged files. A duplicate key is reported where it is repeated, and its first value is used."""
    sections = Sections()
    for root in roots:
        if isinstance(root, MapNode):
            for name, member in root.value.items():
                _add(name, member, sections, mistakes)
        elif not isinstance(root, Broken) and not reading.is_plain(root, ""):
            mistakes.hide("file-not-mapping", root, "expected a mapping", f"valid keys: {listed(FILE.known)}")
    return sections


def _add(name: str, member: Member, sections: Sections, mistakes: Mistakes) -> None:
    if name not in FILE.known:
        if reading.refuse_key(member, FILE.name, FILE.known, mistakes) is not None:
            mistakes.hidden = True
    elif name == TARGETS.name:
        targets = reading.content(member.value, MapNode, name, mistakes)
        mistakes.hidden |= targets is None
        for target, declared in (targets or {}).items():
            if reading.is_named(TARGETS, declared, mistakes):
                _put(sections.targets, target, declared, mistakes)
            else:
                mistakes.hidden = True
    elif name == SUBSCRIPTIONS.name:
        patterns = reading.content(member.value, MapNode, name, mistakes)
        mistakes.hidden |= patterns is None
        for pattern, wanted in (patterns or {}).items():
            if reading.is_named(SUBSCRIPTIONS, wanted, mistakes):
                _add_pattern(sections.patterns.setdefault(pattern, Pattern()), wanted, mistakes)
    else:
        _put(sections.single, name, member, mistakes)


def _add_pattern(pattern: Pattern, member: Member, mistakes: Mistakes) -> None:
    pattern.keys.append(member)
    for name, wanted in (reading.content(member.value, MapNode, member.key, mistakes) or {}).items():
        if reading.is_named(PATTERN, wanted, mistakes):
            _put(pattern.members, name, wanted, mistakes)
        else:
            pattern.misnamed.append(wanted)


def _put(members: Members, name: str, member: Member, mistakes: Mistakes) -> None:
    first = members.setdefault(name, member)
    if first is not member:
        refuse_duplicate(member, first, mistakes)


RECIPIENTS_VARIABLE: Final = "RECONCILER_RECIPIENTS"


def read_recipients(node: Node | None, lookup: Lookup, mistakes: Mistakes) -> tuple[str, ...]:
    """Return the recipients in the order given.

    Error messages never quote a recipient, because the user may have entered a private key by mistake. If the section
    is missing, the recipients come from RECONCILER_RECIPIENTS. If both are set, they must name the same recipients.
    """
    given = (lookup(RECIPIENTS_VARIABLE) or "").replace(",", " ").split()
    usable = {recipient for recipient in given if _check(recipient, Place(RECIPIENTS_VARIABLE, 0, 0), mistakes)}
    if node is None:
        return tuple(dict.fromkeys(given))
    items = reading.content(node, ListNode, RECIPIENTS.name, mistakes)
    if items == []:
        mistakes.add("no-recipients", node, "recipients is empty", "add one, or remove the section")
    written: dict[str, Node] = {}
    for item in items or []:
        key = reading.content(item, Scalar, RECIPIENTS.name, mistakes)
        if key is None or not _check(key, place(item), mistakes):
            continue
        if written.setdefault(key, item) is not item:
            what = f"duplicate recipient: already listed at {place(written[key])}"
            mistakes.add("duplicate-recipient", item, what, "remove one of them")
    is_sound = usable == {*given} and items is not None and len(items) == len(written)
    if given and is_sound and usable != written.keys():
        what = f"recipients: {RECIPIENTS_VARIABLE} names different keys"
        mistakes.add_first("other-recipients", node, what, "name the same keys in both, or set only one of the two")
    return tuple(written)


def _check(recipient: str, at: Place, mistakes: Mistakes) -> bool:
    """True if data can be encrypted to a recipient. An invalid recipient is reported."""
    remedy = "use the public key (age1 and 58 characters), never the secret key"
    if re.fullmatch(RECIPIENT.pattern, recipient):  # age also accepts capitals, so one key could become two recipients
        import pyrage  # type: ignore[import-untyped]  # noqa: PLC0415 - most starts need not pay for it

        try:
            pyrage.x25519.Recipient.from_str(recipient)
        except pyrage.RecipientError:
            remedy = "its checksum does not match (a typo?); copy the line that `age-keygen -y` prints"
        else:
            return True
    mistakes.add("bad-recipient", at, "recipients: not an age X25519 public key", remedy)
    return False


def read_verification(node: Node, mistakes: Mistakes) -> Verification | None:
    """Return the signature scheme of notifications, or None if the section has a mistake."""
    values = reading.mapping(node, VERIFICATION, mistakes)
    return None if values is None else Verification(**values)


def read_parity(node: Node, mistakes: Mistakes) -> tuple[ParityException, ...]:
    """Return the exceptions under `parity: {ignore: […]}` in the order given."""
    given = reading.fields(node, PARITY.name, PARITY.known, mistakes) or {}
    items = reading.content(given[IGNORE.name], ListNode, IGNORE.name, mistakes) if IGNORE.name in given else []
    read = ((item, reading.mapping(item, IGNORED, mistakes)) for item in items or [])
    return tuple(ParityException(**values, place=place(item)) for item, values in read if values is not None)
