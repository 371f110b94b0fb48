"""Selects the parts of a JSON body that may be shown or stored: error messages, ids, and values of the request.

Bodies are not documented and may hold a subscription's secret. The field names tell which values are secret: a value
under a name that suggests a secret is hidden wherever it occurs. If a body has too many secrets, none of its fields is
used.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from reconciler.service.redaction import excerpt, reveals
from reconciler.values import SHORTEST_SECRET

if TYPE_CHECKING:
    from collections.abc import Collection

    from reconciler.record.facts import Scalar

_MOST_FIELDS = 16
_CONSIDERED_FIELDS = 64
_FIELD_LENGTH = 128  # characters
_MOST_NODES = 2000  # of a body that is searched for secrets
_MOST_SECRET = 4096  # characters of all secrets in a body together
_OPAQUE = re.compile(r"[\w+=~-]{65,}")
_SECRET_NAME = re.compile(
    r"session|token|secret|password|credential|(sign\w*|hmac|private|api|access|verification)[_-]?key", re.IGNORECASE
)
_ERROR_TEXTS = ("message", "error", "title", "detail", "error_description")


def json_object(body: bytes) -> dict[str, object]:
    """Return the body as a JSON object, or an empty object if the body is anything else."""
    try:
        document = msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def error_text(body: bytes, secrets: Collection[str]) -> str:
    """Return the message of a JSON error, read from the usual fields; the API does not document its errors."""
    error = json_object(body)
    own = _secrets_of(error)
    if own is None:
        return ""
    texts = [text for name in _ERROR_TEXTS if isinstance(text := error.get(name), str) and text.strip()]
    return excerpt(", ".join(dict.fromkeys(texts)), [*secrets, *own])


def clear_fields(body: bytes, sent: Collection[str], secrets: Collection[str] = ()) -> dict[str, Scalar]:
    """Return the response fields that may be stored unencrypted: top-level ids, and values equal to those in `sent`.

    Returns at most 16 fields of 128 characters each. A field is left out if it may be a credential: a token, a long
    opaque text, one of `secrets` in any encoding, or the value of any field in the body whose name suggests a secret,
    such as a session id.
    """
    response = json_object(body)
    own = _secrets_of(response)
    if own is None:
        return {}
    hidden = {*secrets, *own.difference(sent)}
    candidates = (
        (name, value)
        for name, value in response.items()
        if isinstance(value, str | int | float) and (_is_identifier(name, value) or value in sent)
        if len(name) <= _FIELD_LENGTH and _is_plain(name) and _is_plain(value)
    )
    clear = (
        (name, value)
        for name, value in islice(candidates, _CONSIDERED_FIELDS)
        if not reveals(name, hidden) and not reveals(str(value), hidden)
    )
    return dict(islice(clear, _MOST_FIELDS))


def _secrets_of(document: object) -> set[str] | None:
    """Return the values of fields whose names suggest a secret, or None if the body is too large to search."""
    secrets: set[str] = set()
    unvisited, visited = [document], 0
    while unvisited and visited + len(unvisited) <= _MOST_NODES:
        visited += 1
        match unvisited.pop():
            case dict() as fields:
                unvisited += fields.values()
                named = (text for name, text in fields.items() if _names_secret(name))
                secrets.update(text for text in named if isinstance(text, str) and len(text) >= SHORTEST_SECRET)
            case list() as items:
                unvisited += items
    return None if unvisited or sum(map(len, secrets)) > _MOST_SECRET else secrets


def _names_secret(name: str) -> bool:
    return len(name) > _FIELD_LENGTH or _SECRET_NAME.search(name) is not None


def _is_identifier(name: str, value: Scalar) -> bool:
    text = str(value)
    return (
        (name == "id" or name.endswith("Id"))
        and not _names_secret(name)
        and len(text) <= _FIELD_LENGTH
        and not _OPAQUE.search(text)
    )


def _is_plain(value: Scalar) -> bool:
    """True if the journal can hold the value: a finite number, or text without control or surrogate characters."""
    return value.isprintable() if isinstance(value, str) else abs(value) < 2**63
