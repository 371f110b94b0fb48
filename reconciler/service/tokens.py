"""Gets access tokens from a cache or from the identity provider (service description, section 5).

A failed token request does no harm, so it is retried a few times if the identity provider is unreachable, failing or
overloaded.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import os
import re
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Protocol

import msgspec
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from msgspec import Meta, Struct

from reconciler.disk import check_private, locked_file, open_regular, private_directory, replace_file
from reconciler.errors import Message, Step, TokenError, step
from reconciler.service import clock
from reconciler.service.outcomes import outcome_of
from reconciler.values import Discreet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from reconciler.model.desired import Target
    from reconciler.model.outcome import Answer
    from reconciler.service.transport import Transport


PAUSES = (0.5, 1.0, 2.0)
"""The pause before each retry, in seconds."""

_LONGEST_LIFE = 86_400  # seconds (service description, section 8): a longer lifetime is reduced to this
_LONGEST_TOKEN = 16_384  # characters: servers do not accept a longer header
_LONGEST_PAUSE = 10.0
_MEMBER = re.compile(r"(?:`\$\.|field `)(\w+)`")  # in the text of a validation error


class Secret(Protocol):
    """A value that is hidden in its repr, like pydantic's SecretStr."""

    def get_secret_value(self) -> str: ...


class Credentials(Protocol):
    """A client identifier and its secret, as the operator issued them (service description, section 5)."""

    @property
    def client_id(self) -> str: ...
    @property
    def client_secret(self) -> Secret: ...


class TokenAnswer(Discreet, frozen=True):
    """The answer of the token endpoint (service description, section 2.1)."""

    unprinted = ("access_token",)

    access_token: Annotated[str, Meta(pattern=r"\A[\x21-\x7e]+\Z", max_length=_LONGEST_TOKEN)]
    token_type: Annotated[str, Meta(pattern=r"\A(?i:bearer)\Z")]
    expires_in: Annotated[int, Meta(gt=0)]


_read_answer = msgspec.json.Decoder(TokenAnswer).decode


class Tokens:
    """Gets and discards the tokens of one target. `timeout` limits one request, in seconds."""

    def __init__(
        self, transport: Transport, cache: TokenCache, target: Target, credentials: Credentials, timeout: float
    ) -> None:
        self._transport = transport
        self._cache = cache
        self._target = target
        self._credentials = credentials
        self._secret = credentials.client_secret.get_secret_value()
        self._timeout = timeout

    def token(self, api: str) -> str:
        """Return a token for one API. Raises TokenError."""
        purpose = self._purpose(api)
        return self._cache.get(purpose, self._secret, lambda: self._request(purpose))

    def discard(self, api: str, refused: str) -> None:
        """Discard a token that the service refused."""
        self._cache.discard(self._purpose(api), self._secret, refused)

    def _purpose(self, api: str) -> Purpose:
        return Purpose(self._target.auth_url, self._credentials.client_id, f"{self._target.audience_base}/{api}")

    def _request(self, purpose: Purpose) -> tuple[str, float]:
        """Request a token, and return it with its lifetime in seconds. No pause begins after `timeout` seconds."""
        started, answer = clock.steady(), self._ask(purpose)
        for pause in PAUSES:
            transient = answer.status is None or answer.status == 429 or answer.status >= 500
            if not transient or clock.steady() - started > self._timeout:
                break
            time.sleep(max(pause, min(answer.retry_after or 0.0, _LONGEST_PAUSE)))
            answer = self._ask(purpose)
        if answer.status is None or not 200 <= answer.status < 300:
            raise self._error(answer, answer.detail or "", purpose)
        try:
            token = _read_answer(answer.body)
        except msgspec.ValidationError as problem:
            member = _MEMBER.search(str(problem))
            fault = f"a valid {member[1]}" if member else "a JSON object"
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            fault = "a JSON object"
        else:
            return token.access_token, min(token.expires_in, _LONGEST_LIFE)
        # Raised outside the handler, because the validation error may quote the answer and thus a token.
        raise self._error(answer, f"HTTP {answer.status} without {fault}", purpose)

    def _ask(self, purpose: Purpose) -> Answer:
        body = {
            "grant_type": "client_credentials",
            "client_id": purpose.client_id,
            "client_secret": self._secret,
            "audience": purpose.audience,
        }
        secrets = (purpose.client_id, self._secret)
        result = self._transport.send(
            "POST", f"{self._target.auth_url}/oauth/token", {"content-type": "application/json"},
            msgspec.json.encode(body), timeout=self._timeout, secrets=secrets,
        )  # fmt: skip
        return outcome_of(result, secrets)

    def _error(self, answer: Answer, fault: str, purpose: Purpose) -> TokenError:
        what = f"no access token: {fault}"
        return TokenError(Message("no-token", what, self._target.name, (self._advice(answer.status, purpose),)))

    def _advice(self, status: int | None, purpose: Purpose) -> Step:
        prefix, address = self._target.name.variable_prefix, self._target.auth_url
        if status in (400, 401, 403):
            return step(f"check {prefix}CLIENT_ID, {prefix}CLIENT_SECRET and the audience {purpose.audience}")
        if status is None:
            return step(f"check auth_url ({address}) and the network")
        if status == 429 or status >= 500:
            return step("the identity provider is overloaded or unavailable: retry later")
        return step(f"check auth_url ({address})")


logger = logging.getLogger("reconciler.service")

_FORMAT = b"reconciler token 1"
_FILE_LIMIT = 1 << 16
_PATIENCE = 30.0  # seconds to wait for another process that requests the same token; then this process requests one too


class Purpose(Struct, frozen=True):
    """The identity provider, client and audience of a token. Targets with the same three values share a token."""

    auth_url: str
    client_id: str
    audience: str

    @property
    def key(self) -> str:
        """Return the name of the token's file, without its extension: 64 hexadecimal digits."""
        return hashlib.sha256(_FORMAT + msgspec.json.encode(self)).hexdigest()


class Token(Discreet, frozen=True):
    """A token with the time of its request and its lifetime in seconds.

    `wall` and `steady` are the time of the request on the wall clock and on the steady clock, and `boot` identifies the
    boot in which `steady` is valid.
    """

    unprinted = ("value",)

    purpose: Purpose
    value: str
    wall: float
    steady: float
    boot: str
    lifetime: float

    def is_fresh(self) -> bool:
        """True if the token may be used: it does not expire within a safety margin.

        The margin is a tenth of the lifetime, at most five minutes. The wall clock may have been set since the request,
        so within one boot the steady clock must agree.
        """
        usable, now = self.lifetime - min(300.0, self.lifetime / 10), clock.now()
        same_boot = self.boot != "" and self.boot == clock.boot_id()
        return 0 <= now.wall - self.wall < usable and (not same_boot or 0 <= now.steady - self.steady < usable)


_read_token = msgspec.json.Decoder(Token).decode


class TokenCache:
    """Caches tokens in a directory. Threads and processes that need the same token share one request."""

    def __init__(self, directory: Path) -> None:
        """Use `directory`; create it with mode 0700 if it does not exist.

        Raises SettingsError if other users could write to the directory.
        """
        self._directory = directory
        self._memory: dict[tuple[Purpose, str], Token] = {}
        self._is_warned = False
        with self._tolerant():
            try:
                check_private(directory)
            except FileNotFoundError:
                private_directory(directory)

    def get(self, purpose: Purpose, secret: str, request: Callable[[], tuple[str, float]]) -> str:
        """Return the cached token if it is fresh; otherwise request a token and cache it.

        `request` returns a token and its lifetime in seconds. Its exceptions are not caught.
        """
        token = self._memory.get((purpose, secret))
        if token is None or not token.is_fresh():
            with self._alone(purpose):
                token = self._read(purpose, secret)
                if token is None or not token.is_fresh():
                    before = clock.now()  # the lifetime starts between the request and the answer
                    value, lifetime = request()
                    token = Token(purpose, value, before.wall, before.steady, clock.boot_id(), lifetime)
                    self._write(token, secret)
            self._memory[purpose, secret] = token
        return token.value

    def discard(self, purpose: Purpose, secret: str, value: str) -> None:
        """Delete the token `value` from the cache, unless another token has replaced it."""
        with self._alone(purpose):
            cached, stored = self._memory.get((purpose, secret)), self._read(purpose, secret)
            if cached is not None and cached.value == value:
                self._memory.pop((purpose, secret), None)
            if stored is not None and stored.value == value:
                with self._tolerant():
                    self._path(purpose).unlink(missing_ok=True)

    def _path(self, purpose: Purpose) -> Path:
        return self._directory / f"{purpose.key}.token"

    def _read(self, purpose: Purpose, secret: str) -> Token | None:
        try:
            with os.fdopen(open_regular(self._path(purpose), os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
                data = _cipher(purpose, secret).decrypt(file.read(_FILE_LIMIT))
            token = _read_token(data)
        except (OSError, InvalidToken, msgspec.DecodeError, UnicodeDecodeError):
            return None
        return token if token.purpose == purpose else None

    def _write(self, token: Token, secret: str) -> None:
        data = _cipher(token.purpose, secret).encrypt(msgspec.json.encode(token))
        with self._tolerant():
            replace_file(self._path(token.purpose), data, 0o600)

    @contextmanager
    def _alone(self, purpose: Purpose) -> Iterator[None]:
        """Hold the lock of `purpose`, if possible, to exclude other threads and processes.

        Without the lock, two of them may request the same token.
        """
        with ExitStack() as held:
            with suppress(OSError):
                held.enter_context(locked_file(self._directory / f"{purpose.key}.lock", _PATIENCE))
            yield

    @contextmanager
    def _tolerant(self) -> Iterator[None]:
        """Ignore errors while the cache is written; log only the first error."""
        try:
            yield
        except OSError as problem:
            if not self._is_warned:
                self._is_warned = True
                logger.warning("cannot cache tokens: %s: %s", self._directory, problem.strerror)


def _cipher(purpose: Purpose, secret: str) -> Fernet:
    derivation = HKDF(SHA256(), length=32, salt=_FORMAT, info=purpose.key.encode())
    return Fernet(base64.urlsafe_b64encode(derivation.derive(secret.encode())))
