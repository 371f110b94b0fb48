"""Whether an answer is an HTML page, however it is labelled and encoded.

A proxy or a gateway can answer with a login or maintenance page instead of the API, which says nothing about the
outcome of a call.
"""

import re
import zlib
from collections.abc import Mapping

_PAGE_TYPES = {"text/html", "application/xhtml+xml"}
_CONSIDERED = 1 << 16  # bytes of a body, once it is decompressed
_PIECE = 1024
_COMPRESSIONS = 2  # one within the other
_AUTOMATIC, _RAW = 32 + zlib.MAX_WBITS, -zlib.MAX_WBITS  # gzip and zlib by their first bytes; deflate without any
_UTF_8_MARK, _UTF_16_MARKS = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
_JSON_STARTS = (b"{", b"[")  # no page begins so, and no compressed one
_SKIPPED = {b"<!--": b"-->", b"<?": b"?>"}
_SPACE = re.compile(rb"\s*")
_PAGE_START = re.compile(rb"<(!doctype\s+html|html)\b", re.IGNORECASE)


def is_page(headers: Mapping[str, str], body: bytes) -> bool:
    """Whether an answer calls itself an HTML page or begins as one; header names are in lower case."""
    kinds = {kind.partition(";")[0].strip().lower() for kind in headers.get("content-type", "").split(",")}
    if kinds & _PAGE_TYPES:
        return True
    if body.startswith(_JSON_STARTS) and "content-encoding" not in headers:
        return False
    return _begins_as_page(_text(_decompressed(body, headers)))


def _decompressed(body: bytes, headers: Mapping[str, str]) -> bytes:
    """The beginning of a body, decompressed, whether or not it is labelled as compressed."""
    for _ in range(_COMPRESSIONS):
        body = _inflated(body, _AUTOMATIC) or body
    if "deflate" in headers.get("content-encoding", "").lower():
        body = _inflated(body, _RAW) or body
    return body[:_CONSIDERED]


def _inflated(body: bytes, window: int) -> bytes:
    """What can be decompressed of a body, up to where it is damaged or cut off."""
    inflator, found = zlib.decompressobj(window), b""
    try:
        for start in range(0, len(body), _PIECE):
            if len(found) >= _CONSIDERED:
                break
            found += inflator.decompress(body[start : start + _PIECE], _CONSIDERED)
    except zlib.error:
        pass
    return found


def _text(body: bytes) -> bytes:
    """The ASCII in a body, in UTF-8 or in UTF-16 and UTF-32 of either byte order, with a mark in front or without."""
    for mark in _UTF_16_MARKS:
        body = body.removeprefix(b"\0\0" + mark).removeprefix(mark)
    return body.replace(b"\0", b"").removeprefix(_UTF_8_MARK)


def _begins_as_page(text: bytes) -> bool:
    """Whether `<html` or its doctype comes first, but for white space, comments and an XML prolog."""
    at = _end_of_space(text, 0)
    while opening := next((start for start in _SKIPPED if text.startswith(start, at)), None):
        end = text.find(_SKIPPED[opening], at + len(opening))
        if end < 0:
            return False
        at = _end_of_space(text, end + len(_SKIPPED[opening]))
    return _PAGE_START.match(text, at) is not None


def _end_of_space(text: bytes, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
