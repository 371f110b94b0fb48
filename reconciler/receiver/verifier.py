"""For a partner's own endpoint: verifies requests, parses notifications, and finds the attempt id in a URL."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, runtime_checkable
from urllib.parse import urlsplit

from msgspec.structs import asdict

from reconciler.model.desired import ALGORITHMS, ENCODINGS, KEY_ENCODINGS
from reconciler.model.url import ATTEMPT, normal_url
from reconciler.notifications.notification import RequestRefused, parse_notification
from reconciler.notifications.signatures import decode_key, verify

if TYPE_CHECKING:
    from reconciler.model.desired import Verification
    from reconciler.notifications.notification import Notification


@runtime_checkable
class _HasItems(Protocol):
    def items(self) -> Iterable[tuple[str | bytes, str | bytes]]: ...


Headers = _HasItems | Iterable[tuple[str | bytes, str | bytes]]
"""The types of headers that servers provide: a mapping, a message of the standard library, or pairs as in ASGI."""


class BadSignature(RequestRefused):
    """The signature is missing, malformed, or made with a different secret. The request cannot be trusted."""

    status = 401


class Verifier:
    """Verifies requests by the scheme `verification` with the secrets of a subscription.

    A subscription has several secrets during a rotation. Any number of threads may use a verifier. `enforce` is
    ignored: a bad signature is always refused. Raises ValueError if a setting is invalid, if there are no secrets, or
    if a secret is not valid in the `key_encoding`.
    """

    def __init__(self, verification: Verification, secrets: Iterable[str | bytes]) -> None:
        known = {"algorithm": tuple(ALGORITHMS), "encoding": ENCODINGS, "key_encoding": KEY_ENCODINGS}
        for name, allowed in known.items():
            if asdict(verification)[name] not in allowed:
                raise ValueError(f"unknown {name}: expected one of {', '.join(allowed)}")
        if isinstance(secrets, str | bytes):
            raise TypeError("expected a list of secrets, even for a single one")
        self._verification = verification
        self._secrets = [secret.encode() if isinstance(secret, str) else secret for secret in secrets]
        if not self._secrets:
            raise ValueError("no secret: every request would be refused")
        for number, secret in enumerate(self._secrets, 1):
            if not decode_key(secret, verification.key_encoding):
                raise ValueError(f"secret {number} is empty or not in the key_encoding {verification.key_encoding}")

    def verify(self, headers: Headers, body: bytes) -> None:
        """Raise BadSignature unless this request was signed with one of the secrets.

        The comparison takes constant time. `body` must be the raw body, byte for byte: JSON that was parsed and
        serialised again has a different signature. Raises TypeError if `body` is not bytes.
        """
        if not isinstance(body, bytes | bytearray | memoryview):
            raise TypeError(f"expected the raw body as bytes, as it was received, not {type(body).__name__}")
        pairs = headers.items() if isinstance(headers, _HasItems) else headers
        sent = [(_text(name), _text(value).strip()) for name, value in pairs]
        problem = verify(self._verification, self._secrets, sent, bytes(body))
        if problem is not None:
            raise BadSignature(problem)

    def read(self, headers: Headers, body: bytes) -> Notification:
        """Return the notification in a request. Raises BadSignature and NotANotification."""
        self.verify(headers, body)
        return parse_notification(bytes(body))


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def attempt_of(url: str, template: str) -> str | None:
    """Return the id of the attempt in a URL: the 32 hex digits in place of `{attempt}` in the template.

    `url` may also be a path with its query, as in a request. Returns None if the URL does not match the template, or if
    the template has no `{attempt}`.
    """
    fit = _fit(url, template)
    return fit.group(1) if fit is not None and fit.re.groups else None


def fits(url: str, template: str) -> bool:
    """True if a URL, or a path with its query, matches the template with an attempt id in place of `{attempt}`."""
    return _fit(url, template) is not None


def _fit(url: str, template: str) -> re.Match[str] | None:
    try:
        is_path = url.startswith("/")
        return _pattern(template, is_path).fullmatch(url if is_path else normal_url(url))
    except ValueError:  # not a valid URL
        return None


@lru_cache(maxsize=65_536)
def _pattern(template: str, is_path: bool) -> re.Pattern[str]:
    normal = normal_url(template)
    if is_path:
        parts = urlsplit(normal)
        normal = parts.path + (f"?{parts.query}" if "?" in normal else "")
    first, *others = normal.split(ATTEMPT)
    rest = [
        ("(?P<id>[0-9a-f]{32})" if number == 0 else "(?P=id)") + re.escape(part) for number, part in enumerate(others)
    ]
    return re.compile(re.escape(first) + "".join(rest))
