"""What one pattern says of one subscription: a patch, to be laid over what more general patterns say."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from reconciler.desired import shapes, templates
from reconciler.desired.mistakes import Mistakes, listed, place, shown
from reconciler.desired.nodes import MapNode, Node, Scalar

if TYPE_CHECKING:
    from reconciler.desired.sections import Pattern

_CODE = re.compile("[A-Z]{3}[0-9]{5}")
_FAMILIES = ("LOA", "ONB")
_KEYS: Final = ("eventCodes", "webhookUrl")


class Codes(NamedTuple):
    """`eventCodes` as given: sorted, without what is mistaken. Unless `sound`, there is such."""

    value: tuple[str, ...]
    node: Node
    sound: bool = True


class Url(NamedTuple):
    """`webhookUrl` as given, before substitution, or None where it has a mistake."""

    value: str | None
    node: Node


class Patch(NamedTuple):
    """The fields that one pattern gives to one subscription; not `wanted` where it says `null`."""

    key: Scalar
    wanted: bool = True
    codes: Codes | None = None
    url: Url | None = None

    def over(self, general: Patch) -> Patch:
        """This patch laid over a more general one, field by field; over `null` it starts afresh."""
        if not self.wanted or not general.wanted:
            return self
        return Patch(self.key, codes=self.codes or general.codes, url=self.url or general.url)


def read(pattern: Pattern, mistakes: Mistakes) -> dict[str, Patch]:
    """The patches of one pattern by the subscription's name."""
    return {name: _patch(key, node, mistakes) for name, (key, node) in pattern.entries.items()}


def _patch(key: Scalar, node: Node, mistakes: Mistakes) -> Patch:
    fields = shapes.fields(node, key.value, _KEYS, mistakes) if isinstance(node, MapNode) else None
    if fields is None:
        return _patch_without_fields(key, node, mistakes)
    codes, url = fields.get("eventCodes"), fields.get("webhookUrl")
    return Patch(
        key,
        codes=None if codes is None else _codes(codes, mistakes),
        url=None if url is None else Url(_template(url, mistakes), url),
    )


def _patch_without_fields(key: Scalar, node: Node, mistakes: Mistakes) -> Patch:
    """What `null` says, or one of the things that were meant to say it."""
    if shapes.is_plain(node, "null"):
        return Patch(key, wanted=False)
    if shapes.is_empty(node):
        what = f"{key.value}: no value is given"
        mistakes.add(place(node), what, "write `null`, in full, where the subscription is not wanted")
    else:
        shapes.entries(node, key.value, mistakes)
    return Patch(key, codes=Codes((), node, sound=False), url=Url(None, node))


def _template(node: Node, mistakes: Mistakes) -> str | None:
    template = shapes.text(node, "webhookUrl", mistakes)
    if template is None or templates.is_sound(template):
        return template
    what = f"webhookUrl: {shown(template)} holds a brace that belongs to no placeholder"
    mistakes.add(
        place(node), what, "write {region}, {environment}, {name} or one of the target's vars; {{ and }} for braces"
    )
    return None


def _codes(node: Node, mistakes: Mistakes) -> Codes:
    items = shapes.items(node, "eventCodes", mistakes)
    if items is None:
        return Codes((), node, sound=False)
    if not (sound := bool(items)):
        mistakes.add(place(node), "eventCodes is empty", "name a code, or write null for the whole subscription")
    codes: dict[str, Node] = {}
    for item in items:
        code = _code(item, mistakes)
        if code is not None and codes.setdefault(code, item) is not item:
            what = f"the event code {code} stands at {place(codes[code])} in the same list already"
            mistakes.add(place(item), what, "keep one of the two")
            code = None
        sound = sound and code is not None
    return Codes(tuple(sorted(codes)), node, sound)


def _code(node: Node, mistakes: Mistakes) -> str | None:
    if type(node) is Scalar and _is_familiar(node.value):
        return node.value
    code = shapes.text(node, "eventCodes", mistakes)
    if code is None:
        return None
    if not _CODE.fullmatch(code):
        what = f"eventCodes: {shown(code)} is not an event code"
        mistakes.add(place(node), what, "write three capital letters and five digits, as in ONB10011")
        return None
    what = f"the event code {code} is of no documented family ({listed(_FAMILIES)})"
    mistakes.warn(place(node), what, "see whether it is meant")
    return code


@lru_cache(maxsize=4096)
def _is_familiar(code: str) -> bool:
    return code.startswith(_FAMILIES) and _CODE.fullmatch(code) is not None
