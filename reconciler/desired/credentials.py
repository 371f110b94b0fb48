"""Credentials are never read from `config/`: found there, they are a mistake that does not show them."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus

from reconciler.desired.files import File, place_after
from reconciler.desired.mistakes import FILE_LIMIT, MASK, Mistakes, place
from reconciler.desired.nodes import Broken, ListNode, MapNode, Member, Node, Scalar
from reconciler.desired.shapes import is_plain
from reconciler.desired.urls import USER_INFO
from reconciler.model.address import TARGET, TargetName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ANY_TARGET = "RECONCILER_<REGION>_<ENVIRONMENT>_"

_NAMES = re.compile(
    r"client\W?_?id|secret|passw|passphrase|token|bearer|credential|(api|access|private|signing)[\W_]?key"
    r"|^(pwd|pass|auth|authorization)$",
    re.IGNORECASE,
)
_ADDRESSES = r"(?i)(ur[il]|host|path|endpoint)s?$"
_USER_INFO = r"://[^/?#\s]*@"

_IN_WORD: Final = r"[^\s\"',\[]"
_LOOKS: Final = (
    (("AGE-SECRET-KEY-1", "age-secret-key-1"), r"(?i)AGE-SECRET-KEY-1[0-9a-z]{6,}", "an age secret key"),
    (
        ("PRIVATE KEY-----",),
        r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----(?=.{0,200}[A-Za-z0-9+/]{40}).*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)",
        "a private key",
    ),
    # In a URL it may be what an endpoint asks for.
    (
        ("eyJ",),
        rf"(?<!{_IN_WORD})(?!\{{|{_IN_WORD}{{0,200}}://){_IN_WORD}{{0,200}}eyJ[\w-]{{5,}}\.[\w-]{{5,}}\.[\w-]*",
        "an access token",
    ),
)
"""How a secret can be told that no variable holds: text that is always in it, its pattern, and what it is."""
_REMEDY = "remove it, and replace the secret: everyone who can read this file, or its history, can use it"


def forms(secrets: Mapping[str, str]) -> dict[str, str]:
    """`secrets` as they may be written in YAML and in URLs; the longest first, so that none is left in parts."""
    written = {
        form: variable
        for secret, variable in secrets.items()
        for form in (
            secret,
            *_in_urls(secret),
            json.dumps(secret)[1:-1],
            json.dumps(secret)[1:-1].replace("/", r"\/"),
            secret.replace("'", "''"),
        )
    }
    return {form: written[form] for form in sorted(written, key=len, reverse=True)}


def _in_urls(secret: str) -> Iterator[str]:
    """`secret` with percent escapes: of every sign or of those that a URL must not have, in capitals or not."""
    for escaped in (quote(secret, safe=""), quote_plus(secret), quote(secret), quote(secret, safe="!#$&'()*+,/:;=?@")):
        yield escaped
        yield re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), escaped)


def cover(file: File, mistakes: Mistakes) -> File:
    """Report every secret in the text of a file, comments among it, and cover it, so that nothing can show it later.

    The file itself if there is none. What is covered keeps its length: the places of other mistakes stay right.
    """
    known = [secret for secret in mistakes.secrets if secret.encode() in file.data]
    looks = [look for look in _LOOKS if any(mark.encode() in file.data for mark in look[0])]
    if not known and not looks:
        return file
    text = file.data.decode()
    for secret in known:
        text = _covered(text, re.escape(secret), f"the value of {mistakes.secrets[secret]}", file.name, mistakes)
    for _, pattern, what in looks:
        text = _covered(text, pattern, what, file.name, mistakes)
    return file if text.encode() == file.data else File(file.name, text.encode())


def _covered(text: str, pattern: str, what: str, name: str, mistakes: Mistakes) -> str:
    for found in islice(re.finditer(pattern, text), FILE_LIMIT):
        mistakes.add(place_after(name, text[: found.start()]), f"the file contains {what}", _REMEDY)
    return re.sub(pattern, lambda found: re.sub(r"\S", MASK, found[0]), text)


def without_covered(node: Node, mistakes: Mistakes) -> Node:
    """`node`, of a file in which secrets were covered: each text with one is reported already."""
    if isinstance(node, Scalar) and MASK in node.value:
        return Broken(node.file, node.line, node.column)
    if isinstance(node, ListNode):
        node.items = [without_covered(item, mistakes) for item in node.items]
    elif isinstance(node, MapNode):
        for member in node.members.values():
            member.value = without_covered(member.value, mistakes)
        kept = {name: member for name, member in node.members.items() if not _is_covered(member)}
        mistakes.hidden |= len(kept) < len(node.members)
        node.members = kept
    return node


def _is_covered(member: Member) -> bool:
    return MASK in member.key or (isinstance(member.value, Broken) and _is_credential(member.key))


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
