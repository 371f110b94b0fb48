"""Selects the parts of the text and JSON sent by the service that may be shown or stored.

Text is shown as one short line without secrets. A secret is found by its grams, the runs of eight consecutive bytes in
the secret, its hex form or its base64 form. Parts of a secret are therefore found too: services often echo the
beginning of a token that they refuse. The work grows linearly with the length of the secrets and of the text. No
regular expression is built from a secret.

JSON bodies are not documented and may hold a subscription's secret. Only their error messages, their ids and the
values that they repeat from the request are used. The field names tell which values are secret: a value under a name
that suggests a secret is hidden wherever it occurs. If a body has too many secrets, none of its fields is used.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import msgspec

from reconciler.values import SHORTEST_SECRET

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from reconciler.record.facts import Scalar

REDACTED = "[redacted]"

_LIMIT = 200  # characters of an excerpt
_CONSIDERED = 4096  # characters of text that are examined; the rest is never shown
_GRAM = 8
_LONGEST_SECRET = 1 << 14  # bytes of a secret that are examined
_LONG_WORD = 16
_LAYERS = 2  # levels of nested escapes that are decoded
_PLAIN_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_TOKENS = (
    re.compile(r"\b(?:bearer|basic)\s+(?P<token>[\w.~+/=-]{16,})", re.IGNORECASE),
    re.compile(r"(?<![A-Za-z0-9])(?P<token>eyJ[\w-]{5,}(?:\.[\w-]*){0,2})"),
)
_ESCAPE = re.compile(rb"%(?P<hex>[0-9a-fA-F]{2})|\\+u(?P<code>[0-9a-fA-F]{4})|\\+(?P<sign>[\"/\\])")
_ALIKE = bytes.maketrans(b"-_ ", b"+/+")
"""Maps the URL-safe base64 alphabet to the standard alphabet, and a space to `+`, as form encoding does."""

_MOST_FIELDS = 16
_CONSIDERED_FIELDS = 64
_FIELD_LENGTH = 128  # characters
_MOST_NODES = 2000  # values in a body that is searched for secrets
_MOST_SECRET = 4096  # characters of all secrets in a body together
_OPAQUE = re.compile(r"[\w+=~-]{65,}")
_SECRET_NAME = re.compile(
    r"session|token|secret|password|credential|(sign\w*|hmac|private|api|access|verification)[_-]?key", re.IGNORECASE
)
_ERROR_TEXTS = ("message", "error", "title", "detail", "error_description")


class _Forms(NamedTuple):
    """The forms of secrets: `wholes` are the whole secrets in several encodings, and `grams` all their grams."""

    wholes: frozenset[bytes]
    grams: frozenset[bytes]


class _Encoded(NamedTuple):
    """A text as bytes. Byte `i` stands for the characters from `starts[i]` up to `ends[i]` of the text."""

    data: bytes
    starts: list[int]
    ends: list[int]


def redact(text: str, secrets: Collection[str]) -> str:
    """Return `text` without the secrets, their parts and encodings, and without anything that looks like a token.

    Case is ignored. The encodings are percent and JSON escapes, hex and base64. A part of a secret is kept if it is
    shorter than eight characters, or if it is a plain word of fewer than sixteen characters.
    """
    hidden = bytearray(len(text))
    for start, end in (
        *_secrets_in(text, secrets),
        *(match.span("token") for kind in _TOKENS for match in kind.finditer(text)),
    ):
        hidden[start:end] = b"\1" * (end - start)
    shown, at = "", 0
    while at < len(text):
        end = hidden.find(1 - hidden[at], at)
        end = len(text) if end < 0 else end
        shown += REDACTED if hidden[at] else text[at:end]
        at = end
    return shown


def reveals(text: str, secrets: Collection[str]) -> bool:
    """True if `redact` would remove anything from the text."""
    return redact(text, secrets) != text


def excerpt(text: str, secrets: Collection[str] = (), limit: int = _LIMIT) -> str:
    """Return `text` as one redacted line of at most `limit` characters, without control or invisible characters."""
    redacted = redact(text[:_CONSIDERED], secrets)
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in redacted).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def json_object(body: bytes) -> dict[str, object]:
    """Return the body as a JSON object, or an empty object if the body is not a JSON object."""
    try:
        document = msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def error_text(body: bytes, secrets: Collection[str]) -> str:
    """Return the messages of a JSON error, or "" if it has none.

    The API does not document its errors, so the messages are taken from fields with the usual names.
    """
    error = json_object(body)
    own = _secrets_of(error)
    if own is None:
        return ""
    texts = [text for name in _ERROR_TEXTS if isinstance(text := error.get(name), str) and text.strip()]
    return excerpt(", ".join(dict.fromkeys(texts)), [*secrets, *own])


def storable_fields(body: bytes, sent: Collection[str], secrets: Collection[str] = ()) -> dict[str, Scalar]:
    """Return the response fields that may be stored unencrypted: top-level ids, and values equal to those in `sent`.

    Returns at most 16 fields of 128 characters each. A field is left out if it may be a credential: a token, a long
    opaque text, one of `secrets` in any encoding, or the value of any field whose name suggests a secret, such as a
    session id.
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
    storable = (
        (name, value)
        for name, value in islice(candidates, _CONSIDERED_FIELDS)
        if not reveals(name, hidden) and not reveals(str(value), hidden)
    )
    return dict(islice(storable, _MOST_FIELDS))


def _secrets_in(text: str, secrets: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield the positions of secrets and of long parts of secrets, in the text and in its unescaped forms."""
    forms = _forms_of_all(frozenset(filter(None, secrets)))
    encoded = _encoded(text)
    for _ in range(1 + _LAYERS):
        data = _alike(encoded.data)
        for start, end in _runs(data, forms.grams):
            first, last = encoded.starts[start], encoded.ends[end - 1]
            if last - first >= _LONG_WORD or not _PLAIN_WORD.fullmatch(text[first:last].strip(" _-")):
                yield first, last
        for whole in forms.wholes:
            start = data.find(whole)
            while start >= 0:
                yield encoded.starts[start], encoded.ends[start + len(whole) - 1]
                start = data.find(whole, start + 1)
        if not _ESCAPE.search(encoded.data):
            return
        encoded = _unescaped(encoded)


def _runs(data: bytes, grams: frozenset[bytes]) -> list[tuple[int, int]]:
    """Return the start and end of each run of grams. Grams that overlap or touch form one run."""
    runs: list[tuple[int, int]] = []
    for at in range(len(data) - _GRAM + 1):
        if data[at : at + _GRAM] in grams:
            start = runs.pop()[0] if runs and at <= runs[-1][1] else at
            runs.append((start, at + _GRAM))
    return runs


@lru_cache(maxsize=4)
def _forms_of_all(secrets: frozenset[str]) -> _Forms:
    forms = [_forms_of(secret) for secret in secrets]
    return _Forms(
        frozenset().union(*(form.wholes for form in forms)), frozenset().union(*(form.grams for form in forms))
    )


@lru_cache(maxsize=16)
def _forms_of(secret: str) -> _Forms:
    plain = secret.encode(errors="surrogatepass")[:_LONGEST_SECRET]
    wholes = {plain, plain.hex().encode(), quote(plain, safe="").encode(), json.dumps(secret)[1:-1].encode()}
    forms = [plain, plain.hex().encode()]
    for offset in range(3):  # preceding text shifts the bits
        start, end = 4 if offset else 0, (offset + len(plain)) // 3 * 4
        forms.append(b64encode(bytes(offset) + plain)[start:end])
    grams = {form[at : at + _GRAM] for form in map(_alike, forms) for at in range(len(form) - _GRAM + 1)}
    return _Forms(frozenset(map(_alike, wholes)), frozenset(grams))


def _alike(data: bytes) -> bytes:
    return data.translate(_ALIKE).lower()


def _encoded(text: str) -> _Encoded:
    data, starts = bytearray(), list[int]()
    for at, letter in enumerate(text):
        encoded = letter.encode(errors="surrogatepass")
        data += encoded
        starts += [at] * len(encoded)
    return _Encoded(bytes(data), starts, [start + 1 for start in starts])


def _unescaped(encoded: _Encoded) -> _Encoded:
    """Return text with one level of escapes decoded."""
    data, starts, ends, at = bytearray(), list[int](), list[int](), 0
    for escape in _ESCAPE.finditer(encoded.data):
        start, end = escape.span()
        if escape["hex"]:
            letter = bytes.fromhex(escape["hex"].decode())
        else:
            letter = escape["sign"] or chr(int(escape["code"], 16)).encode(errors="surrogatepass")
        data += encoded.data[at:start] + letter
        starts += encoded.starts[at:start] + [encoded.starts[start]] * len(letter)
        ends += encoded.ends[at:start] + [encoded.ends[end - 1]] * len(letter)
        at = end
    return _Encoded(bytes(data) + encoded.data[at:], starts + encoded.starts[at:], ends + encoded.ends[at:])


def _secrets_of(document: object) -> set[str] | None:
    """Return the values of fields whose names suggest a secret, or None if the body has too many values or secrets."""
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
    """True if the record can hold the value: a finite number, or text without control or surrogate characters."""
    return value.isprintable() if isinstance(value, str) else abs(value) < 2**63
