"""Access tokens kept for their lifetime: in memory, and on disk for the runs and processes to come.

A file holds one token, encrypted under a key that only the client secret gives, so that the directory may be kept in a
CI cache. A damaged or foreign file is a miss, never an error; what cannot be written is left unwritten.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import stat
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.errors import SettingsError
from reconciler.service import clock
from reconciler.service.stored_token import Token, decrypt, encrypt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reconciler.model.clock import Instant
    from reconciler.service.stored_token import Purpose
    from reconciler.service.token_request import TokenAnswer

logger = logging.getLogger("reconciler.service")

_FILE_LIMIT = 1 << 16
_PATIENCE = 30.0  # seconds to wait for another process that asks for the same token; then it is asked for here too
_POLL = 0.05


class TokenCache:
    """The tokens of one directory. Threads and processes that want the same token ask for it once between them."""

    def __init__(self, directory: Path, now: Callable[[], Instant] = clock.now, boot: str | None = None) -> None:
        """Take `directory`, making it (0700) if need be; a clock and a boot id can be given in place of the machine's.

        Raises SettingsError for a directory that others could put files into.
        """
        self._directory = directory
        self._now = now
        self._boot = clock.boot_id() if boot is None else boot
        self._memory: dict[tuple[str, str], Token] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._warned = False
        self._make_directory()

    def get(self, purpose: Purpose, secret: str, ask: Callable[[], TokenAnswer]) -> str:
        """The token for `purpose`: the one kept if it is fresh, else the one that `ask` gives, which is then kept.

        Raises what `ask` raises.
        """
        with self._alone_in_process(purpose):
            token = self._memory.get((purpose.key, secret))
            if token is None or not self._is_fresh(token):
                with self._alone_on_machine(purpose):
                    token = self._read(purpose, secret)
                    if token is None or not self._is_fresh(token):
                        token = self._issued(ask)
                        self._write(purpose, secret, token)
                self._memory[purpose.key, secret] = token
            return token.value

    def discard(self, purpose: Purpose, secret: str, value: str) -> None:
        """Forget the token `value`; another one that has taken its place meanwhile stays."""
        with self._alone_in_process(purpose), self._alone_on_machine(purpose):
            kept = self._memory.get((purpose.key, secret))
            if kept is not None and kept.value == value:
                del self._memory[purpose.key, secret]
            stored = self._read(purpose, secret)
            if stored is not None and stored.value == value:
                with self._tolerant():
                    self._path(purpose).unlink(missing_ok=True)

    def _issued(self, ask: Callable[[], TokenAnswer]) -> Token:
        before = self._now()  # its life begins somewhere between the question and the answer
        answer = ask()
        return Token(answer.access_token, before, self._boot, answer.lifetime)

    def _is_fresh(self, token: Token) -> bool:
        return token.is_fresh(self._now(), self._boot)

    def _path(self, purpose: Purpose) -> Path:
        return self._directory / f"{purpose.key}.token"

    def _make_directory(self) -> None:
        with self._tolerant():
            # `mkdir` gives its mode to the last directory only.
            for missing in [path for path in reversed(self._directory.parents) if not path.exists()]:
                missing.mkdir(mode=0o700, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                self._directory.mkdir(mode=0o700)
        try:
            found = self._directory.lstat()
        except OSError:
            return
        if not stat.S_ISDIR(found.st_mode):
            fault = "is a symbolic link or no directory"
        elif found.st_uid != os.geteuid():
            fault = "belongs to another user"
        elif found.st_mode & 0o022:
            fault = "can be written by others"
        else:
            return
        raise SettingsError(
            f"the token cache {fault}",
            where=self._directory,
            remedy="remove it, or name another place with RECONCILER_CACHE_DIR",
        )

    def _read(self, purpose: Purpose, secret: str) -> Token | None:
        try:
            descriptor = os.open(self._path(purpose), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                return decrypt(file.read(_FILE_LIMIT), purpose, secret)
        except OSError:
            return None

    def _write(self, purpose: Purpose, secret: str, token: Token) -> None:
        with self._tolerant():
            descriptor, temporary = tempfile.mkstemp(dir=self._directory, prefix=".token-")  # 0600, whatever the umask
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(encrypt(token, purpose, secret))
                Path(temporary).replace(self._path(purpose))
            except OSError:
                Path(temporary).unlink(missing_ok=True)
                raise

    @contextlib.contextmanager
    def _alone_in_process(self, purpose: Purpose) -> Iterator[None]:
        with self._locks.setdefault(purpose.key, threading.Lock()):
            yield

    @contextlib.contextmanager
    def _alone_on_machine(self, purpose: Purpose) -> Iterator[None]:
        """Hold the lock file of `purpose`, if it is to be had: without it a token is merely asked for twice."""
        descriptor = None
        with self._tolerant():
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self._directory / f"{purpose.key}.lock", flags, 0o600)
        try:
            if descriptor is not None:
                _lock(descriptor)
            yield
        finally:
            if descriptor is not None:
                os.close(descriptor)

    @contextlib.contextmanager
    def _tolerant(self) -> Iterator[None]:
        """Let a cache that cannot be written be none, and say so once."""
        try:
            yield
        except OSError as problem:
            if not self._warned:
                self._warned = True
                logger.warning("tokens are not cached: %s: %s", self._directory, problem.strerror)


def _lock(descriptor: int) -> None:
    """Take the lock on an open file, waiting no longer than _PATIENCE: whoever holds it may have been stopped."""
    deadline = clock.steady() + _PATIENCE
    while clock.steady() < deadline:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_POLL)
        except OSError:
            return  # a file system without locks
        else:
            return
