"""Finds credentials in `config/`, where they are a mistake, and keeps them out of every message."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus

from reconciler.desired.fields import STATE
from reconciler.desired.files import File, place_after
from reconciler.desired.mistakes import FILE_LIMIT, MASK, Mistakes
from reconciler.desired.nodes import ListNode, MapNode, Member, Node, Scalar
from reconciler.desired.reading import is_plain
from reconciler.desired.urls import USER_INFO
from reconciler.model.address import TARGET, TargetName
from reconciler.values import SHORTEST_SECRET

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_ANY_TARGET = "RECONCILER_<REGION>_<ENVIRONMENT>_"

_NAMES = re.compile(
    r"client\W?_?id|secret|passw|passphrase|token|bearer|credential|(api|access|private|signing)[\W_]?key"
    r"|^(pwd|pass|auth|authorization)$",
    re.IGNORECASE,
)
_ADDRESSES = r"(?i)(ur[il]|host|path|endpoint)s?$"
_USER_INFO = r"://[^/?#\s]*@"
_PASSWORD = r"(?i)://[^/?#\s]*:[^/?#\s]*@|https?://[^/?#\s]*@|[?&](ssl)?password="  # noqa: S105 - a pattern
"""Matches a URL that contains a password. In ssh and database URLs, a user name without a password is allowed."""

_IN_WORD: Final = r"[^\s\"',\[]"
_LOOKS: Final = (
    (("AGE-SECRET-KEY-1", "age-secret-key-1"), r"(?i)AGE-SECRET-KEY-1[0-9a-z]{6,}", "an age secret key"),
    (("PRIVATE KEY-----",),
        r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----(?=.{0,200}[A-Za-z0-9+/]{40}).*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)",
        "a private key"),
    # In a URL, such a parameter may be required by the endpoint.
    (("eyJ",),
        rf"(?<!{_IN_WORD})(?!\{{|{_IN_WORD}{{0,200}}://){_IN_WORD}{{0,200}}eyJ[\w-]{{5,}}\.[\w-]{{5,}}\.[\w-]*",
        "an access token"),
)  # fmt: skip
"""Kinds of secrets that no variable holds.

Each kind has marks (a secret contains at least one of them), a pattern, and a description.
"""

_SECRETS: Final = (
    "GITHUB_TOKEN", "GH_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_SAS_TOKEN", "AZURE_CLIENT_SECRET", "PGPASSWORD",
)  # fmt: skip
"""The variables that hold secrets, in addition to each target's client secret."""

_LONG_WORD = 16


def secrets(targets: Iterable[str], lookup: Callable[[str], str | None]) -> dict[str, str]:
    """Return the forms that secrets can have in YAML or in a URL, longest first, each with the variable of its secret.

    Short secrets and plain words are left out, because they may occur in any text.
    """
    forms: dict[str, str] = {}
    for name in (*_SECRETS, *(f"{TargetName(target).variable_prefix}CLIENT_SECRET" for target in targets)):
        value = (lookup(name) or "").strip()
        are_words = value.islower() and value.replace("-", "").replace("_", "").isalpha()
        if len(value) >= (_LONG_WORD if are_words else SHORTEST_SECRET):
            forms |= dict.fromkeys(_forms(value), name)
    return {form: forms[form] for form in sorted(forms, key=len, reverse=True)}


def _forms(secret: str) -> set[str]:
    """Return the forms of `secret`: plain, escaped for YAML, and percent-encoded in part or in full."""
    import json  # noqa: PLC0415 - only where a secret is set

    escaped = {quote(secret, safe=kept) for kept in ("", "/", "!#$&'()*+,/:;=?@")} | {quote_plus(secret)}
    lower = {re.sub("%[0-9A-F]{2}", lambda escape: escape[0].lower(), form) for form in escaped}
    quoted = {json.dumps(secret, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)}
    return {secret, *quoted, secret.replace("'", "''"), *escaped, *lower}


def cover(file: File, known: Mapping[str, str], mistakes: Mistakes) -> File:
    """Report every secret in the text of a file, including its comments, and return the file with the secrets masked.

    Returns the same file if it contains no secret. A mask is as long as the secret, so that other mistakes keep their
    positions.
    """
    written = [secret for secret in known if secret.encode() in file.data]
    looks = [look for look in _LOOKS if any(mark.encode() in file.data for mark in look[0])]
    if not written and not looks:
        return file
    text = file.data.decode()
    patterns = [(re.escape(secret), f"the value of {known[secret]}") for secret in written]
    for pattern, what in [*patterns, *(look[1:] for look in looks)]:
        for match in islice(re.finditer(pattern, text), FILE_LIMIT):
            remedy = "remove it, and replace the secret: everyone who can read this file, or its history, can use it"
            mistakes.add("secret", place_after(file.name, text[: match.start()]), f"the file contains {what}", remedy)
        text = re.sub(pattern, lambda match: re.sub(r"\S", MASK, match[0]), text)
    return File(file.name, text.encode())


def remove(node: Node, mistakes: Mistakes, prefix: str = _ANY_TARGET) -> None:
    """Report every credential under `node`, and remove it so that no other mistake is reported about it.

    A credential is a value whose key names a secret, in any spelling. A URL with user info is reported, but not
    removed. The names of the variables to use instead begin with `prefix`.
    """
    if isinstance(node, ListNode):
        for item in node.value:
            if type(item) is not Scalar or "@" in item.value:
                remove(item, mistakes, prefix)
    elif isinstance(node, Scalar) and re.search(_USER_INFO, node.value):
        mistakes.add(USER_INFO.name, node, "the value " + USER_INFO.what, USER_INFO.remedy)
    elif isinstance(node, MapNode):
        for name, member in [*node.value.items()]:
            value = member.value
            if type(value) is MapNode:
                is_target = "/" in name and TARGET.fullmatch(name)
                remove(value, mistakes, TargetName(name).variable_prefix if is_target else prefix)
            elif (
                type(value) is not Scalar or "@" in value.value or _is_credential(name) or name == STATE.name
            ) and _is_refused(member, mistakes, prefix):
                del node.value[name]


def _is_refused(member: Member, mistakes: Mistakes, prefix: str) -> bool:
    """Return True if a member is a credential, and report the credential."""
    name, value = member.key, member.value
    if _is_credential(name) and not is_plain(value, "null"):
        field = "CLIENT_ID" if name.lower().endswith("id") else "CLIENT_SECRET"
        remedy = f"set {prefix}{field} in the environment instead; if this was ever committed, replace the credential"
        mistakes.add("credential", member, "credentials are not allowed in the configuration", remedy)
        return True
    if name == STATE.name and isinstance(value, Scalar):
        if re.search(_PASSWORD, value.value):
            remedy = "remove it; use a git credential helper, the variables of the object store, or PGPASSWORD"
            mistakes.add("state-password", value, "state: the place contains a password", remedy)
            return True
    elif type(value) is not Scalar or "@" in value.value:
        remove(value, mistakes, prefix)
    return False


@lru_cache(maxsize=1024)
def _is_credential(name: str) -> bool:
    return bool(_NAMES.search(name)) and not re.search(_ADDRESSES, name)
