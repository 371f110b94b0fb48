"""Credentials are never read from `config/`: found there, they are a mistake that does not show them."""

from __future__ import annotations

import re
from functools import lru_cache

from reconciler.desired.mistakes import Mistakes, place
from reconciler.desired.nodes import ListNode, MapNode, Member, Node, Scalar
from reconciler.desired.shapes import is_plain
from reconciler.desired.urls import USER_INFO
from reconciler.model.address import TARGET, TargetName

_ANY_TARGET = "RECONCILER_<REGION>_<ENVIRONMENT>_"

_NAMES = re.compile(
    r"client\W?_?id|secret|passw|passphrase|token|bearer|credential|(api|access|private|signing)[\W_]?key"
    r"|^(pwd|pass|auth|authorization)$",
    re.IGNORECASE,
)
_ADDRESSES = r"(?i)(ur[il]|host|path|endpoint)s?$"
_USER_INFO = r"://[^/?#\s]*@"


def remove(node: Node, mistakes: Mistakes, prefix: str = _ANY_TARGET) -> None:
    """Report every credential under `node`, and take it out so that nothing else is said about it.

    A credential is a value under a key that is called like one, in any spelling; a URL with user info is reported and
    stays. `prefix` begins the names of the variables to use instead.
    """
    if isinstance(node, MapNode):
        _remove_members(node, mistakes, prefix)
    elif isinstance(node, ListNode):
        for item in node.items:
            if not isinstance(item, Scalar) or "@" in item.value:
                remove(item, mistakes, prefix)
    elif isinstance(node, Scalar) and re.search(_USER_INFO, node.value):
        mistakes.add(place(node), "the value " + USER_INFO.what, USER_INFO.remedy)


def _remove_members(node: MapNode, mistakes: Mistakes, prefix: str) -> None:
    credentials = []
    for name, member in node.members.items():
        value = member.value
        if isinstance(value, MapNode):
            is_target = "/" in name and TARGET.fullmatch(name)
            _remove_members(value, mistakes, TargetName(name).variable_prefix if is_target else prefix)
        elif _is_credential(name) and not is_plain(value, "null"):
            _refuse(member, prefix, mistakes)
            credentials.append(name)
        elif not isinstance(value, Scalar) or "@" in value.value:
            remove(value, mistakes, prefix)
    for name in credentials:
        del node.members[name]


@lru_cache(maxsize=1024)
def _is_credential(name: str) -> bool:
    return bool(_NAMES.search(name)) and not re.search(_ADDRESSES, name)


def _refuse(member: Member, prefix: str, mistakes: Mistakes) -> None:
    field = "CLIENT_ID" if member.key.lower().endswith("id") else "CLIENT_SECRET"
    remedy = f"set {prefix}{field} in the environment instead; if this was ever committed, replace the credential"
    mistakes.add(place(member), "credentials are not allowed in the configuration", remedy)
