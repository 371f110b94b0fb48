"""For an endpoint's own code: whether a request comes from the service, and the notification in it."""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, assert_never, runtime_checkable

from reconciler.errors import ServiceError, SettingsError
from reconciler.model.desired import ALGORITHMS, ENCODINGS, KEY_ENCODINGS, Verification
from reconciler.notifications.signatures import SignatureMatch, has_signature, is_key, missing_headers, verify

if TYPE_CHECKING:
    from reconciler.notifications.notification import Notification


@runtime_checkable
class _HasItems(Protocol):
    def items(self) -> Iterable[tuple[str | bytes, str | bytes]]: ...


Headers = _HasItems | Iterable[tuple[str | bytes, str | bytes]]
"""What servers have headers as: a mapping, a message of the standard library, or the pairs of ASGI."""


class RequestRefused(Exception):
    """A request that is not to be accepted, and the `status` to answer it with.

    The text says what is wrong, and holds nothing of the body and no secret.
    """

    status = 400


class BadSignature(RequestRefused):
    """The signature is missing, malformed, or made with none of the secrets. Nothing else is known of the request."""

    status = 401


class NotANotification(RequestRefused):
    """The signature is right, and the body not what SERVICE.md, section 2.3, describes."""


class Verifier:
    """Verifies requests as `verification` says, with the secrets of a subscription: several while one is replaced.

    Raises ValueError for settings that cannot be, for no secret at all, and for one that is not in the `key_encoding`.
    An object may be used by any number of threads. `enforce` makes no difference here: a bad signature is refused.
    """

    def __init__(self, verification: Verification, secrets: Iterable[str | bytes]) -> None:
        _check(verification)
        if isinstance(secrets, str | bytes):
            raise TypeError("expected several secrets: a list, even of one")
        self._verification = verification
        self._secrets = [secret.encode() if isinstance(secret, str) else secret for secret in secrets]
        if not self._secrets:
            raise ValueError("no secret: every request would be refused")
        for number, secret in enumerate(self._secrets, 1):
            if not is_key(verification, secret):
                raise ValueError(f"secret {number} is empty or not in the key_encoding {verification.key_encoding}")

    def verify(self, headers: Headers, body: bytes) -> None:
        """Raise BadSignature unless one of the secrets signed this request, compared in constant time.

        `body` is the raw body, byte for byte: JSON that was parsed and written again has another signature. Raises
        TypeError for anything but bytes.
        """
        if not isinstance(body, bytes | bytearray | memoryview):
            raise TypeError(f"expected the raw body as bytes, as it was received, not {type(body).__name__}")
        raw, joined = bytes(body), _joined(headers)
        match verify(self._verification, self._secrets, joined, raw):
            case SignatureMatch.MATCH:
                return
            case SignatureMatch.MISSING:
                missing = missing_headers(self._verification, joined)
                raise BadSignature(f"the header {missing[0]} is missing")
            case SignatureMatch.MISMATCH:
                raise BadSignature(self._mismatch(joined))
            case never:
                assert_never(never)

    def read(self, headers: Headers, body: bytes) -> "Notification":
        """The notification in a request. Raises BadSignature, then NotANotification, and TypeError as `verify` does."""
        from reconciler.notifications.notification import parse_notification  # noqa: PLC0415 - it loads pydantic

        self.verify(headers, body)
        try:
            return parse_notification(bytes(body))
        except ServiceError as problem:
            raise NotANotification(problem.what) from None

    def _mismatch(self, headers: dict[str, str]) -> str:
        scheme = self._verification
        if not has_signature(scheme, headers):
            prefix = f" after the prefix {scheme.prefix!r}" if scheme.prefix else ""
            return f"{scheme.header} has no {scheme.algorithm} signature in {scheme.encoding}{prefix}"
        count = len(self._secrets)
        secrets = "the secret" if count == 1 else f"any of the {count} secrets"
        return f"{scheme.header} does not match {secrets}, or the body is not as it was sent"


def read_verification(config: str | PathLike[str] = "config") -> Verification:
    """The `verification:` section of a `config/`. Raises ConfigError, and SettingsError if there is none."""
    from reconciler.desired import load  # noqa: PLC0415 - it loads the YAML reader

    verification = load(Path(config), lambda _target, _field: None).verification
    if verification is None:
        raise SettingsError("there is no `verification:` section", where=config, remedy="add one")
    return verification


def _check(verification: Verification) -> None:
    for name, value, allowed in (
        ("algorithm", verification.algorithm, tuple(ALGORITHMS)),
        ("encoding", verification.encoding, ENCODINGS),
        ("key_encoding", verification.key_encoding, KEY_ENCODINGS),
    ):
        if value not in allowed:
            raise ValueError(f"unknown {name} {value!r}: expected one of {', '.join(allowed)}")


def _joined(headers: Headers) -> dict[str, str]:
    """The headers by lower-case name; several values are one list (RFC 9110, section 5.3)."""
    joined: dict[str, str] = {}
    for name, value in headers.items() if isinstance(headers, _HasItems) else headers:
        key, text = _text(name).lower(), _text(value).strip()
        joined[key] = f"{joined[key]}, {text}" if key in joined else text
    return joined


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
