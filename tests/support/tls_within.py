"""The server's side of a TLS connection that runs within another, as through a proxy that speaks TLS itself."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Within:
    """What a server needs of a socket, within `outer`; the handshake is done once it is made."""

    def __init__(self, outer: socket.socket, context: ssl.SSLContext) -> None:
        outer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # what is sent has arrived
        self._outer = outer
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._inner = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._until_done(self._inner.do_handshake)

    def recv(self, size: int) -> bytes:
        try:
            return self._until_done(lambda: self._inner.read(size))
        except ssl.SSLEOFError:
            return b""

    def sendall(self, data: bytes) -> None:
        if data:
            self._until_done(lambda: self._inner.write(data))

    def _until_done(self, step: Callable[[], T]) -> T:
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                self._outer.sendall(self._outgoing.read())
                received = self._outer.recv(65536)
                if received:
                    self._incoming.write(received)
                else:
                    self._incoming.write_eof()
            finally:
                self._outer.sendall(self._outgoing.read())
