"""The socket shell: HTTP/1.1 on 127.0.0.1 around a function from request to response."""

import sys
from collections.abc import Callable
from email.message import Message
from http.client import responses as reason_phrases
from io import BufferedIOBase
from socket import SHUT_RDWR
from typing import Any

from reconciler.loopback import LoopbackConnection, LoopbackServer
from reconciler.sandbox.exchange import Manner, Request, Response, error_response, refusal
from reconciler.sandbox.wire import announced_length, transmit

MAX_BODY = 1024 * 1024
_MAX_DISCARD = 16 * MAX_BODY


class Server(LoopbackServer):
    """The sandbox's server, which serves from `start` to `stop`."""

    request_queue_size = 64

    def __init__(self, port: int, warn: Callable[[str], object]) -> None:
        super().__init__(port, _Connection, "sandbox", warn)

    def start(self, handle: Callable[[Request], Response], log_failure: Callable[[BaseException | None], None]) -> None:
        """Accept connections; `handle` answers a request, and `log_failure` gets what it raises, which is a defect."""
        self.handle, self._log_failure = handle, log_failure
        self.start_accepting()

    def stop(self) -> None:
        self.stop_accepting()
        self.end_connections(SHUT_RDWR, 5)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection. The inherited method ends it in order first, which leaves no reset to send."""
        self.close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Ignore a client that has closed its connection, and log anything else."""
        problem = sys.exception()
        if not isinstance(problem, OSError):
            self._log_failure(problem)


class _Body:
    """The body of a request, read on demand."""

    def __init__(self, headers: Message, stream: BufferedIOBase) -> None:
        self._lengths = headers.get_all("content-length", [])
        self._chunked = "transfer-encoding" in headers
        self._stream = stream
        self._read = False

    def read(self) -> bytes:
        """The body. Raises Refusal, and ConnectionAbortedError if it is incomplete."""
        if self._chunked or not self._lengths:
            raise refusal(411, "length_required", "the request needs a content-length")
        length = self._length()
        if length is None:
            raise refusal(400, "invalid_request", "invalid content-length")
        if length > MAX_BODY:
            raise refusal(413, "too_large", f"the body is larger than {MAX_BODY} bytes")
        self._read = True
        body = self._stream.read(length)
        if len(body) < length:
            raise ConnectionAbortedError("the body is incomplete")
        return body

    def discard(self) -> bool:
        """Read an unread body, so that the client gets the answer; returns whether the connection can be reused."""
        if self._read:
            return True
        if self._chunked:
            return False
        length = self._length() if self._lengths else 0
        if length is None:
            return False
        self._stream.read(min(length, _MAX_DISCARD))
        return length <= _MAX_DISCARD

    def _length(self) -> int | None:
        text = self._lengths[0].strip()
        return int(text) if len(self._lengths) == 1 and len(text) < 20 and text.isascii() and text.isdigit() else None


class _Connection(LoopbackConnection):
    """One connection and its requests, one after the other."""

    timeout = 60
    server: Server

    def serve(self) -> None:
        body = _Body(self.headers, self.rfile)
        headers = {name.lower(): value for name, value in self.headers.items()}
        response = self.server.handle(Request(self.command, self.path.partition("?")[0], headers, body.read))
        if response.manner is not Manner.WHOLE or not body.discard():
            self.close_connection = True
        self._send(response)

    def _send(self, response: Response) -> None:
        length = announced_length(response.manner, response.body)
        head = self.head(response.status, [*response.headers, ("Content-Length", str(length))])
        body = b"" if self.command == "HEAD" else response.body
        transmit(self.connection, response.manner, head, body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer what is not a request (a malformed line, an unknown method) with JSON, like everything else."""
        self.close_connection = True
        self._send(error_response(code, "bad_request", message or reason_phrases.get(code, "")))
