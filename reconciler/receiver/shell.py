"""The socket shell: HTTP/1.1 on 127.0.0.1 around a function from request to response."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from email.errors import FirstHeaderLineIsContinuationDefect, MissingHeaderBodySeparatorDefect
from email.message import Message
from http.client import HTTPMessage
from http.client import responses as reason_phrases
from io import BufferedReader
from socket import SHUT_RD, SHUT_RDWR, SHUT_WR
from typing import Any, Self

from reconciler.loopback import LoopbackConnection, LoopbackServer
from reconciler.receiver.bodies import Unread, check_framing, read_body
from reconciler.receiver.exchange import Request, Response
from reconciler.receiver.pace import PacedSocket, TooSlow

HEAD_LIMIT = 64 * 1024
_ANSWER_SECONDS = 10.0  # for a sender to take the answer
_MALFORMED = (FirstHeaderLineIsContinuationDefect, MissingHeaderBodySeparatorDefect)
_FAREWELL = 5.0  # seconds for the requests that are being answered when the server stops


class Server(LoopbackServer):
    """The receiver's server, which serves while it is entered; `handle` answers a request.

    `patience` is in seconds: the time from a request's first byte to its last, and that between two requests.
    """

    request_queue_size = 1024

    def __init__(
        self, port: int, handle: Callable[[Request], Response], patience: float = 30.0,
        warn: Callable[[str], object] = lambda _: None,
    ) -> None:  # fmt: skip
        self.handle = handle
        self.patience = patience
        super().__init__(port, _Connection, "receiver", warn)

    def __enter__(self) -> Self:
        self.start_accepting()
        return self

    def __exit__(self, *_: object) -> None:
        """Accept no more requests, let the open ones be answered, for seconds at most, and end the threads."""
        self.stop_accepting()
        self.end_connections(SHUT_RD, _FAREWELL)
        self.end_connections(SHUT_RDWR, 1)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report nothing if a sender has closed its connection: it will deliver again."""


class _Connection(LoopbackConnection):
    """One connection and its requests, one after the other."""

    server: Server
    rfile: BufferedReader

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self._pace = PacedSocket(self.connection)
        self.rfile = BufferedReader(self._pace)

    def handle_one_request(self) -> None:
        """Read a request and answer it; one that is incomplete when its time is over, with a 408."""
        self.command, self.path, self.headers, self.close_connection = "", "", HTTPMessage(), True
        self._awaits_go_ahead = False
        self._pace.allow(self.server.patience)
        try:
            if not self.rfile.peek(1):
                return
        except TooSlow:
            return  # no further request
        self._pace.allow(self.server.patience)
        try:
            super().handle_one_request()
        except TooSlow:
            self._refuse(408, f"the request was incomplete after {self.server.patience:g} seconds")

    def serve(self) -> None:
        try:
            request = self._read()
        except Unread as problem:
            self._refuse(problem.response.status, problem.response.text)
            return
        self._send(self.server.handle(request))

    def _read(self) -> Request:
        headers = _joined(self.headers)
        if any(isinstance(defect, _MALFORMED) for defect in self.headers.defects):
            raise Unread(400, "malformed header")
        if sum(len(name) + len(value) for name, value in headers.items()) > HEAD_LIMIT:
            raise Unread(431, f"the headers are larger than {HEAD_LIMIT} bytes")
        length = check_framing(
            self.headers.get_all("content-length", []), self.headers.get_all("transfer-encoding", [])
        )
        if self._awaits_go_ahead:
            self.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = read_body(self.rfile, length)
        return Request(self.command, self.path, headers, body, fields=_fields(self.headers, headers))

    def handle_expect_100(self) -> bool:
        """Postpone the go-ahead until it is known that the body will be read."""
        self._awaits_go_ahead = True
        return True

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer what is not a request: a malformed line, an unknown method."""
        self._refuse(code, message or reason_phrases.get(code, "not an HTTP request"))

    def _refuse(self, status: int, text: str) -> None:
        """Answer a request that was not read completely, and end the connection."""
        self.close_connection = True
        request = Request(self.command, self.path, _joined(self.headers), problem=Response(status, text))
        self._send(self.server.handle(request))
        self._drain()

    def _send(self, response: Response) -> None:
        body = f"{response.text}\n".encode() if response.text else b""
        about_body = (("Content-Length", str(len(body))), ("Content-Type", "text/plain; charset=utf-8"))
        head = self.head(response.status, [*response.headers, *(about_body if response.status != 204 else ())])
        self.connection.settimeout(_ANSWER_SECONDS)
        self.connection.sendall(head + (b"" if self.command == "HEAD" else body))

    def _drain(self) -> None:
        """Read what the sender still sends: closing earlier would reset the connection, and lose the answer."""
        with suppress(OSError, TooSlow):
            self.connection.shutdown(SHUT_WR)
            self._pace.allow(self.server.patience)
            while self.rfile.read1(65_536):
                pass


def _joined(message: Message) -> Mapping[str, str]:
    """The headers, each name once; several values are one list (RFC 9110, section 5.3)."""
    joined: dict[str, tuple[str, str]] = {}
    for name, value in message.items():
        key = name.lower()
        text = str(value).strip()
        joined[key] = (joined[key][0], f"{joined[key][1]}, {text}") if key in joined else (name, text)
    return dict(joined.values())


def _fields(message: Message, joined: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The headers in order, each as often as it was sent; empty if they are those in `joined`."""
    fields = tuple((name, str(value).strip()) for name, value in message.items())
    return () if fields == tuple(joined.items()) else fields
