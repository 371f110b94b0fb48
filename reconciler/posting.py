"""One POST to a partner's endpoint, with a deadline over all of it: what sandbox and receiver deliver with."""

from collections.abc import Iterable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from socket import SHUT_RDWR
from threading import Timer
from urllib.parse import quote, urlsplit

_DRAINED = 64 * 1024  # bytes of an answer that are read, so that the endpoint can finish writing it
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


class NoAnswer(Exception):
    """No status line arrived; the text says why, `reason` in words of the system. `late`: it took too long."""

    def __init__(self, text: str, reason: str, *, late: bool) -> None:
        super().__init__(text)
        self.reason = reason
        self.late = late


class Post:
    """A POST that can be cut off from another thread.

    Headers are sent as they are, in their order, but for Host, which is that of the URL, and Content-Length, which is
    that of the body. The connection is used once. In header values, a character stands for a byte (ISO 8859-1).
    """

    def __init__(self, url: str, body: bytes, headers: Iterable[tuple[str, str]], seconds: float) -> None:
        parts = urlsplit(url)
        connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = connect(parts.hostname or "", parts.port, timeout=seconds)
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._host = parts.netloc.rpartition("@")[2]
        self._body = body
        self._headers = tuple(headers)
        self._seconds = seconds
        self._late = False

    def send(self) -> int:
        """Send it and return the status of the answer. Raises NoAnswer. Redirects are not followed."""
        # The connection's own timeout restarts with each byte; the timer limits the whole call.
        timer = Timer(self._seconds, self._expire)
        timer.daemon = True
        timer.start()
        try:
            self._send_request()
            with self._connection.getresponse() as response:
                with suppress(OSError, HTTPException):
                    response.read(_DRAINED)
                return response.status
        except (OSError, HTTPException, ValueError) as problem:
            if self._late or isinstance(problem, TimeoutError):
                text = f"no answer within {self._seconds:g} s"
                raise NoAnswer(text, text, late=True) from None
            kind = type(problem).__name__
            reason = getattr(problem, "strerror", None) or kind
            raise NoAnswer(f"no answer: {kind}", f"no answer: {reason}", late=False) from None
        finally:
            timer.cancel()
            self._connection.close()

    def _send_request(self) -> None:
        connection = self._connection
        path = quote(self._path, safe=_PRINTABLE, encoding="latin-1", errors="replace")
        connection.putrequest("POST", path, skip_host=True, skip_accept_encoding=True)
        own = {"host": self._host, "content-length": str(len(self._body))}
        names = {name.lower() for name, _ in self._headers}
        added = [(name, "") for name in ("Host", "Content-Length") if name.lower() not in names]
        for name, value in [*added, *self._headers]:
            connection.putheader(name, _as_bytes(own.get(name.lower(), value)))
        connection.putheader("Connection", "close")
        connection.endheaders(self._body)

    def cut(self) -> None:
        connected = self._connection.sock
        if connected is not None:
            with suppress(OSError):
                connected.shutdown(SHUT_RDWR)

    def _expire(self) -> None:
        self._late = True
        self.cut()


def _as_bytes(value: str) -> bytes:
    """A header's value as it was on the wire; one that other software has decoded may have other characters."""
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        return value.encode(errors="replace")
