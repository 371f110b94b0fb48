"""Servers that behave badly on purpose, one socket at a time."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable

Script = Callable[[socket.socket], None]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Kind: first\r\n\r\nok"


class RawServer:
    """Accepts connections on loopback, reads one request from each, and lets `script` do the rest.

    `requests` are the requests that were read whole, `ended` the connections whose script came to its end.
    """

    def __init__(self, script: Callable[[socket.socket], None], context: ssl.SSLContext | None = None) -> None:
        self.requests: list[bytes] = []
        self.ended = 0
        self._script = script
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.port}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        """Stop listening, and wait for the scripts to end."""
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
            self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.settimeout(10)
            if self._context is None:
                self._answer(connection)
            else:
                with self._context.wrap_socket(connection, server_side=True) as secured:
                    self._answer(secured)

    def _answer(self, connection: socket.socket) -> None:
        request = read_request(connection)
        if request:
            self.requests.append(request)
            self._script(connection)
            self.ended += 1


def read_request(connection: socket.socket) -> bytes:
    """Return one request: its head, and as much body as the head announces."""
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = connection.recv(65536)
        if not chunk:
            return data
        data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    expected = int(lengths[0].partition(b":")[2]) if lengths else 0
    while len(body) < expected and (chunk := connection.recv(65536)):
        body += chunk
    return head + b"\r\n\r\n" + body


def reset(connection: socket.socket) -> None:
    """Close with a TCP reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def wait_for_hangup(connection: socket.socket) -> None:
    """Send nothing until the other side has gone."""
    while connection.recv(1024):
        pass


def say(*parts: bytes, pause: float = 0.0) -> Script:
    """Return a script that sends `parts`, pausing after each."""

    def script(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause)

    return script


def drip(head: bytes) -> Script:
    """Return a script that sends `head` and then one byte every fiftieth of a second, for half a minute at most."""
    return say(head, *[b"x"] * 1500, pause=0.02)
