"""An HTTP/1.1 server on 127.0.0.1 that calls a function for each request; used by the sandbox and the receiver.

Each connection has a thread. Requests are parsed strictly (RFC 9112): an ambiguous request is answered with 400. The
resources that a sender can use are limited: the sizes of the head and the body, the time for a request, and the number
of connections. If there are too many connections, the oldest one without a complete request is closed.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from email.utils import formatdate
from http.client import responses as reason_phrases
from http.server import ThreadingHTTPServer
from io import BufferedReader, RawIOBase
from socket import SHUT_RD, SHUT_RDWR, SHUT_WR
from socketserver import StreamRequestHandler, TCPServer
from threading import Lock, Thread, current_thread
from typing import TYPE_CHECKING, Any, Self, cast

from reconciler.errors import Message, SettingsError, Step
from reconciler.http_messages import Malformed, Request, Response, read_body, read_head

if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

    from _typeshed import WriteableBuffer

_ANSWER_SECONDS = 10.0  # for a sender to receive the answer
_DRAIN_SECONDS = 5.0  # for a sender to notice that its request was refused
_FAREWELL = 5.0  # seconds for requests in progress when the server stops


class _TooSlow(Exception):
    """Raised after the time limit. It is not an OSError, because an OSError is treated as a broken connection."""


class _PacedSocket(RawIOBase):
    """The receiving side of a socket, with one time limit for all reads, so that a slow sender gets no extra time."""

    def __init__(self, connection: socket) -> None:
        self._connection, self._deadline = connection, 0.0

    def allow(self, seconds: float) -> None:
        """Limit the time for all further reads to `seconds`."""
        self._deadline = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise _TooSlow
        self._connection.settimeout(left)
        try:
            return self._connection.recv_into(buffer)
        except TimeoutError:
            raise _TooSlow from None


def send_whole(connection: socket, head: bytes, response: Response) -> None:
    """Send a response unchanged."""
    connection.sendall(head + response.body)


class Server(ThreadingHTTPServer):
    """A server on a port of 127.0.0.1 (0: any free port). The port is bound at once.

    Requests are answered within a `with` block. `handle` answers a request, and `failed` is called with each exception
    that `handle` raises. `transmit` sends a response. A sender has `patience` seconds to send a request, and the same
    time to begin the next one. `url` is the server's address without a path. Raises SettingsError if the port is not
    available.
    """

    daemon_threads = True
    allow_reuse_address = True
    allow_reuse_port = False  # a second server on the same port is a mistake
    request_queue_size = 1024

    def __init__(
        self,
        port: int,
        handle: Callable[[Request], Response],
        *,
        failed: Callable[[Exception], object] = lambda _: None,
        transmit: Callable[[socket, bytes, Response], None] = send_whole,
        connections: int = 64,
        patience: float = 30.0,
    ) -> None:
        self.handle, self.failed, self.transmit, self.patience = handle, failed, transmit, patience
        self._most = connections
        self._lock = Lock()
        self._reading, self._answering = dict[Thread, Any](), dict[Thread, Any]()
        self._acceptor = Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        try:
            super().__init__(("127.0.0.1", port), cast("Any", _Connection))
        except (OSError, OverflowError) as problem:
            steps = (Step("use another --port"),)
            what = f"cannot listen on this port: {problem}"
            raise SettingsError(Message("port-unusable", what, f"127.0.0.1:{port}", steps)) from None

    def __enter__(self) -> Self:
        self._acceptor.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop accepting connections, wait some seconds for the requests in progress, and end the threads."""
        if self._acceptor.ident is not None:
            self.shutdown()
            self._acceptor.join()
        self.server_close()
        for how, seconds in ((SHUT_RD, _FAREWELL), (SHUT_RDWR, 1.0)):
            with self._lock:
                connections = self._reading | self._answering
            for connection in connections.values():
                _shut(connection, how)
            deadline = time.monotonic() + seconds
            for thread in connections:
                thread.join(max(0.0, deadline - time.monotonic()))

    def server_bind(self) -> None:
        """Bind the port. Unlike HTTPServer, this does not look up the host's full name, which may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.server_port}"

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = Thread(target=self.process_request_thread, args=(request, client_address), daemon=True)
        with self._lock:
            if len(self._reading) + len(self._answering) >= self._most:
                if not self._reading:
                    self.close_request(request)
                    return
                _shut(self._reading.pop(next(iter(self._reading))), SHUT_RDWR)
            thread.start()
            self._reading[thread] = request

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._reading.pop(current_thread(), None)
                self._answering.pop(current_thread(), None)

    def has_read(self) -> bool:
        """Mark this thread's connection as being answered; return False if it was closed."""
        with self._lock:
            connection = self._reading.pop(current_thread(), None)
            if connection is not None:
                self._answering[current_thread()] = connection
            return connection is not None

    def has_answered(self) -> None:
        """Mark this thread's connection as waiting for a complete request."""
        with self._lock:
            self._reading[current_thread()] = self._answering.pop(current_thread())

    def shutdown_request(self, request: Any) -> None:
        """Close a connection without shutting it down first, because a shutdown would prevent a reset."""
        self.close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base class gives them
        """Ignore an error that a broken connection caused, and report any other error."""
        problem = sys.exception()
        if isinstance(problem, Exception) and not isinstance(problem, OSError):
            self.failed(problem)


def _shut(connection: socket, how: int) -> None:
    with suppress(OSError):
        connection.shutdown(how)


class _Connection(StreamRequestHandler):
    """A connection, whose requests are handled one after the other."""

    server: Server
    rfile: BufferedReader
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self._paced = _PacedSocket(self.connection)
        self.rfile = BufferedReader(self._paced)

    def handle(self) -> None:
        self._paced.allow(self.server.patience)
        with suppress(_TooSlow):  # no further request
            while self.rfile.peek(1) and self._serve():
                self._paced.allow(self.server.patience)

    def _serve(self) -> bool:
        """Read a request and answer it. Return True if another request may follow on the connection."""
        request, is_last = self._read()
        if not self.server.has_read():
            return False
        try:
            response = self.server.handle(request)
        except Exception as problem:  # noqa: BLE001 - reported, and any other request can be answered
            self.server.failed(problem)
            response = Response(500)
        self._send(request, response, is_last=is_last)
        self.server.has_answered()
        if request.problem is not None:
            self._drain()
        return not is_last

    def _send(self, request: Request, response: Response, *, is_last: bool) -> None:
        lines = [f"HTTP/1.1 {response.status} {reason_phrases.get(response.status, 'Unknown')}"]
        lines += [f"{name}: {value}" for name, value in response.headers]
        lines += [f"Content-Length: {len(response.body)}"] if response.status != 204 else []
        lines += [f"Date: {formatdate(usegmt=True)}", *(["Connection: close"] if is_last else []), ""]
        head = "".join(f"{line}\r\n" for line in lines).encode("latin-1")
        self.connection.settimeout(_ANSWER_SECONDS)
        if request.method == "HEAD":
            self.connection.sendall(head)
        else:
            self.server.transmit(self.connection, head, response)

    def _read(self) -> tuple[Request, bool]:
        """Return the next request, and True if it is the last one on the connection."""
        self._paced.allow(self.server.patience)
        begun = Request()
        try:
            head = read_head(self.rfile)
            begun = Request(head.method, head.target, head.headers)
            if head.awaits_go_ahead:
                self.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            body = read_body(self.rfile, head.length)
        except Malformed as problem:
            refusal = Response(problem.status, f"{problem}\n".encode())
        except _TooSlow:
            refusal = Response(408, f"the request was incomplete after {self.server.patience:g} seconds\n".encode())
        else:
            return Request(head.method, head.target, head.headers, body), head.is_last
        return Request(begun.method, begun.target, begun.headers, problem=refusal), True

    def _drain(self) -> None:
        """Read the rest of the request, because closing the connection earlier would reset it and lose the answer."""
        with suppress(OSError, _TooSlow):
            self.connection.shutdown(SHUT_WR)
            self._paced.allow(_DRAIN_SECONDS)
            while self.rfile.read1(65_536):
                pass
