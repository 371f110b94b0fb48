"""What one pattern says of one subscription: a patch, to be laid over what more general patterns say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from reconciler.desired import shapes, templates
from reconciler.desired.mistakes import Mistakes, listed, place, shown
from reconciler.desired.nodes import MapNode, Member, Node, Scalar

if TYPE_CHECKING:
    from reconciler.desired.sections import Pattern

CODE = re.compile("[A-Z]{3}[0-9]{5}")
_FAMILIES = ("LOA", "ONB")
_FAMILIAR = re.compile(f"(?:{'|'.join(_FAMILIES)})[0-9]{{5}}")
_KEYS: Final = ("eventCodes", "webhookUrl")


class Codes(Struct, frozen=True, gc=False):
    """`eventCodes` as given: sorted, without what is mistaken. Unless `sound`, there is such."""

    value: tuple[str, ...]
    node: Node
    sound: bool = True


class Url(Struct, frozen=True, gc=False):
    """`webhookUrl` as given, before substitution, or None where it has a mistake."""

    value: str | None
    node: Node


class Patch(Struct, frozen=True, gc=False):
    """The fields that one pattern gives to one subscription; not `wanted` where it says `null`."""

    key: Member
    wanted: bool = True
    codes: Codes | None = None
    url: Url | None = None

    def over(self, general: Patch) -> Patch:
        """This patch laid over a more general one, field by field; over `null` it starts afresh."""
        if not self.wanted or not general.wanted:
            return self
        return Patch(self.key, codes=self.codes or general.codes, url=self.url or general.url)


def read(pattern: Pattern, mistakes: Mistakes) -> dict[str, Patch]:
    """The patches of one pattern by the subscription's name. Of what is misnamed, only the mistakes are reported."""
    for member in pattern.misnamed:
        _patch(member, mistakes)
    return {name: _patch(member, mistakes) for name, member in pattern.members.items()}


def _patch(member: Member, mistakes: Mistakes) -> Patch:
    node = member.value
    fields = shapes.fields(node, member.key, _KEYS, mistakes) if isinstance(node, MapNode) else None
    if fields is None:
        return _patch_without_fields(member, mistakes)
    codes, url = fields.get("eventCodes"), fields.get("webhookUrl")
    return Patch(
        member,
        codes=None if codes is None else _codes(codes, mistakes),
        url=None if url is None else Url(_template(url, mistakes), url),
    )


def _patch_without_fields(member: Member, mistakes: Mistakes) -> Patch:
    """What `null` says, or one of the things that were meant to say it."""
    node = member.value
    if shapes.is_plain(node, "null"):
        return Patch(member, wanted=False)
    if shapes.is_empty(node):
        remedy = "to exclude the subscription here, write `null` in full"
        mistakes.add(place(node), f"{member.key}: no value", remedy)
    else:
        shapes.members(node, member.key, mistakes)
    return Patch(member, codes=Codes((), node, sound=False), url=Url(None, node))


def _template(node: Node, mistakes: Mistakes) -> str | None:
    template = shapes.text(node, "webhookUrl", mistakes)
    if template is None or templates.is_sound(template):
        return template
    what = f"webhookUrl: unmatched brace in {shown(template)}"
    remedy = "use {region}, {environment}, {name} or a variable of the target; write {{ and }} for literal braces"
    mistakes.add(place(node), what, remedy)
    return None


def _codes(node: Node, mistakes: Mistakes) -> Codes:
    items = shapes.items(node, "eventCodes", mistakes)
    if items is None:
        return Codes((), node, sound=False)
    values = [item.value for item in items if type(item) is Scalar]
    if values and len(set(values)) == len(items) and all(map(_FAMILIAR.fullmatch, values)):
        return Codes(tuple(sorted(values)), node)
    return _odd_codes(node, items, mistakes)


def _odd_codes(node: Node, items: list[Node], mistakes: Mistakes) -> Codes:
    """Codes of which something has to be said, or nothing at all where codes should be."""
    if not (sound := bool(items)):
        remedy = "add a code, or write null for the subscription to exclude it"
        mistakes.add(place(node), "eventCodes is empty", remedy)
    codes: dict[str, Node] = {}
    for item in items:
        code = _code(item, mistakes)
        if code is not None and codes.setdefault(code, item) is not item:
            what = f"duplicate event code {code}: already listed at {place(codes[code])}"
            mistakes.add(place(item), what, "remove one of them")
            code = None
        sound = sound and code is not None
    return Codes(tuple(sorted(codes)), node, sound)


def _code(node: Node, mistakes: Mistakes) -> str | None:
    code = shapes.text(node, "eventCodes", mistakes)
    if code is None:
        return None
    if not CODE.fullmatch(code):
        what = f"eventCodes: not an event code: {shown(code)}"
        mistakes.add(place(node), what, "use three capital letters and five digits, for example ONB10011")
        return None
    if not _FAMILIAR.fullmatch(code):
        what = f"event code {code} is not in a documented family ({listed(_FAMILIES)})"
        mistakes.warn(place(node), what, "check for a typo")
    return code
