"""Reading the body of a request, whether its length is announced or it comes in chunks."""

import re
from collections.abc import Sequence
from io import BufferedIOBase

from reconciler.receiver.exchange import Response

BODY_LIMIT = 1024 * 1024
_LINE_LIMIT = 4096
_TRAILERS = 64
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?\r?\n", re.DOTALL)


class Unread(Exception):
    """A body that is refused, with the response to it. The rest of it was not read."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.response = Response(status, text)


def check_framing(lengths: Sequence[str], codings: Sequence[str]) -> int | None:
    """The length announced by the values of Content-Length and Transfer-Encoding; None for a body in chunks.

    Raises Unread.
    """
    if codings:
        if lengths:
            raise Unread(400, "both content-length and transfer-encoding are set")
        if [coding.strip().lower() for coding in codings] != ["chunked"]:
            raise Unread(501, "unsupported transfer-encoding: expected chunked")
        return None
    different = {length.strip() for length in lengths} or {"0"}
    length = different.pop()
    if different or not _LENGTH.fullmatch(length):
        raise Unread(400, "invalid content-length")
    if int(length) > BODY_LIMIT:
        raise _too_large()
    return int(length)


def read_body(stream: BufferedIOBase, length: int | None) -> bytes:
    """The body; `length` is None for one in chunks. Raises Unread, and what the stream raises."""
    return _read_chunks(stream) if length is None else _read_exactly(stream, length)


def _read_exactly(stream: BufferedIOBase, length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise Unread(400, "the body is incomplete")
    return data


def _read_chunks(stream: BufferedIOBase) -> bytes:
    body = bytearray()
    while size := _chunk_size(stream.readline(_LINE_LIMIT)):
        if len(body) + size > BODY_LIMIT:
            raise _too_large()
        body += _read_exactly(stream, size)
        if stream.readline(3).rstrip(b"\r\n"):
            raise Unread(400, "a chunk is longer than its declared size")
    for _ in range(_TRAILERS):
        if not stream.readline(_LINE_LIMIT).rstrip(b"\r\n"):
            return bytes(body)
    raise Unread(400, "unterminated trailer")


def _chunk_size(line: bytes) -> int:
    found = _CHUNK_SIZE.fullmatch(line)
    if found is None:
        raise Unread(400, "invalid chunk size")
    return int(found[1], 16)


def _too_large() -> Unread:
    return Unread(413, f"the body is larger than {BODY_LIMIT} bytes")
