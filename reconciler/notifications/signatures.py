"""How notifications are signed: verifying a signature, and finding out which scheme made it.

The mechanism is not documented (SERVICE.md, section 6), so it is a value, `Verification`. A header holds the
signature, alone or as one of several items (`t=1700000000,v1=…`); an item belongs to the scheme if it begins with its
prefix. One item that matches is enough, as is one secret.
"""

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import islice, product
from typing import NamedTuple

from msgspec.structs import astuple

from reconciler.model.desired import ALGORITHMS, ENCODINGS, KEY_ENCODINGS, Verification

_DIGEST_SIZES = {name: hashlib.new(hash_name).digest_size for name, hash_name in ALGORITHMS.items()}
_BODY = "{body}"
_JOINED = ("{{header:{}}}.{{body}}", "{{header:{}}}{{body}}", "{{header:{}}}:{{body}}")
_PLACEHOLDER = re.compile(r"\{body\}|\{header:([^{}]+)\}")
_SEPARATOR = re.compile(r"[,;\s]+")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
_MOMENT_NAME = re.compile(r"time|date|nonce|(?:^|-)(?:id|ts)(?:$|-)|-id$", re.IGNORECASE)
_MOMENT_VALUE = re.compile(r"[0-9]{9,19}(?:\.[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+.*")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # as in RFC 9110, section 5.6.2
_PREFIX = re.compile(r"(?<![^,;\s])[A-Za-z0-9_.-]{1,16}[=,]")
_MOST_HEADERS = 200
_MOST_CHARACTERS = 1024
_MOST_PREFIXES = 8
_MOST_MOMENTS = 12


class SignatureMatch(StrEnum):
    """Whether a signature matches a secret. MISSING: a header that the scheme needs is missing."""

    MATCH = "match"
    MISSING = "missing"
    MISMATCH = "mismatch"


def verify(scheme: Verification, secrets: Iterable[bytes], headers: Mapping[str, str], body: bytes) -> SignatureMatch:
    """Whether one of the secrets signed this request, compared in constant time.

    A secret that is not in the `key_encoding` matches nothing. Header names are in any case; `body` is as received.
    """
    value = _header(headers, scheme.header)
    content = _content(scheme.content, headers, body)
    if value is None or content is None:
        return SignatureMatch.MISSING
    signatures = [decoded for item in _items(value, scheme.prefix) if (decoded := _decode(item, scheme.encoding))]
    for secret in secrets:
        key = _decode_key(secret, scheme.key_encoding)
        if not key:
            continue
        expected = hmac.digest(key, content, ALGORITHMS[scheme.algorithm])
        if any(hmac.compare_digest(expected, signature) for signature in signatures):
            return SignatureMatch.MATCH
    return SignatureMatch.MISMATCH


def is_key(scheme: Verification, secret: bytes) -> bool:
    """Whether a secret is in the `key_encoding`, and not empty."""
    return bool(_decode_key(secret, scheme.key_encoding))


def missing_headers(scheme: Verification, headers: Mapping[str, str]) -> list[str]:
    """The headers that the scheme needs and that are missing."""
    needed = [scheme.header, *(found[1] for found in _PLACEHOLDER.finditer(scheme.content) if found[1])]
    return [name for name in needed if _header(headers, name) is None]


def has_signature(scheme: Verification, headers: Mapping[str, str]) -> bool:
    """Whether the header has a text of the form that a signature of this scheme has, right or wrong."""
    size = _DIGEST_SIZES[scheme.algorithm]
    items = _items(_header(headers, scheme.header) or "", scheme.prefix)
    return any(len(_decode(item, scheme.encoding) or b"") == size for item in items)


def sign(scheme: Verification, secret: bytes, headers: Mapping[str, str], body: bytes) -> str | None:
    """The value of the signature's header for a request with these headers; None if a header to be signed is missing.

    Of a value that was there, all but the signatures stays. Raises ValueError for a secret that is no key.
    """
    key, content = _decode_key(secret, scheme.key_encoding), _content(scheme.content, headers, body)
    if not key:
        raise ValueError("the secret is not in the key encoding")
    if content is None:
        return None
    signature = hmac.digest(key, content, ALGORITHMS[scheme.algorithm])
    text = scheme.prefix + (signature.hex() if scheme.encoding == "hex" else b64encode(signature).decode())
    before = _header(headers, scheme.header)
    if not scheme.prefix or before is None:
        return text
    item = re.compile(rf"(?<![^,;\s]){re.escape(scheme.prefix)}[^,;\s]*")
    return item.sub(lambda _: text, before) if item.search(before) else text


def infer(secrets: Iterable[bytes], headers: Mapping[str, str], body: bytes) -> list[Verification]:
    """Every scheme under which one of the secrets signed this request, sorted.

    It tries all headers, algorithms and encodings, the prefixes that occur, and as content the body, alone or after the
    value of a header that looks like a time or an id. The work is bounded for any headers.
    """
    headers = _usable(headers)
    found = _signatures(headers)
    sizes = {len(signature) for signature in found}
    algorithms = [name for name, size in _DIGEST_SIZES.items() if size in sizes]
    keys = {(key, name) for secret in secrets for name in KEY_ENCODINGS if (key := _decode_key(secret, name))}
    schemes = {
        Verification(place.header, algorithm, place.prefix, place.encoding, key_encoding, template)
        for template in _templates(headers)
        for algorithm, (key, key_encoding) in product(algorithms, keys)
        for place in found.get(_sign(key, template, algorithm, headers, body), ())
    }
    return sorted(schemes, key=astuple)


class _Place(NamedTuple):
    """Where a signature may be, and in which form."""

    header: str
    prefix: str
    encoding: str


def _usable(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that a scheme can name, without those that are too long for a signature."""
    few = islice(headers.items(), _MOST_HEADERS)
    return {name: value for name, value in few if _TOKEN.fullmatch(name) and len(value) <= _MOST_CHARACTERS}


def _signatures(headers: Mapping[str, str]) -> dict[bytes, set[_Place]]:
    """Everything in the headers that has the size of a signature, decoded, with its places."""
    found: dict[bytes, set[_Place]] = {}
    for (header, value), encoding in product(headers.items(), ENCODINGS):
        prefixes: dict[bytes, str] = {}
        for prefix in _prefixes(value):
            for item in _items(value, prefix):
                decoded = _decode(item, encoding)
                if decoded and len(decoded) in _DIGEST_SIZES.values():
                    prefixes[decoded] = max(prefixes.get(decoded, ""), prefix, key=len)  # the longest
        for decoded, prefix in prefixes.items():
            found.setdefault(decoded, set()).add(_Place(header, prefix, encoding))
    return found


def _prefixes(value: str) -> list[str]:
    """What may precede a signature: nothing, or a word with the `=` or `,` after it."""
    return ["", *list(dict.fromkeys(_PREFIX.findall(value)))[:_MOST_PREFIXES]]


def _templates(headers: Mapping[str, str]) -> list[str]:
    """The contents to try."""
    moments = [
        name
        for name, value in headers.items()
        if value and (_MOMENT_NAME.search(name) or _MOMENT_VALUE.fullmatch(value.strip()))
    ]
    return [_BODY, *(form.format(name) for name in moments[:_MOST_MOMENTS] for form in _JOINED)]


def _sign(key: bytes, template: str, algorithm: str, headers: Mapping[str, str], body: bytes) -> bytes:
    return hmac.digest(key, _content(template, headers, body) or b"", ALGORITHMS[algorithm])


def _content(template: str, headers: Mapping[str, str], body: bytes) -> bytes | None:
    """The signed content; None if a header that is part of it is missing."""
    parts: list[bytes] = []
    end = 0
    for found in _PLACEHOLDER.finditer(template):
        parts.append(template[end : found.start()].encode())
        end = found.end()
        if found[1] is None:
            parts.append(body)
            continue
        value = _header(headers, found[1])
        if value is None:
            return None
        parts.append(_as_bytes(value))
    return b"".join([*parts, template[end:].encode()])


def _header(headers: Mapping[str, str], name: str) -> str | None:
    return next((value for sent_name, value in headers.items() if sent_name.lower() == name.lower()), None)


def _as_bytes(value: str) -> bytes:
    """A header's value as it was on the wire, where each byte is one character of ISO 8859-1."""
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        return value.encode(errors="surrogatepass")


def _items(value: str, prefix: str) -> Iterator[str]:
    """Each item that begins with `prefix`, without it."""
    value = value.strip()
    starts = [0, *(found.end() for found in _SEPARATOR.finditer(value))]
    for start in starts:
        if value.startswith(prefix, start):
            begin = start + len(prefix)
            end = _SEPARATOR.search(value, begin)
            yield value[begin : end.start() if end else None]


def _decode(text: str, encoding: str) -> bytes | None:
    """The bytes of a text; None if it is not in the encoding. Accepts both alphabets of base64, padded or not."""
    if encoding == "hex":
        return bytes.fromhex(text) if _HEX.fullmatch(text) else None
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (NotBase64, ValueError):
        return None


def _decode_key(secret: bytes, encoding: str) -> bytes | None:
    if encoding == "utf8":
        return secret
    return _decode(secret.decode("latin-1").strip(), encoding)
