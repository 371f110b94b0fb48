"""The lending service as the tests of the service room need it: tokens that are counted, answers that are scripted."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

from werkzeug import Request, Response

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_httpserver import HTTPServer

SECRET = "s3cret/with+odd characters=="
"""The client secret: odd enough to look different in JSON and in a URL."""

Scripted = tuple[int, str] | tuple[int, str, dict[str, str]]


class LendingService:
    """Gives the tokens `token-1-…`, `token-2-…`, and the scripted answers, the last of them for ever."""

    def __init__(self, server: HTTPServer) -> None:
        self.url = server.url_for("").rstrip("/")
        self.token_answers: list[Scripted] = []
        self.answers: list[Scripted] = [(201, '{"id": "sub-1"}')]
        self.token_requests: list[Request] = []
        self.calls: list[Request] = []
        self._lock = threading.Lock()
        server.expect_request("/idp/oauth/token").respond_with_handler(self._give_token)
        server.expect_request("/api/notification/webhooksubscription").respond_with_handler(self._answer)
        server.expect_request("/api/onboarding/leads").respond_with_handler(self._answer)

    def answers_with(self, answers: Iterable[Scripted]) -> None:
        """The API gives these answers, one after the other."""
        self.answers = list(answers)

    def _give_token(self, request: Request) -> Response:
        with self._lock:
            request.get_data()
            self.token_requests.append(request)
            if self.token_answers:
                return _response(self.token_answers.pop(0))
            token = f"token-{len(self.token_requests)}-abcdefgh"
        return _response((200, json.dumps({"access_token": token, "token_type": "Bearer", "expires_in": 86400})))

    def _answer(self, request: Request) -> Response:
        with self._lock:
            request.get_data()
            self.calls.append(request)
            return _response(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])


def _response(answer: Scripted) -> Response:
    status, body, *headers = answer
    return Response(body, status, headers[0] if headers else {}, content_type="application/json")
