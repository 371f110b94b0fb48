"""A TCP proxy on loopback that loses requests or answers."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Literal, Self


class Proxy:
    """Forwards to a port of this machine. A request with `marker` in it meets the first of `mishaps` that is left.

    lose-answer: it is forwarded, and the connection is lost once it is answered; lose-request: the connection is lost,
    and nothing was forwarded; silence: it is forwarded, and nothing ever comes back.
    """

    def __init__(self, port: int, marker: bytes) -> None:
        self.mishaps: list[Literal["lose-answer", "lose-request", "silence"]] = []
        self._target = ("127.0.0.1", port)
        self._marker = marker
        self._sockets: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        for connection in (self._listening, *self._sockets):
            _close(connection)
        self._accepting.join()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(self._target)
                self._sockets += [client, server]
                passing: list[str] = []
                for work in (self._requests, self._answers):
                    threading.Thread(target=work, args=(client, server, passing), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket, passing: list[str]) -> None:
        with suppress(OSError):
            while request := client.recv(1 << 20):
                if self._marker in request and self.mishaps:
                    passing.append(self.mishaps.pop(0))
                if passing == ["lose-request"]:
                    break
                server.sendall(request)
        _close(server)
        _close(client)

    def _answers(self, client: socket.socket, server: socket.socket, passing: list[str]) -> None:
        with suppress(OSError):
            while answer := server.recv(1 << 20):
                if passing == ["lose-answer"]:
                    break
                if not passing:
                    client.sendall(answer)
        if passing != ["silence"]:
            _close(server)
            _close(client)


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
