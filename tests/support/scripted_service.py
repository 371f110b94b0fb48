"""A lending service whose answers follow from what is asked, so that one story always goes the same way."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType


class ScriptedService:
    """A server on loopback that gives tokens and creates subscriptions at every path.

    `statuses` are answers other than 201, by the last segment of the webhook URL; 0 closes the connection unanswered.
    `before_answer` is called once a create has been read.
    """

    def __init__(self) -> None:
        self.statuses: dict[str, int] = {}
        self.before_answer: Callable[[], object] = lambda: None
        self._created = 0
        self._alone = Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            """Hands each request to the service."""

            protocol_version, server_version, sys_version = "HTTP/1.1", "service", ""

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, told = service.answer(self.path, body)
                if status == 0:
                    self.close_connection = True
                    return
                data = json.dumps(told).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has there
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, body: dict[str, object]) -> tuple[int, dict[str, object]]:
        """The status and the document that answer a request."""
        if path.endswith("/oauth/token"):
            return 200, {"access_token": "not-a-token", "token_type": "Bearer", "expires_in": 86400}
        self.before_answer()
        status = self.statuses.get(str(body["webhookUrl"]).rpartition("/")[2], 201)
        if status != 201:
            return status, {"error": "no"}
        with self._alone:
            self._created += 1
            number = self._created
        return 201, {"subscriptionId": f"sub-{number}", "state": "on", "signing": {"key": f"not-a-secret-{number}"}}
