"""Access tokens cached for their lifetime: in memory, and on disk for later runs and other processes.

A file contains one token, encrypted under a key derived from the client secret, so that the directory may be saved in a
CI cache. A damaged or foreign file is a cache miss, never an error; nor is a file that cannot be written.
"""

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from reconciler.disk.directories import check_private, private_directory
from reconciler.disk.durable import replace_file
from reconciler.disk.locks import locked_file
from reconciler.model.clock import Instant
from reconciler.service import clock
from reconciler.service.stored_token import Purpose, Token, decrypt, encrypt

logger = logging.getLogger("reconciler.service")

_FILE_LIMIT = 1 << 16
_PATIENCE = 30.0  # seconds to wait for another process that requests the same token, before it is requested here too


class TokenCache:
    """The tokens of one directory. Threads and processes that need the same token send one request between them."""

    def __init__(self, directory: Path, now: Callable[[], Instant] = clock.now, boot: str | None = None) -> None:
        """Use `directory`, created with mode 0700 if needed; `now` and `boot` replace the machine's clock and boot id.

        Raises SettingsError for a directory that other users could write to.
        """
        self._directory = directory
        self._now = now
        self._boot = clock.boot_id() if boot is None else boot
        self._memory: dict[tuple[Purpose, str], Token] = {}
        self._locks: dict[Purpose, threading.Lock] = {}
        self._warned = False
        self._make_directory()

    def get(self, purpose: Purpose, secret: str, request: Callable[[], tuple[str, float]]) -> str:
        """The token for `purpose`: the cached one if it is fresh, else the one that `request` gives, which is cached.

        `request` gives a token and its lifetime in seconds. Raises what it raises.
        """
        with self._alone_in_process(purpose):
            token = self._memory.get((purpose, secret))
            if token is None or not self._is_fresh(token):
                with self._alone_on_machine(purpose):
                    token = self._read(purpose, secret)
                    if token is None or not self._is_fresh(token):
                        token = self._issued(request)
                        self._write(purpose, secret, token)
                self._memory[purpose, secret] = token
            return token.value

    def discard(self, purpose: Purpose, secret: str, value: str) -> None:
        """Delete the token `value` from the cache, unless another one has replaced it."""
        with self._alone_in_process(purpose), self._alone_on_machine(purpose):
            cached = self._memory.get((purpose, secret))
            if cached is not None and cached.value == value:
                del self._memory[purpose, secret]
            stored = self._read(purpose, secret)
            if stored is not None and stored.value == value:
                with self._tolerant():
                    self._path(purpose).unlink(missing_ok=True)

    def _issued(self, request: Callable[[], tuple[str, float]]) -> Token:
        before = self._now()  # its lifetime starts between the request and the answer
        value, lifetime = request()
        return Token(value, before, self._boot, lifetime)

    def _is_fresh(self, token: Token) -> bool:
        return token.is_fresh(self._now(), self._boot)

    def _path(self, purpose: Purpose) -> Path:
        return self._directory / f"{purpose.key}.token"

    def _make_directory(self) -> None:
        with self._tolerant():
            try:
                check_private(self._directory)
            except FileNotFoundError:
                private_directory(self._directory)

    def _read(self, purpose: Purpose, secret: str) -> Token | None:
        try:
            descriptor = os.open(self._path(purpose), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                return decrypt(file.read(_FILE_LIMIT), purpose, secret)
        except OSError:
            return None

    def _write(self, purpose: Purpose, secret: str, token: Token) -> None:
        with self._tolerant():
            replace_file(self._path(purpose), encrypt(token, purpose, secret), 0o600)

    def _alone_in_process(self, purpose: Purpose) -> threading.Lock:
        return self._locks.get(purpose) or self._locks.setdefault(purpose, threading.Lock())

    @contextlib.contextmanager
    def _alone_on_machine(self, purpose: Purpose) -> Iterator[None]:
        """Hold the lock of `purpose` if possible: without it, a token may be requested twice."""
        with contextlib.ExitStack() as held:
            with contextlib.suppress(OSError):
                held.enter_context(locked_file(self._directory / f"{purpose.key}.lock", _PATIENCE))
            yield

    @contextlib.contextmanager
    def _tolerant(self) -> Iterator[None]:
        """Do without the cache if it cannot be written, and log that once."""
        try:
            yield
        except OSError as problem:
            if not self._warned:
                self._warned = True
                logger.warning("cannot cache tokens: %s: %s", self._directory, problem.strerror)
