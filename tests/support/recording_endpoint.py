"""A partner's endpoint that keeps every request as it came over the wire, and answers as a test says."""

from __future__ import annotations

from http import HTTPStatus
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Lock, Thread
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Callable


class Arrived(NamedTuple):
    """A request in bytes: its line, its headers in order, its body."""

    line: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def header(self, name: str) -> bytes | None:
        """The value of the first header of that name."""
        return next((value for sent, value in self.headers if sent.lower() == name.lower().encode()), None)

    @property
    def end_to_end(self) -> list[tuple[bytes, bytes]]:
        """The headers but for Host and Connection, which are those of whoever sent it here."""
        return [(name, value) for name, value in self.headers if name.lower() not in (b"host", b"connection")]


class RecordingEndpoint(ThreadingTCPServer):
    """Serves while it is entered; `answer` gives the status for a request, after any wait it likes."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, answer: Callable[[Arrived], int] = lambda _: 200, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Connection)
        self.answer = answer
        self.arrived: list[Arrived] = []
        self.lock = Lock()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """A sender that was killed is none of its business."""


class _Connection(StreamRequestHandler):
    server: RecordingEndpoint

    def handle(self) -> None:
        line, *rest = iter(lambda: self.rfile.readline().removesuffix(b"\r\n"), b"")
        split = (header.partition(b": ") for header in rest)
        headers = [(name, value) for name, _, value in split]
        arrived = Arrived(line, headers, b"")
        length = int(arrived.header("content-length") or 0)
        arrived = arrived._replace(body=self.rfile.read(length))
        if len(arrived.body) < length:
            return  # the sender was killed on the way: this is not a request (RFC 9112, section 8)
        with self.server.lock:
            self.server.arrived.append(arrived)
        status = self.server.answer(arrived)
        answer = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Length: 0\r\n\r\n"
        self.wfile.write(answer.encode())
