"""An HTTP server on 127.0.0.1 with a thread for each connection: the ground of the sandbox and the receiver."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from errno import EMFILE, ENFILE, ENOBUFS, ENOMEM
from http.client import responses as reason_phrases
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import socket
from socketserver import TCPServer
from threading import Lock, Thread, current_thread
from time import monotonic, sleep
from typing import Any

from reconciler.errors import SettingsError

_EXHAUSTED = (EMFILE, ENFILE, ENOBUFS, ENOMEM)
_RETRY_SECONDS = 0.25  # before another attempt to accept a connection that the system has no room for


class LoopbackServer(ThreadingHTTPServer):
    """A server bound to a port of 127.0.0.1 (0: any free one).

    `name` begins the names of its threads. `warn` gets a line if the system has no room for more connections. Raises
    SettingsError if it cannot listen on the port.
    """

    daemon_threads = True
    allow_reuse_address = True
    allow_reuse_port = False  # another server on the same port is a mistake, not a partner

    def __init__(
        self, port: int, handler: type[BaseHTTPRequestHandler], name: str, warn: Callable[[str], object]
    ) -> None:
        self._name = name
        self._warn = warn
        self._warned = False
        self._lock = Lock()
        self._connections = dict[Thread, socket]()
        self._acceptor = Thread(target=self.serve_forever, args=(0.02,), name=f"{name}-acceptor", daemon=True)
        try:
            super().__init__(("127.0.0.1", port), handler)
        except (OSError, OverflowError) as problem:
            raise SettingsError(
                f"cannot listen on this port: {problem}", where=f"127.0.0.1:{port}", remedy="use another --port"
            ) from None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def server_bind(self) -> None:
        """Bind without looking up the host's full name as HTTPServer does, which may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.socket.getsockname()[1]

    def start_accepting(self) -> None:
        """Accept connections, in a thread, until `stop_accepting`."""
        self._acceptor.start()

    def stop_accepting(self) -> None:
        """Close the port, whether connections were accepted or not."""
        if self._acceptor.ident is not None:
            self.shutdown()
            self._acceptor.join()
        self.server_close()

    def end_connections(self, how: int, seconds: float) -> None:
        """Shut every connection down (`how` is that of socket.shutdown) and wait so long for their threads."""
        with self._lock:
            connections = dict(self._connections)
        for connection in connections.values():
            with suppress(OSError):
                connection.shutdown(how)
        deadline = monotonic() + seconds
        for thread in connections:
            thread.join(max(0.0, deadline - monotonic()))

    def get_request(self) -> tuple[Any, Any]:
        """Accept a connection. One that the system has no room for stays ready, so the next attempt must wait."""
        try:
            return super().get_request()
        except OSError as problem:
            if problem.errno in _EXHAUSTED:
                if not self._warned:
                    self._warned = True
                    self._warn(f"{problem.strerror}: new connections wait until open ones are closed")
                sleep(_RETRY_SECONDS)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own, which `end_connections` waits for."""
        thread = Thread(
            target=self.process_request_thread,
            args=(request, client_address),
            name=f"{self._name}-connection",
            daemon=True,
        )
        with self._lock:
            thread.start()
            self._connections[thread] = request

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._connections.pop(current_thread(), None)


class LoopbackConnection(BaseHTTPRequestHandler):
    """A connection that hands the requests of every method to `serve`, and logs nothing: its server reports them."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def serve(self) -> None:
        """Answer the request whose head was read."""
        raise NotImplementedError

    def do_POST(self) -> None:
        self.serve()

    do_GET = do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_POST  # noqa: N815

    def head(self, status: int, headers: Iterable[tuple[str, str]]) -> bytes:
        """The status line and headers of a response, with the blank line."""
        lines = [
            f"HTTP/1.1 {status} {reason_phrases.get(status, 'Unknown')}",
            *(f"{name}: {value}" for name, value in headers),
            f"Date: {self.date_time_string()}",
            f"Connection: {'close' if self.close_connection else 'keep-alive'}",
        ]
        return ("".join(f"{line}\r\n" for line in lines) + "\r\n").encode("latin-1")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass
