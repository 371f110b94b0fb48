"""Reading the body of a request, whether its length is announced or it comes in chunks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reconciler.receiver.exchange import Response

if TYPE_CHECKING:
    from collections.abc import Sequence
    from io import BufferedIOBase

BODY_LIMIT = 1024 * 1024
_LINE_LIMIT = 4096
_TRAILERS = 64
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?\r?\n", re.DOTALL)


class Unread(Exception):
    """A body that is not taken, with the response to it. What is left of it was not read."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.response = Response(status, text)


def check_framing(lengths: Sequence[str], codings: Sequence[str]) -> int | None:
    """The length announced, None where the body comes in chunks; from the values of Content-Length and
    Transfer-Encoding. Raises Unread.
    """
    if codings:
        if lengths:
            raise Unread(400, "both content-length and transfer-encoding are there")
        if [one.strip().lower() for one in codings] != ["chunked"]:
            raise Unread(501, "of the transfer codings, chunked alone is known")
        return None
    different = {length.strip() for length in lengths} or {"0"}
    length = different.pop()
    if different or not _LENGTH.fullmatch(length):
        raise Unread(400, "content-length is not one number")
    if int(length) > BODY_LIMIT:
        raise _too_large()
    return int(length)


def read_body(stream: BufferedIOBase, length: int | None) -> bytes:
    """The body; `length` is None for one in chunks. Raises Unread, and what the stream raises."""
    return _read_chunks(stream) if length is None else _read_exactly(stream, length)


def _read_exactly(stream: BufferedIOBase, length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise Unread(400, "the body broke off")
    return data


def _read_chunks(stream: BufferedIOBase) -> bytes:
    body = bytearray()
    while size := _chunk_size(stream.readline(_LINE_LIMIT)):
        if len(body) + size > BODY_LIMIT:
            raise _too_large()
        body += _read_exactly(stream, size)
        if stream.readline(3).rstrip(b"\r\n"):
            raise Unread(400, "a chunk is longer than it says")
    for _ in range(_TRAILERS):
        if not stream.readline(_LINE_LIMIT).rstrip(b"\r\n"):
            return bytes(body)
    raise Unread(400, "the trailer does not end")


def _chunk_size(line: bytes) -> int:
    found = _CHUNK_SIZE.fullmatch(line)
    if found is None:
        raise Unread(400, "the size of a chunk cannot be read")
    return int(found[1], 16)


def _too_large() -> Unread:
    return Unread(413, f"a body has at most {BODY_LIMIT} bytes")
