"""Servers that behave badly on purpose, one socket at a time."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    Script = Callable[[socket.socket], None]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Kind: one\r\n\r\nok"


class RawServer:
    """Accepts connections on loopback, reads one request from each, and lets `script` do the rest.

    `accepted` counts connections, over TLS those whose handshake is done. `unasked`, if set, is what happens to a
    connection instead, before anything is read from it.
    """

    def __init__(self, script: Callable[[socket.socket], None], context: ssl.SSLContext | None = None) -> None:
        self.requests: list[bytes] = []
        self.accepted = 0
        self.ended = 0
        self.unasked: Script | None = None
        self._lock = threading.Lock()
        self._script = script
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.port}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def wait_until(self, accepted: int = 0, ended: int = 0) -> None:
        """Wait until so many connections were accepted, and so many are over."""
        until = time.monotonic() + 20
        while (self.accepted < accepted or self.ended < ended) and time.monotonic() < until:
            time.sleep(0.002)
        assert (True, True) == (self.accepted >= accepted, self.ended >= ended), (self.accepted, self.ended)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            self._serve_one(connection)
        finally:
            with self._lock:
                self.ended += 1

    def _serve_one(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.settimeout(10)
            if self._context is None:
                self._answer(connection)
            else:
                with self._context.wrap_socket(connection, server_side=True) as secured:
                    self._answer(secured)

    def _answer(self, connection: socket.socket) -> None:
        with self._lock:
            self.accepted += 1
        if self.unasked is not None:
            self.unasked(connection)
            return
        request = read_request(connection)
        if request:
            self.requests.append(request)
            self._script(connection)


class Readable(Protocol):
    """A socket, as far as reading goes."""

    def recv(self, size: int, /) -> bytes:
        """What has arrived, nothing at the end."""
        ...


def read_request(connection: Readable) -> bytes:
    """One request: its head, and as much body as the head announces."""
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = connection.recv(65536)
        if not chunk:
            return data
        data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    wanted = int(lengths[0].partition(b":")[2]) if lengths else 0
    while len(body) < wanted:
        chunk = connection.recv(65536)
        if not chunk:
            break
        body += chunk
    return head + b"\r\n\r\n" + body


def reset(connection: socket.socket) -> None:
    """Close with a TCP reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def wait_for_hangup(connection: socket.socket) -> None:
    """Say nothing until the other side has gone."""
    while connection.recv(1024):
        pass


def say(*parts: bytes, pause: float = 0.0) -> Script:
    """A script that sends `parts`, pausing after each."""

    def script(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause)

    return script


def drip(head: bytes, times: int = 60) -> Script:
    """A script that sends `head` and then one byte every twentieth of a second."""
    return say(head, *[b"x"] * times, pause=0.05)
