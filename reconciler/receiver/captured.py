"""Captured requests, and the lines they are saved as (see the package for the format)."""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct, field

from reconciler.errors import SettingsError

LINE_LIMIT = 16 * 1024 * 1024  # bytes; escaped, a body of 1 MiB can take three times as much
UNRECORDED = ("authorization", "proxy-authorization", "cookie")
LEFT_OUT = "(not recorded)"


class Captured(Struct, frozen=True):
    """One notification as it was received; the fields are those of its line."""

    at: str
    body: bytes
    path: str = "/"
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    verified: bool | None = None
    duplicate: bool = False
    confirmed: bool = True
    fields: tuple[tuple[str, str], ...] = ()

    def sent_headers(self) -> tuple[tuple[str, str], ...]:
        """The headers as they were sent, in order, but for those whose values were left out."""
        fields = self.fields or tuple(self.headers.items())
        return tuple((name, value) for name, value in fields if not (_is_unrecorded(name) and value == LEFT_OUT))


def line_of(captured: Captured) -> bytes:
    """The line, with its newline; pure ASCII, so that no terminal or shell interprets anything in it."""
    headers = {name: _recorded(name, text) for name, text in captured.headers.items()}
    fields = [(name, _recorded(name, text)) for name, text in captured.fields]
    document = {
        "at": captured.at,
        "path": captured.path,
        "url": captured.url,
        "headers": headers,
        **({"header_list": fields} if fields else {}),
        **_body_fields(captured.body),
        "verified": captured.verified,
        "duplicate": captured.duplicate,
        **({} if captured.confirmed else {"confirmed": False}),
    }
    return json.dumps(document).encode() + b"\n"


def _is_unrecorded(name: str) -> bool:
    return name.lower() in UNRECORDED


def _recorded(name: str, text: str) -> str:
    return LEFT_OUT if _is_unrecorded(name) else text


def _body_fields(body: bytes) -> dict[str, str]:
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"body_base64": b64encode(body).decode()}


def parse_captured(line: bytes, where: object = None) -> Captured:
    """The request in a line. Raises SettingsError, whose text shows nothing of the line."""
    try:
        document = json.loads(line.decode())
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise _invalid("not a JSON object", where)
    at, url, headers = document.get("at"), document.get("url"), document.get("headers", {})
    verified, duplicate = document.get("verified"), document.get("duplicate", False)
    confirmed = document.get("confirmed", True)
    path = document.get("path", _path_of(url))
    if not isinstance(at, str) or not isinstance(path, str) or not isinstance(url, str | None):
        raise _invalid("`at` is missing, or `at`, `path` or `url` is not a string", where)
    if not isinstance(headers, dict) or not all(isinstance(text, str) for text in headers.values()):
        raise _invalid("`headers` must be strings by name", where)
    if not isinstance(verified, bool | None) or not all(isinstance(flag, bool) for flag in (duplicate, confirmed)):
        raise _invalid("`verified`, `duplicate` and `confirmed` must be true or false", where)
    body, fields = _body(document, where), _fields(document.get("header_list", []), where)
    return Captured(at, body, path, url, headers, verified, duplicate, confirmed, fields)


def _fields(pairs: object, where: object) -> tuple[tuple[str, str], ...]:
    if isinstance(pairs, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(text, str) for text in pair) for pair in pairs
    ):
        return tuple((name, text) for name, text in pairs)
    raise _invalid("`header_list` must be pairs of strings", where)


def _body(document: Mapping[str, Any], where: object) -> bytes:
    text, encoded = document.get("body"), document.get("body_base64")
    try:
        if isinstance(text, str) and encoded is None:
            return text.encode()
        if isinstance(encoded, str) and text is None:
            return b64decode(encoded, validate=True)
    except ValueError:
        pass
    raise _invalid("expected a `body` string or a `body_base64`", where)


def _path_of(url: object) -> str:
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
    except ValueError:
        return "/"
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _invalid(what: str, where: object) -> SettingsError:
    return SettingsError(
        f"invalid captured request: {what}", where=where, remedy="use a line written by `listen --record`"
    )


def captured_in(path: Path, skipped: Callable[[SettingsError], object] = lambda _: None) -> Iterator[Captured]:
    """The requests in a capture file, in order. What follows the last newline is skipped if it cannot be read.

    It may be a line that is still being written; `skipped` gets the reason. Raises SettingsError for a file or a line
    that cannot be read; the error names the line by its number.
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
        skipped(problem)
