"""Reads declared targets: their variables, and their URLs, which environment variables may override."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from reconciler.desired import reading, urls
from reconciler.desired.fields import AUDIENCE_BASE, AUTH_URL, BASE_URL, OVERLAP, REPLACE, TARGET_KEYS, UNKNOWN, VARS
from reconciler.desired.mistakes import Mistakes, place
from reconciler.desired.nodes import MapNode, Member, Node, Scalar
from reconciler.model.address import TargetName
from reconciler.model.desired import Overlap, Replace, Target, Unknown
from reconciler.model.url import ATTEMPT

if TYPE_CHECKING:
    from reconciler.desired.fields import Field
    from reconciler.desired.sections import Lookup, Members

_KEYS: Final = tuple(key.name for key in TARGET_KEYS)


class Declared(Struct, frozen=True):
    """A declared target, without the parts that have mistakes.

    `variables` includes the reserved ones. A variable without a usable value is None, and `variables` itself is None if
    `vars` cannot be read. `unknown` is the node of `unknown:`, if given.
    """

    target: Target | None
    variables: dict[str, str | None] | None
    unknown: Node | None = None


def read(members: Members, lookup: Lookup, mistakes: Mistakes) -> dict[TargetName, Declared]:
    """Return the declared targets, sorted by name."""
    names = sorted(map(TargetName, members))
    owners: dict[str, TargetName] = {}
    for name in sorted(names, key=lambda name: place(members[name])):
        # The credentials of one target would be sent to the other.
        owner = owners.setdefault(name.variable_prefix, name)
        if owner != name:
            what = f"targets {name} and {owner} use the same environment variables ({name.variable_prefix}…)"
            mistakes.add("shared-variables", members[name], what, "rename one of them")
    return {name: _Reader(name, members[name], lookup, mistakes).read() for name in names}


class _Reader(Struct):
    """Reads one target."""

    name: TargetName
    member: Member
    lookup: Lookup
    mistakes: Mistakes
    overridden: list[str] = field(default_factory=list)

    def read(self) -> Declared:
        node = self.member.value
        given = reading.fields(node, self.name, _KEYS, self.mistakes)
        if given is None:
            return Declared(None, None)
        auth_url, base_url = (self._url(key, given) for key in (AUTH_URL, BASE_URL))
        audience_base = self._url(AUDIENCE_BASE, given)
        if audience_base == "":
            audience_base = base_url
        overlap, replace, unknown = (
            reading.scalar(given[key.name], key, self.mistakes) if key.name in given else default
            for key, default in ((OVERLAP, Overlap.REFUSE), (REPLACE, Replace.OVERLAP), (UNKNOWN, Unknown.WAIT))
        )
        variables = self._variables(given.get(VARS.name))
        if variables is not None and isinstance(node, MapNode):  # a variable may stand next to `vars` by mistake
            variables = {**{name: None for name in node.value if name not in _KEYS}, **variables}
        target = None
        if auth_url and base_url and audience_base and overlap and replace and unknown:
            rules = Overlap(overlap), Replace(replace), Unknown(unknown)
            at, overridden = place(self.member), tuple(self.overridden)
            target = Target(self.name, auth_url, base_url, audience_base, *rules, at, overridden)
        return Declared(target, variables, given.get(UNKNOWN.name))

    def _url(self, key: Field, given: dict[str, Node]) -> str | None:
        """Return the URL in use for a key, "" if the key is optional and absent, or None if the URL has a mistake."""
        name, variable = key.name, f"{self.name.variable_prefix}{key.name.upper()}"
        url: str | None = ""
        if name in given:
            url = reading.content(given[name], Scalar, name, self.mistakes)
            if url is not None:
                url = self._checked(url, name, given[name])
        if override := self.lookup(variable):
            self.overridden.append(name)
            return self._checked(override, f"the variable {variable}", self.member)
        if url == "" and key is not AUDIENCE_BASE:
            remedy = f"add `{name}: https://…`, or set {variable}"
            self.mistakes.add("missing-address", self.member, f"{self.name}: missing {name}", remedy)
        return url

    def _checked(self, url: str, name: str, at: Node | Member) -> str | None:
        fault = urls.base_fault(url)
        if fault is None:
            return url.rstrip("/")
        add = self.mistakes.add if at is self.member else self.mistakes.add_first
        add(fault.name, at, f"{name} {fault.what}", fault.remedy)
        return None

    def _variables(self, node: Node | None) -> dict[str, str | None] | None:
        region, _, environment = self.name.partition("/")
        reserved = {"region": region, "environment": environment, "attempt": ATTEMPT}
        given = {} if node is None else reading.content(node, MapNode, VARS.name, self.mistakes)
        if given is None or VARS.item is None:
            return None
        named = [member for member in given.values() if reading.is_named(VARS, member, self.mistakes)]
        return {each.key: reading.scalar(each.value, VARS.item, self.mistakes) for each in named} | reserved
