"""One POST to a partner's endpoint, with a deadline over all of it."""

from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from socket import SHUT_RDWR
from threading import Timer
from urllib.parse import urlsplit


class NoAnswer(Exception):
    """No status line arrived; the text says why."""


class Post:
    """A POST that can be cut off from another thread."""

    def __init__(self, url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> None:
        parts = urlsplit(url)
        connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = connect(parts.hostname or "", parts.port, timeout=seconds)
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._body = body
        self._headers = headers
        self._seconds = seconds
        self._late = False

    def send(self) -> int:
        """Send it and return the status of the answer. Raises NoAnswer. Redirects are not followed."""
        # The connection's own timeout restarts with each byte; the timer limits the whole call.
        timer = Timer(self._seconds, self._expire)
        timer.daemon = True
        timer.start()
        try:
            self._connection.request("POST", self._path, self._body, dict(self._headers))
            with self._connection.getresponse() as response:
                return response.status
        except (OSError, HTTPException, ValueError) as problem:
            late = self._late or isinstance(problem, TimeoutError)
            reason = f" within {self._seconds:g} s" if late else f": {type(problem).__name__}"
            raise NoAnswer(f"no answer{reason}") from None
        finally:
            timer.cancel()
            self._connection.close()

    def cut(self) -> None:
        connected = self._connection.sock
        if connected is not None:
            with suppress(OSError):
                connected.shutdown(SHUT_RDWR)

    def _expire(self) -> None:
        self._late = True
        self.cut()
