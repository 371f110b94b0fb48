"""A lending service over HTTP whose responses a test scripts, one after the other; the sandbox has rules instead."""

from __future__ import annotations

import json
import socket
from threading import Lock
from typing import Any, NamedTuple

from support.raw_server import RawServer

Scripted = tuple[int, str] | tuple[int, str, dict[str, str]]

AUDIENCE_BASE = "https://api.example"


class Received(NamedTuple):
    """One request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    data: bytes

    @property
    def body(self) -> Any:
        """The JSON that was sent."""
        return json.loads(self.data)

    @property
    def bearer(self) -> str:
        """The token of the call."""
        return self.headers["authorization"].removeprefix("Bearer ")


class LendingService:
    """The service on a port of its own: token requests below `/tenant`, calls below `/eu/v9`.

    Without a script the n-th token is `token-number-n`, and a call is answered with 201 and an id.
    """

    def __init__(self) -> None:
        self.token_requests: list[Received] = []
        self.calls: list[Received] = []
        self._token_script: list[Scripted] = []
        self._script: list[Scripted] = []
        self._alone = Lock()
        self._server = RawServer(self._serve)
        self.url = self._server.url

    def script(self, *responses: Scripted) -> None:
        """Answer the next calls so."""
        self._script += responses

    def script_tokens(self, *responses: Scripted) -> None:
        """Answer the next token requests so."""
        self._token_script += responses

    def close(self) -> None:
        """Stop."""
        self._server.close()

    def _serve(self, connection: socket.socket) -> None:
        head, _, data = self._server.requests[-1].partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        pairs = (line.partition(": ") for line in lines)
        method, path = first.split()[:2]
        received = Received(method, path, {name.lower(): value for name, _, value in pairs}, data)
        with self._alone:
            status, body, *headers = self._response(received)
        fields = {"Content-Type": "application/json", "Content-Length": str(len(body.encode()))}
        fields |= headers[0] if headers else {}
        shown = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        connection.sendall(f"HTTP/1.1 {status} Any\r\n{shown}\r\n{body}".encode())

    def _response(self, received: Received) -> Scripted:
        if not received.path.endswith("/oauth/token"):
            self.calls.append(received)
            return self._script.pop(0) if self._script else (201, '{"id": "sub-1"}')
        self.token_requests.append(received)
        token = {"access_token": f"token-number-{len(self.token_requests)}", "token_type": "Bearer", "expires_in": 900}
        return self._token_script.pop(0) if self._token_script else (200, json.dumps(token))
