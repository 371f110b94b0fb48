"""Reads patches: the fields that a pattern sets for a subscription, which override more general patterns."""

from __future__ import annotations

import re
from typing import Final, Generic, TypeVar

from msgspec import Struct

from reconciler.desired import reading, urls
from reconciler.desired.fields import CODE, EVENT_CODES, FAMILIES, SUBSCRIPTION, VARIABLE, WEBHOOK_URL
from reconciler.desired.mistakes import Mistakes, place, shown
from reconciler.desired.nodes import ListNode, MapNode, Member, Node, Scalar
from reconciler.model.url import ATTEMPT

_FAMILIAR = re.compile(f"(?:{'|'.join(FAMILIES)})[0-9]{{5}}")
_Value = TypeVar("_Value", str, tuple[str, ...])

_KEYS: Final = SUBSCRIPTION.known
_SOUND = re.compile(rf"(?:[^{{}}]++|\{{\{{|\}}\}}|\{{{VARIABLE}\}})*+")
_PIECE = rf"\{{\{{|\}}\}}|\{{({VARIABLE})\}}"


class Given(Struct, Generic[_Value], frozen=True, gc=False):
    """The value of a field and its node. `sound` is false if the value has a mistake.

    Event codes are sorted, and invalid codes are left out. Variables in a webhook URL are not yet substituted.
    """

    value: _Value
    node: Node
    sound: bool = True


class Patch(Struct, frozen=True, gc=False):
    """The fields that a pattern sets for a subscription. `wanted` is false if `null` excludes the subscription."""

    key: Member
    wanted: bool = True
    codes: Given[tuple[str, ...]] | None = None
    url: Given[str] | None = None

    def over(self, general: Patch) -> Patch:
        """Return this patch, completed with the fields of a more general patch unless one of the two is `null`."""
        if not self.wanted or not general.wanted:
            return self
        return Patch(self.key, codes=self.codes or general.codes, url=self.url or general.url)


def patch_of(member: Member, mistakes: Mistakes, name: str = "") -> Patch:
    """Return the patch that a member of a pattern describes. Messages show `name` or, without one, the member's key."""
    node, name = member.value, name or member.key
    if isinstance(node, MapNode):
        given = reading.fields(node, name, _KEYS, mistakes) or {}
        codes, url = given.get("eventCodes"), given.get("webhookUrl")
        return Patch(
            member,
            codes=None if codes is None else _codes(codes, mistakes),
            url=None if url is None else _template(url, mistakes),
        )
    if reading.is_plain(node, "null"):
        return Patch(member, wanted=False)
    if reading.is_empty(node):
        remedy = "to exclude the subscription here, write `null` in full"
        mistakes.add("empty-subscription", node, f"{name}: no value", remedy)
    else:
        reading.content(node, MapNode, name, mistakes)
    return Patch(member, codes=Given((), node, sound=False), url=Given("", node, sound=False))


def _template(node: Node, mistakes: Mistakes) -> Given[str]:
    template = reading.content(node, Scalar, WEBHOOK_URL.name, mistakes)
    if template is None:
        return Given("", node, sound=False)
    if len(template) > urls.LENGTH_LIMIT:
        mistakes.add(urls.TOO_LONG.name, node, f"webhookUrl {urls.TOO_LONG.what}", urls.TOO_LONG.remedy)
    elif not _SOUND.fullmatch(template):
        what = f"webhookUrl: unmatched brace in {shown(template)}"
        mistakes.add("unmatched-brace", node, what, WEBHOOK_URL.remedy)
    elif attempt_variables(template) > 1:
        mistakes.add("attempt-twice", node, f"webhookUrl: {ATTEMPT} occurs more than once", "remove all but one")
    else:
        return Given(template, node)
    return Given("", node, sound=False)


def attempt_variables(template: str) -> int:
    """Return how often the variable `{attempt}` occurs in a template. Text between doubled braces does not count."""
    if "{{" not in template:
        return template.count(ATTEMPT)
    return sum(piece[1] == "attempt" for piece in re.finditer(_PIECE, template))


def _codes(node: Node, mistakes: Mistakes) -> Given[tuple[str, ...]]:
    items = reading.content(node, ListNode, EVENT_CODES.name, mistakes)
    if items is None:
        return Given((), node, sound=False)
    values = [item.value for item in items if type(item) is Scalar]  # the common case, checked without messages
    if values and len(set(values)) == len(items) and all(map(_FAMILIAR.fullmatch, values)):
        return Given(tuple(sorted(values)), node)
    return _valid_codes(node, items, mistakes)


def _valid_codes(node: Node, items: list[Node], mistakes: Mistakes) -> Given[tuple[str, ...]]:
    """Report mistakes in event codes, and return the valid codes."""
    if not items:
        remedy = "add a code, or write null for the subscription to exclude it"
        mistakes.add("no-codes", node, "eventCodes is empty", remedy)
    codes: dict[str, Node] = {}
    for item in items:
        code = reading.scalar(item, CODE, mistakes)
        if code is None:
            continue
        if codes.setdefault(code, item) is not item:
            what = f"duplicate event code {code}: already listed at {place(codes[code])}"
            mistakes.add("duplicate-code", item, what, "remove one of them")
        elif not _FAMILIAR.fullmatch(code):
            what = f"event code {code} is not in a documented family ({', '.join(FAMILIES)})"
            mistakes.warn("unfamiliar-code", item, what, "check for a typo")
    return Given(tuple(sorted(codes)), node, 0 < len(codes) == len(items))
