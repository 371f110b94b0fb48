"""HTTP/1.1 requests and responses as values, and a strict parser for requests (RFC 9112).

An ambiguous request is refused with 400, and the sizes of the head and the body are limited.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.values import Discreet

if TYPE_CHECKING:
    from io import BufferedReader

BODY_LIMIT = 1024 * 1024
HEAD_LIMIT = 64 * 1024
_LINE_LIMIT = 4096  # bytes of a line between chunks

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - as in RFC 9110, section 5.6.2
_REQUEST_LINE = re.compile(rf"({_TOKEN}) (/[!\"$-~]*|\*) HTTP/1\.([01])")
_FIELD = re.compile(rf"({_TOKEN}):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
_LENGTH = re.compile("[0-9]{1,18}")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})(?:[ \t]*;[^\r\n]*)?\r\n")

Headers = tuple[tuple[str, str], ...]


class Response(Discreet, frozen=True):
    """A response. The server adds Content-Length, Date and Connection."""

    unprinted = ("body",)

    status: int
    body: bytes = b""
    headers: Headers = ()


class Request(Discreet, frozen=True):
    """A request. `target` is the path and the query as sent. `headers` are in the order sent; names may repeat.

    `problem` is the answer to a request that could not be read, or None. For such a request, `body` is empty, and other
    fields may be empty.
    """

    unprinted = ("headers", "body")

    method: str = ""
    target: str = ""
    headers: Headers = ()
    body: bytes = b""
    problem: Response | None = None

    @property
    def path(self) -> str:
        """Return the target without its query."""
        return self.target.partition("?")[0]

    def header(self, name: str) -> str | None:
        """Return the value or the joined values of a header (RFC 9110, section 5.3), or None if it is missing."""
        values = [value for sent, value in self.headers if sent.lower() == name.lower()]
        return ", ".join(values) if values else None


class Malformed(Exception):
    """Raised for a request that cannot be read. `status` is the status of the answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Head(Struct, frozen=True):
    """The head of a request. `length` is the length of the body, or None for a chunked body."""

    method: str
    target: str
    headers: Headers
    length: int | None
    is_last: bool
    awaits_go_ahead: bool


def parse_head(lines: list[str]) -> Head:
    """Parse the lines of a request's head, given without their line ends. Raises Malformed."""
    request_line = _REQUEST_LINE.fullmatch(lines[0])
    if request_line is None:
        raise Malformed(400, "expected a method, a path and HTTP/1.1")
    fields = [_FIELD.fullmatch(line) for line in lines[1:]]
    headers = tuple((field[1], field[2].rstrip(" \t")) for field in fields if field is not None)
    if len(headers) < len(fields):
        raise Malformed(400, "malformed header")

    def values(name: str) -> list[str]:
        return [value for sent, value in headers if sent.lower() == name]

    method, target, minor = request_line.groups()
    if len(values("host")) != 1 and (minor == "1" or values("host")):
        raise Malformed(400, "expected one host header")
    length = _announced_length(values("content-length"), values("transfer-encoding"), is_old=minor == "0")
    connection = {word.strip().lower() for value in values("connection") for word in value.split(",")}
    awaits_go_ahead = [value.lower() for value in values("expect")] == ["100-continue"]
    return Head(method, target, headers, length, minor == "0" or "close" in connection, awaits_go_ahead)


def _announced_length(lengths: list[str], codings: list[str], *, is_old: bool) -> int | None:
    if codings:
        if lengths or is_old or [coding.lower() for coding in codings] != ["chunked"]:
            raise Malformed(400, "expected either content-length or transfer-encoding: chunked")
        return None
    length = lengths[0] if lengths else "0"
    if set(lengths) - {length} or not _LENGTH.fullmatch(length):
        raise Malformed(400, "invalid content-length")
    if int(length) > BODY_LIMIT:
        raise _too_large()
    return int(length)


def _read_line(stream: BufferedReader, limit: int, status: int) -> bytes:
    """Return a line with its CRLF. Raises Malformed for any other line end.

    For a line of more than `limit` bytes, the error has `status`.
    """
    line = stream.readline(limit)
    if not line.endswith(b"\r\n") or b"\r" in line[:-2]:
        raise Malformed(status if len(line) == limit else 400, "expected lines that end with CRLF")
    return line


def read_head(stream: BufferedReader) -> Head:
    """Read the head of a request. Raises Malformed with the status of the answer."""
    lines, left = list[str](), HEAD_LIMIT
    while (line := _read_line(stream, left, 431)) != b"\r\n":
        lines.append(line[:-2].decode("latin-1"))
        left -= len(line)
        if left <= 0:
            raise Malformed(431, f"the head is larger than {HEAD_LIMIT} bytes")
    return parse_head(lines or [""])


def read_body(stream: BufferedReader, length: int | None) -> bytes:
    """Return the body of a request. `length` is None for a chunked body. Raises Malformed."""
    if length is not None:
        return _read_exactly(stream, length)
    body = bytearray()
    while size := _chunk_size(_read_line(stream, _LINE_LIMIT, 400)):
        if len(body) + size > BODY_LIMIT:
            raise _too_large()
        body += _read_exactly(stream, size)
        if _read_exactly(stream, 2) != b"\r\n":
            raise Malformed(400, "a chunk is longer than its declared size")
    if _read_line(stream, _LINE_LIMIT, 400) != b"\r\n":
        raise Malformed(400, "trailers are not accepted")
    return bytes(body)


def _chunk_size(line: bytes) -> int:
    size = _CHUNK_SIZE.fullmatch(line)
    if size is None:
        raise Malformed(400, "invalid chunk size")
    return int(size[1], 16)


def _read_exactly(stream: BufferedReader, length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise Malformed(400, "the body is incomplete")
    return data


def _too_large() -> Malformed:
    return Malformed(413, f"the body is larger than {BODY_LIMIT} bytes")
