"""Creates and verifies signatures of notifications, and detects their scheme.

The service does not document its scheme (service description, section 6), so the scheme is a parameter, a
`Verification`. A header holds the signature, alone or among other items (`t=1700000000,v1=…`); an item belongs to the
scheme if it begins with the prefix. One matching item and one matching secret are enough. Headers are pairs of a
name, in upper or lower case, and a value.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from itertools import product
from typing import TYPE_CHECKING

from msgspec.structs import astuple

from reconciler.model.desired import ALGORITHMS, ENCODINGS, KEY_ENCODINGS, Verification

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    Headers = Collection[tuple[str, str]]

_SIZES = {name: hashlib.new(hash_name).digest_size for name, hash_name in ALGORITHMS.items()}
_JOINED = ("{{header:{}}}.{{body}}", "{{header:{}}}{{body}}", "{{header:{}}}:{{body}}")
_PLACEHOLDER = re.compile(r"(\{body\}|\{header:[^{}]+\})")
_SEPARATOR = re.compile(r"[,;\s]+")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
_MOMENT_NAME = re.compile(r"time|date|nonce|(?:^|-)(?:id|ts)(?:$|-)", re.IGNORECASE)
_MOMENT_VALUE = re.compile(r"[0-9]{9,19}(?:\.[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+.*")
_PREFIX = re.compile(r"(?<![^,;\s])[A-Za-z0-9_.-]{1,16}[=,]")
_MOST_HEADERS, _MOST_CHARACTERS, _MOST_PREFIXES, _MOST_MOMENTS = 200, 1024, 8, 12


def verify(scheme: Verification, secrets: Iterable[bytes], headers: Headers, body: bytes) -> str | None:
    """Return None if this request was signed with one of the secrets, otherwise the reason why it is refused.

    The comparison takes constant time. A secret that is not valid in the `key_encoding` matches no signature.
    """
    value = _header(headers, scheme.header)
    if value is None:
        return f"the header {scheme.header} is missing"
    content = _content(scheme.content, headers, body)
    if content is None:
        return "a header that is part of the signed content is missing"
    decoded = [_decode(item, scheme.encoding) for item in _items(value, scheme.prefix)]
    signatures = [signature for signature in decoded if len(signature) == _SIZES[scheme.algorithm]]
    if not signatures:
        after = f" after the prefix {scheme.prefix!r}" if scheme.prefix else ""
        return f"{scheme.header} has no {scheme.algorithm} signature in {scheme.encoding}{after}"
    for key in filter(None, (decode_key(secret, scheme.key_encoding) for secret in secrets)):
        expected = hmac.digest(key, content, ALGORITHMS[scheme.algorithm])
        if any(hmac.compare_digest(expected, signature) for signature in signatures):
            return None
    return f"{scheme.header} matches no secret, or the body is not as it was sent"


def sign(scheme: Verification, secret: bytes, headers: Headers, body: bytes) -> str:
    """Return the value of the signature header. Raises ValueError for an invalid secret or a missing header."""
    key, content = decode_key(secret, scheme.key_encoding), _content(scheme.content, headers, body)
    if not key or content is None:
        raise ValueError("the secret is not in the key encoding, or a header to be signed is missing")
    signature = hmac.digest(key, content, ALGORITHMS[scheme.algorithm])
    return scheme.prefix + (signature.hex() if scheme.encoding == "hex" else b64encode(signature).decode())


def detect(secrets: Iterable[bytes], headers: Headers, body: bytes) -> list[Verification]:
    """Return all schemes under which this request was signed with one of the secrets, sorted.

    All headers, algorithms and encodings are tried, with every prefix that occurs. The signed content is assumed to be
    the body, alone or after the value of a header that looks like a time or an id. The amount
    of work is limited, whatever the headers are.
    """
    headers = [(name, value) for name, value in list(headers)[:_MOST_HEADERS] if len(value) <= _MOST_CHARACTERS]
    places = _signatures(headers)
    sizes = {len(signature) for signature in places}
    keys = {
        (key, encoding) for secret in secrets for encoding in KEY_ENCODINGS if (key := decode_key(secret, encoding))
    }
    schemes = set()
    for template in _templates(headers):
        content = _content(template, headers, body) or b""
        for (algorithm, size), (key, key_encoding) in product(_SIZES.items(), keys):
            if size in sizes:
                signature = hmac.digest(key, content, ALGORITHMS[algorithm])
                for header, prefix, encoding in places.get(signature, ()):
                    schemes.add(Verification(header, algorithm, prefix, encoding, key_encoding, template))
    return sorted(schemes, key=astuple)


def _signatures(headers: Headers) -> dict[bytes, set[tuple[str, str, str]]]:
    """Return each possible signature in the headers, with the header, prefix and encoding of each occurrence."""
    places: dict[bytes, set[tuple[str, str, str]]] = {}
    for (header, value), encoding in product(headers, ENCODINGS):
        prefixes: dict[bytes, str] = {}
        for prefix in ["", *list(dict.fromkeys(_PREFIX.findall(value)))[:_MOST_PREFIXES]]:
            for signature in (_decode(item, encoding) for item in _items(value, prefix)):
                if len(signature) in _SIZES.values():
                    prefixes[signature] = max(prefixes.get(signature, ""), prefix, key=len)
        for signature, prefix in prefixes.items():
            places.setdefault(signature, set()).add((header, prefix, encoding))
    return places


def _templates(headers: Headers) -> list[str]:
    """Return the templates of signed content to try."""
    moments = [name for name, value in headers if _MOMENT_NAME.search(name) or _MOMENT_VALUE.fullmatch(value.strip())]
    return ["{body}", *(form.format(name) for name in moments[:_MOST_MOMENTS] for form in _JOINED)]


def _content(template: str, headers: Headers, body: bytes) -> bytes | None:
    """Return the signed content, or None if the template names a header that is missing."""
    parts: list[bytes] = []
    for part in _PLACEHOLDER.split(template):
        if part == "{body}":
            parts.append(body)
        elif part.startswith("{header:"):
            value = _header(headers, part.removeprefix("{header:").removesuffix("}"))
            if value is None:
                return None
            parts.append(value.encode("latin-1", "replace"))  # on the wire, each byte is a character of ISO 8859-1
        else:
            parts.append(part.encode())
    return b"".join(parts)


def _header(headers: Headers, name: str) -> str | None:
    values = [value for sent, value in headers if sent.lower() == name.lower()]
    return ", ".join(values) if values else None


def _items(value: str, prefix: str) -> Iterator[str]:
    """Yield the items of a header value that begin with `prefix`, without the prefix."""
    value = value.strip()
    for start in [0, *(separator.end() for separator in _SEPARATOR.finditer(value))]:
        if value.startswith(prefix, start):
            begin = start + len(prefix)
            end = _SEPARATOR.search(value, begin)
            yield value[begin : end.start() if end else None]


def _decode(text: str, encoding: str) -> bytes:
    """Return the bytes that `text` encodes, or b"" if it is invalid.

    Base64 may use either alphabet, with or without padding.
    """
    if encoding == "hex":
        return bytes.fromhex(text) if _HEX.fullmatch(text) else b""
    plain = text.replace("-", "+").replace("_", "/")
    try:
        return b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except ValueError:
        return b""


def decode_key(secret: bytes, encoding: str) -> bytes:
    """Return the bytes of a secret, or b"" if the secret is not valid in `encoding`."""
    return secret if encoding == "utf8" else _decode(secret.decode("latin-1").strip(), encoding)
