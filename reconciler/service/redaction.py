"""Makes text from the service safe to show: one short line without secrets.

A secret is found by its grams, the runs of eight consecutive bytes in the secret, its hex form or its base64 form. So
parts of a secret are found too; services often echo the beginning of a token that they refuse. The work grows linearly
with the length of the secrets and of the text. No regular expression is built from a secret.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

REDACTED = "[redacted]"

_LIMIT = 200  # characters of an excerpt
_CONSIDERED = 4096  # characters of a text that are examined; the rest is never shown
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
"""Treats both alphabets of base64 as one, and a space as `+`, as in a form."""


class _Forms(NamedTuple):
    """The forms of some secrets: `wholes` in the usual encodings, and the grams of all encodings."""

    wholes: frozenset[bytes]
    grams: frozenset[bytes]


class _Encoded(NamedTuple):
    """A text as bytes. Byte `i` stands for the characters from `starts[i]` up to `ends[i]` of the original."""

    data: bytes
    starts: list[int]
    ends: list[int]


def redact(text: str, secrets: Collection[str]) -> str:
    """Return `text` without secrets, parts and encodings of secrets, and whatever looks like a token.

    Case is ignored. The encodings are percent and JSON escapes, hex and base64. A part of a secret stays if it is
    shorter than eight characters, or if it is a plain word of fewer than sixteen.
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
    """True if `redact` would remove something."""
    return redact(text, secrets) != text


def excerpt(text: str, secrets: Collection[str] = (), limit: int = _LIMIT) -> str:
    """Return `text` as one redacted line of at most `limit` characters, without control or invisible characters."""
    redacted = redact(text[:_CONSIDERED], secrets)
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in redacted).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _secrets_in(text: str, secrets: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield the positions of secrets and of long parts of them, in the text and in its unescaped forms."""
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
    """Return the positions of grams; grams that overlap or touch form one run."""
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
    """Return a text with one level of escapes decoded."""
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
