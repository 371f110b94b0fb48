"""Access tokens cached for their lifetime: in memory, and on disk for later runs and other processes.

A file holds one token, encrypted under a key derived from the client secret, so that the directory may be kept in a CI
cache. A damaged or foreign file is a cache miss, never an error; nor is a directory that cannot be written.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import os
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from msgspec import Struct

from reconciler.disk.directories import check_private, private_directory
from reconciler.disk.durable import open_regular, replace_file
from reconciler.disk.locks import locked_file
from reconciler.service import clock
from reconciler.values import Discreet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

logger = logging.getLogger("reconciler.service")

_FORMAT = b"reconciler token 1"
_FILE_LIMIT = 1 << 16
_PATIENCE = 30.0  # seconds to wait for another process that requests the same token, before it is requested here too


class Purpose(Struct, frozen=True):
    """The identity provider, client and audience of a token. Targets that share all three share the token."""

    auth_url: str
    client_id: str
    audience: str

    @property
    def key(self) -> str:
        """A file name for the purpose: 64 hexadecimal digits."""
        return hashlib.sha256(_FORMAT + msgspec.json.encode(self)).hexdigest()


class Token(Discreet, frozen=True):
    """A token, when it was requested (on both clocks, in the boot with the id `boot`), and its lifetime in seconds."""

    unprinted = ("value",)

    purpose: Purpose
    value: str
    wall: float
    steady: float
    boot: str
    lifetime: float

    def is_fresh(self) -> bool:
        """Return True if it may be used: with a margin of a tenth of its lifetime, five minutes at most.

        The wall clock may have been set since; within one boot, the steady clock must agree.
        """
        usable, now = self.lifetime - min(300.0, self.lifetime / 10), clock.now()
        same_boot = self.boot != "" and self.boot == clock.boot_id()
        return 0 <= now.wall - self.wall < usable and (not same_boot or 0 <= now.steady - self.steady < usable)


class TokenCache:
    """The tokens of one directory. Threads and processes that need the same token request it once between them."""

    def __init__(self, directory: Path) -> None:
        """Use `directory`, created with mode 0700 if needed.

        Raises SettingsError for a directory that other users could write to.
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
        """Return the cached token if it is fresh, else the one that `request` returns, which is then cached.

        `request` returns a token and its lifetime in seconds. Raises what it raises.
        """
        token = self._memory.get((purpose, secret))
        if token is None or not token.is_fresh():
            with self._alone(purpose):
                token = self._read(purpose, secret)
                if token is None or not token.is_fresh():
                    before = clock.now()  # its lifetime starts between the request and the answer
                    value, lifetime = request()
                    token = Token(purpose, value, before.wall, before.steady, clock.boot_id(), lifetime)
                    self._write(token, secret)
            self._memory[purpose, secret] = token
        return token.value

    def discard(self, purpose: Purpose, secret: str, value: str) -> None:
        """Delete the token `value` from the cache, unless another one has replaced it."""
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
            token = msgspec.json.decode(data, type=Token)
        except (OSError, InvalidToken, msgspec.DecodeError, UnicodeDecodeError):
            return None
        return token if token.purpose == purpose else None

    def _write(self, token: Token, secret: str) -> None:
        data = _cipher(token.purpose, secret).encrypt(msgspec.json.encode(token))
        with self._tolerant():
            replace_file(self._path(token.purpose), data, 0o600)

    @contextmanager
    def _alone(self, purpose: Purpose) -> Iterator[None]:
        """Hold the lock of `purpose` if possible, against threads too: without it a token may be requested twice."""
        with ExitStack() as held:
            with suppress(OSError):
                held.enter_context(locked_file(self._directory / f"{purpose.key}.lock", _PATIENCE))
            yield

    @contextmanager
    def _tolerant(self) -> Iterator[None]:
        """Do without the cache if it cannot be written, and log that once."""
        try:
            yield
        except OSError as problem:
            if not self._is_warned:
                self._is_warned = True
                logger.warning("cannot cache tokens: %s: %s", self._directory, problem.strerror)


def _cipher(purpose: Purpose, secret: str) -> Fernet:
    derivation = HKDF(SHA256(), length=32, salt=_FORMAT, info=purpose.key.encode())
    return Fernet(base64.urlsafe_b64encode(derivation.derive(secret.encode())))
