"""The HTTP server of doubles whose answers are functions of a request."""

from __future__ import annotations

from pytest_httpserver import HTTPServer


class PromptServer(HTTPServer):
    """A server that stops at once: pytest-httpserver's own looks twice a second whether it is to stop."""

    def thread_target(self) -> None:
        assert self.server is not None
        self.server.serve_forever(poll_interval=0.01)
