"""A lending service that answers in bytes of the test's own choosing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from support.raw_server import RawServer

TOKEN = "rude-token-0123456789"


def response(body: bytes | str, status: str = "201 Created", *headers: str) -> bytes:
    """A response with these headers and a body."""
    content = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(content)}", "Connection: close"]
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n" + content


def json_response(document: object, status: str = "201 Created", *headers: str) -> bytes:
    """A response with a JSON body."""
    return response(json.dumps(document), status, "Content-Type: application/json", *headers)


class RudeService:
    """Below `/NAME`, an identity provider and a service that answer as the test has it; one call at a time."""

    def __init__(self, serve: Callable[..., RawServer]) -> None:
        self.creates: dict[str, bytes] = {}
        self.tokens: dict[str, bytes] = {}
        self._server = serve(self._answer)

    def _answer(self, connection: socket.socket) -> None:
        path = self._server.requests[-1].split()[1].decode()
        name = path.split("/")[1]
        if path.endswith("/oauth/token"):
            token = {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 86400}
            connection.sendall(self.tokens.get(name, json_response(token, "200 OK")))
        else:
            connection.sendall(self.creates[name])

    def declare(self, *names: str) -> str:
        """A configuration with the target `NAME/rude` for each name, each with one subscription."""
        text = "targets:\n"
        for name in names:
            root = f"{self._server.url}/{name}"
            text += f"  {name}/rude: {{auth_url: {root}/idp, base_url: {root}/api}}\n"
        return (
            f'{text}subscriptions:\n  "*/*":\n    offers: {{eventCodes: [ONB10011], webhookUrl: https://h.example}}\n'
        )

    @staticmethod
    def credentials(*names: str) -> dict[str, str]:
        """The variables with the credentials of those targets."""
        prefixes = [f"RECONCILER_{name.upper().replace('-', '_')}_RUDE_CLIENT" for name in names]
        return {f"{one}_ID": "client" for one in prefixes} | {f"{one}_SECRET": "hunter2hunter2" for one in prefixes}


@pytest.fixture
def rude(serve: Callable[..., RawServer]) -> RudeService:
    """A rude service, ended with the test."""
    return RudeService(serve)
