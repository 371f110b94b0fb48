"""A TCP proxy on loopback that loses, holds or delays what passes through it."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

Mishap = Literal["lose-answer", "lose-request", "hold-request", "silence"]


class Proxy:
    """Forwards to a port of this machine. A request that contains `marker` meets the first of `mishaps` that is left.

    lose-answer: it is forwarded, and the connection is lost once it was answered; lose-request: the connection is lost,
    and nothing was forwarded; hold-request: the connection is lost, and the request is forwarded by `release`; silence:
    it is forwarded, and nothing ever comes back. `delay`: seconds before each answer. `meanwhile` is done before a
    connection is lost with its request.
    """

    def __init__(self, port: int, marker: bytes = b"INSERT INTO") -> None:
        self.mishaps: list[Mishap] = []
        self.delay = 0.0
        self.meanwhile: Callable[[], object] = list
        self.connections = 0
        self._target = ("127.0.0.1", port)
        self._marker = marker
        self._held: list[tuple[socket.socket, bytes]] = []
        self._sockets: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self.away = False

    def __enter__(self) -> Self:
        self._accepting.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        _close(self._listening)
        self._accepting.join()
        self.cut()

    def cut(self) -> None:
        """Lose all connections."""
        for connection in self._sockets:
            _close(connection)

    def release(self) -> None:
        """Forward the requests that were held."""
        for server, request in self._held:
            server.sendall(request)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self.away:
                    _close(client)
                    continue
                self.connections += 1
                server = socket.create_connection(self._target)
                self._sockets += [client, server]
                passage = _Passage(self, client, server)
                for work in (passage.forward_requests, passage.forward_answers):
                    threading.Thread(target=work, daemon=True).start()


class _Passage:
    """One connection and the one it is forwarded to."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        self._mishap: Mishap | None = None

    def forward_requests(self) -> None:
        with suppress(OSError):
            while request := self._client.recv(1 << 20):
                if self._proxy._marker in request and self._proxy.mishaps:
                    self._mishap = self._proxy.mishaps.pop(0)
                if self._mishap in ("lose-request", "hold-request"):
                    self._proxy.meanwhile()
                    break
                self._server.sendall(request)
        if self._mishap == "hold-request":
            self._proxy._held.append((self._server, request))
        else:
            _close(self._server)
        _close(self._client)

    def forward_answers(self) -> None:
        with suppress(OSError):
            while answer := self._server.recv(1 << 20):
                if self._mishap == "lose-answer":
                    break
                if self._mishap is None:
                    time.sleep(self._proxy.delay)
                    self._client.sendall(answer)
        _close(self._server)
        _close(self._client)


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
