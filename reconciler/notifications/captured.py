r"""Captured notifications and their file format: JSON Lines in UTF-8, one object for each notification.

`listen --record` writes such files, a partner's endpoint may write them too, and `state observe` reads them. The
fields:

=============  =====================================================================================================
`at`           when it was received: ISO 8601 with an offset from UTC, or Z
`path`, `url`  where it was sent: path and query, or the whole URL; at least one of them
`code`         its event code; may be omitted if `body` is present
`verified`     true if its signature was valid; null or omitted if it was not checked
`body`         the body as received
`headers`      [name, value] in the order sent; the values of Authorization and Cookie headers are omitted
=============  =====================================================================================================

Other fields are ignored. Bytes after the last newline are an incomplete line: readers ignore the line if it cannot be
read, and the next append removes it.
"""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from datetime import datetime  # noqa: TC003 - msgspec reads the annotation
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from reconciler.errors import Message, SettingsError, Step
from reconciler.values import Discreet, stamp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LINE_LIMIT = 16 * 1024 * 1024  # bytes; with escapes, a body of 1 MiB can take several times as much
_UNRECORDED = ("authorization", "proxy-authorization", "cookie")
_LEFT_OUT = "(not recorded)"


class Captured(Discreet, frozen=True):
    """A notification as it was received. `at` is in UTC, to the second, with a Z. `code` is "" if there is no code."""

    unprinted = ("body", "headers")

    at: str
    code: str
    path: str
    url: str | None = None
    verified: bool | None = None
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


class _Line(Struct):
    at: datetime
    path: str | None = None
    url: str | None = None
    code: str | None = None
    verified: bool | None = None
    body: str | None = None
    headers: tuple[tuple[str, str], ...] = ()


class _Coded(Struct, rename="pascal"):
    event_code: str


_read_coded, _read_line = msgspec.json.Decoder(_Coded).decode, msgspec.json.Decoder(_Line).decode


def line_of(captured: Captured) -> bytes:
    """Return a notification as a line of the file, with its newline.

    The line is ASCII, so that it is safe to show on a terminal.
    """
    headers = [[name, _LEFT_OUT if name.lower() in _UNRECORDED else value] for name, value in captured.headers]
    document = {
        "at": captured.at,
        "path": captured.path,
        "url": captured.url,
        "code": captured.code,
        "verified": captured.verified,
        "body": captured.body.decode(),
        "headers": headers,
    }
    return json.dumps(document).encode() + b"\n"


def code_of(body: bytes | str) -> str:
    """Return the event code in a body, or "" if the body has none."""
    try:
        return _read_coded(body).event_code
    except (ValueError, RecursionError):
        return ""


def parse_line(line: bytes, where: str) -> Captured:
    """Return the notification in a line. Raises SettingsError; its message shows no value from the line."""
    try:
        read = _read_line(line)
        what = "" if read.at.tzinfo else "`at` has no UTC offset"
        path = _path_of(read.url or "") if read.path is None else read.path
        if not path:
            what = "expected `path` or `url`"
        elif read.code is None and read.body is None:
            what = "expected `code` or `body`"
    except (ValueError, RecursionError) as problem:
        what = (
            str(problem) if isinstance(problem, msgspec.ValidationError) else "expected a JSON object, with a valid URL"
        )
    if what:
        raise SettingsError(
            Message("bad-capture", f"not a captured notification: {what}", where, (Step("see `listen --record`"),))
        )
    code = read.code if read.code is not None else code_of(read.body or "")
    body, headers = (read.body or "").encode(), tuple(pair for pair in read.headers if pair[1] != _LEFT_OUT)
    return Captured(stamp(read.at.timestamp()), code, path, read.url, read.verified, body, headers)


def read_captured(path: Path) -> Iterator[Captured]:
    """Yield the notifications in a capture file (`-` is standard input) in order. An incomplete last line is ignored.

    Raises SettingsError if the file cannot be read, or if a line is invalid; the message then contains the line number.
    """
    try:
        with nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb") as file:
            number = 0
            while line := file.readline(LINE_LIMIT):
                number += 1
                try:
                    captured = parse_line(line, f"{path}:{number}")
                except SettingsError:
                    if line.endswith(b"\n") or len(line) == LINE_LIMIT:
                        raise
                    return
                yield captured
    except OSError as problem:
        raise SettingsError(Message("unreadable-capture", f"cannot be read: {problem.strerror}", str(path))) from None


def _path_of(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "") if parts.netloc else ""
