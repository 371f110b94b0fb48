"""Captured requests, and the lines they are kept as (see the package for the format)."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from reconciler.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

LINE_LIMIT = 16 * 1024 * 1024  # bytes; escaped, a body of 1 MiB can take three times as much
UNRECORDED = ("authorization", "proxy-authorization", "cookie")
LEFT_OUT = "(not recorded)"


@dataclass(frozen=True, slots=True)
class Captured:
    """One notification as it was received; the fields are those of its line."""

    at: str
    body: bytes
    path: str = "/"
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    verified: bool | None = None
    duplicate: bool = False
    confirmed: bool = True


def line_of(captured: Captured) -> bytes:
    """The line, with its newline; pure ASCII, so that nothing in it can act as anything."""
    headers = {name: LEFT_OUT if name.lower() in UNRECORDED else text for name, text in captured.headers.items()}
    document = {
        "at": captured.at,
        "path": captured.path,
        "url": captured.url,
        "headers": headers,
        **_body_fields(captured.body),
        "verified": captured.verified,
        "duplicate": captured.duplicate,
        **({} if captured.confirmed else {"confirmed": False}),
    }
    return json.dumps(document).encode() + b"\n"


def _body_fields(body: bytes) -> dict[str, str]:
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"body_base64": b64encode(body).decode()}


def parse_captured(line: bytes, where: object = None) -> Captured:
    """The request that a line holds. Raises SettingsError, which tells nothing of what is in it."""
    try:
        document = json.loads(line.decode())
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise _unreadable("is not a JSON object", where)
    at, url, headers = document.get("at"), document.get("url"), document.get("headers", {})
    verified, duplicate = document.get("verified"), document.get("duplicate", False)
    confirmed = document.get("confirmed", True)
    path = document.get("path", _path_of(url))
    if not isinstance(at, str) or not isinstance(path, str) or not isinstance(url, str | None):
        raise _unreadable("has an `at`, `path` or `url` that is no text, or no `at`", where)
    if not isinstance(headers, dict) or not all(isinstance(text, str) for text in headers.values()):
        raise _unreadable("has `headers` that are not names and texts", where)
    if not isinstance(verified, bool | None) or not all(isinstance(one, bool) for one in (duplicate, confirmed)):
        raise _unreadable("has a `verified`, `duplicate` or `confirmed` that is neither true nor false", where)
    return Captured(at, _body(document, where), path, url, headers, verified, duplicate, confirmed)


def _body(document: Mapping[str, Any], where: object) -> bytes:
    text, encoded = document.get("body"), document.get("body_base64")
    try:
        if isinstance(text, str) and encoded is None:
            return text.encode()
        if isinstance(encoded, str) and text is None:
            return b64decode(encoded, validate=True)
    except ValueError:
        pass
    raise _unreadable("wants a `body` that is text, or a `body_base64`", where)


def _path_of(url: object) -> str:
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
    except ValueError:
        return "/"
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _unreadable(what: str, where: object) -> SettingsError:
    return SettingsError(
        f"this captured request {what}", where=where, remedy="it is wanted as `listen --record` writes it"
    )


def captured_in(path: Path, left_out: Callable[[SettingsError], object] = lambda _: None) -> Iterator[Captured]:
    """The requests in a capture file, in order. What follows the last newline is left out if it cannot be read.

    `left_out` is told then, since it may be a line that is still being written. Raises SettingsError for a file or a
    line that cannot be read, the line by its number.
    """
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LINE_LIMIT):
                number += 1
                yield parse_captured(line, f"{path}:{number}")
    except OSError as problem:
        raise SettingsError(f"cannot be read: {problem.strerror}", where=path) from None
    except SettingsError as problem:
        if line.endswith(b"\n") or len(line) == LINE_LIMIT:
            raise
        left_out(problem)
