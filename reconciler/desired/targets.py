"""Declared targets: their addresses, overridden by the environment, and their variables."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct

from reconciler.desired import shapes, urls
from reconciler.desired.mistakes import Mistakes, place, shown
from reconciler.desired.nodes import MapNode
from reconciler.desired.templates import VARIABLE
from reconciler.model.address import TargetName
from reconciler.model.desired import Overlap, Replace, Target

if TYPE_CHECKING:
    from reconciler.desired.nodes import Member, Node
    from reconciler.desired.sections import Members
    from reconciler.mistake import Place

Override = Callable[[TargetName, str], tuple[str, str] | None]
"""How the environment overrides a field of a target (AUTH_URL, BASE_URL or AUDIENCE_BASE): the value and the variable's
name, or None if it does not."""

_KEYS: Final = ("auth_url", "base_url", "audience_base", "vars", "overlap", "replace")
RESERVED: Final = frozenset({"region", "environment", "name"})


_Word = TypeVar("_Word", bound=StrEnum)


class Declared(Struct, frozen=True):
    """A target that was declared, as far as it is free of mistakes.

    `variables` are those of the target with `region` and `environment`; one without a usable value is None, and so
    are all of them together where `vars` cannot be read. `written_base` is the `base_url` that `config` has, None if
    none that can be used; `base_variable` is the environment variable that overrides it, "" if none.
    """

    target: Target | None
    variables: dict[str, str | None] | None
    written_base: str | None = None
    base_variable: str = ""


def read(members: Members, override: Override, mistakes: Mistakes) -> dict[TargetName, Declared]:
    """The declared targets, sorted by name."""
    names = sorted(map(TargetName, members))
    _refuse_shared_variables(names, members, mistakes)
    return {name: _Reader(name, members[name], override, mistakes).read(members[name].value) for name in names}


def _refuse_shared_variables(names: list[TargetName], members: Members, mistakes: Mistakes) -> None:
    """Two targets whose variables have one name: the credentials of one would be sent to the other."""
    owners: dict[str, TargetName] = {}
    for name in sorted(names, key=lambda name: place(members[name])):
        owner = owners.setdefault(name.variable_prefix, name)
        if owner != name:
            what = f"targets {name} and {owner} use the same environment variables ({name.variable_prefix}…)"
            mistakes.add(place(members[name]), what, "rename one of them")


class _Reader:
    """One target while it is being read."""

    def __init__(self, name: TargetName, member: Member, override: Override, mistakes: Mistakes) -> None:
        self._name = name
        self._place = place(member)
        self._override = override
        self._mistakes = mistakes
        self._written: dict[str, str | None] = {}
        self._overriding: dict[str, str] = {}

    def read(self, node: Node) -> Declared:
        fields = shapes.fields(node, self._name, _KEYS, self._mistakes)
        if fields is None:
            return Declared(None, None)
        auth_url, base_url = (self._required(field, fields.get(field)) for field in ("auth_url", "base_url"))
        audience_base = self._url("audience_base", fields.get("audience_base"))
        if audience_base == "":
            audience_base = base_url
        overlap = self._choice("overlap", fields.get("overlap"), Overlap.REFUSE)
        replace = self._choice("replace", fields.get("replace"), Replace.OVERLAP)
        variables = self._variables(fields.get("vars"))
        if variables is not None and isinstance(node, MapNode):  # a variable may stand beside `vars` by mistake
            variables = {**{name: None for name in node.members if name not in _KEYS}, **variables}
        if auth_url and base_url and audience_base and overlap and replace:
            target = Target(self._name, auth_url, base_url, audience_base, overlap, replace, self._place)
            return Declared(target, variables, self._written["base_url"] or None, self._overriding.get("base_url", ""))
        return Declared(None, variables)

    def _required(self, field: str, node: Node | None) -> str | None:
        url = self._url(field, node)
        if url == "":
            variable = f"{self._name.variable_prefix}{field.upper()}"
            remedy = f"add `{field}: https://…`, or set {variable}"
            self._mistakes.add(self._place, f"{self._name}: missing {field}", remedy)
        return url

    def _url(self, field: str, node: Node | None) -> str | None:
        """The URL in use for a field: "" where none is given, None where it has a mistake."""
        written: str | None = ""
        if node is not None:
            written = shapes.text(node, field, self._mistakes)
            if written is not None:
                written = self._checked(written, field, place(node), self._mistakes.add_first)
        self._written[field] = written
        override = self._override(self._name, field.upper())
        if override is None:
            return written
        value, variable = override
        self._overriding[field] = variable
        return self._checked(value, f"the variable {variable}", self._place, self._mistakes.add)

    def _checked(self, url: str, name: str, at: Place, add: Callable[[Place, str, str], None]) -> str | None:
        fault = urls.base_fault(url)
        if fault is None:
            return url.rstrip("/")
        add(at, f"{name} {fault.what}", fault.remedy)
        return None

    def _choice(self, field: str, node: Node | None, default: _Word) -> _Word | None:
        if node is None:
            return default
        word = shapes.choice(node, field, list(type(default)), self._mistakes)
        return None if word is None else type(default)(word)

    def _variables(self, node: Node | None) -> dict[str, str | None] | None:
        given = {"region": self._name.region, "environment": self._name.environment}
        if node is None:
            return {**given}
        fields = shapes.members(node, "vars", self._mistakes)
        if fields is None:
            return None
        named = {name: member.value for name, member in fields.items() if self._is_variable(name, member)}
        return {name: shapes.text(value, name, self._mistakes) for name, value in named.items()} | given

    def _is_variable(self, name: str, member: Member) -> bool:
        if name in RESERVED:
            what = f"the variable name {name} is reserved"
            self._mistakes.add(place(member), what, "use another name")
        elif not re.fullmatch(VARIABLE, name):
            what = f"vars: invalid variable name {shown(name)}"
            self._mistakes.add(place(member), what, "use a-z, 0-9 and _, starting with a letter")
        else:
            return True
        return False
