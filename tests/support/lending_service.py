"""A lending service over HTTP whose answers a test chooses, one after the other; the sandbox has rules instead.

It knows the documented requests and nothing else; its usual answers have shapes of its own, since the real ones are not
documented. What reaches it is kept for the tests to look at.
"""

from __future__ import annotations

import json
import re
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from werkzeug import Request, Response

from support.prompt_server import PromptServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Scripted = tuple[int, str] | tuple[int, str, dict[str, str]]
    Answer = Response | Callable[[], Response] | Scripted

CLIENT_ID = "client-0815"
CLIENT_SECRET = "hunter2/hunter2+hunter2"
SIGNING_KEY = "whsec-correct-horse-battery-staple"
AUDIENCE_BASE = "https://audience.service.example"


class Received(NamedTuple):
    """One request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    data: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.data)


class LendingService:
    """The service on a port of its own. Answers are its usual ones unless a test has scripted others.

    A scripted answer is a response, its status, text and headers, or a function that gives one.
    """

    def __init__(self) -> None:
        self.token_requests: list[Received] = []
        self.creates: list[Received] = []
        self.leads: list[Received] = []
        self._token_answers: list[Answer] = []
        self._answers: list[Answer] = []
        self._last: Answer | None = None
        self._alone = Lock()
        self._released = Event()
        self.hanging = Event()
        self._server = PromptServer(host="127.0.0.1", port=0, threaded=True)
        for pattern, handler in {
            "/tenant/oauth/token": self._give_token,
            "/eu/v9/notification/webhooksubscription": self._create,
            "/eu/v9/onboarding/leads": self._take_lead,
        }.items():
            self._server.expect_request(re.compile(pattern)).respond_with_handler(handler)
        self._server.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.port}"

    @property
    def auth_url(self) -> str:
        return f"{self.url}/tenant"

    @property
    def base_url(self) -> str:
        return f"{self.url}/eu/v9"

    @property
    def bodies(self) -> list[Any]:
        """The bodies of the create calls so far."""
        return [create.body for create in self.creates]

    @property
    def calls(self) -> list[Received]:
        """The calls of its APIs so far: creates, then leads."""
        return [*self.creates, *self.leads]

    @property
    def untouched(self) -> bool:
        """Whether nothing at all has arrived."""
        return not (self.token_requests or self.calls)

    def answer_next(self, *answers: Answer) -> None:
        """Answer the next creates, or leads, so."""
        self._answers += answers

    def answers_with(self, answers: Sequence[Answer]) -> None:
        """Answer the next creates, or leads, so, and all that follow as the last of them."""
        self._answers, self._last = [*answers], answers[-1]

    def answer_next_token(self, *answers: Answer) -> None:
        """Answer the next token requests so."""
        self._token_answers += answers

    def hang(self) -> Response:
        """An answer that does not come before the test is over."""
        self.hanging.set()
        self._released.wait(60)
        return Response(status=500)

    def close(self) -> None:
        self._released.set()
        self._server.stop()

    def _give_token(self, request: Request) -> Response:
        with self._alone:
            self.token_requests.append(_received(request))
            number = len(self.token_requests)
            scripted = self._token_answers.pop(0) if self._token_answers else None
        token = {"access_token": f"token-number-{number}", "token_type": "Bearer", "expires_in": 86400, "scope": "all"}
        return _given(scripted) if scripted else Response(json.dumps(token), content_type="application/json")

    def _create(self, request: Request) -> Response:
        with self._alone:
            self.creates.append(_received(request))
            number, scripted = len(self.creates), self._next_answer()
        told = {"subscriptionId": f"sub-{number}", "signing": {"key": SIGNING_KEY}, "key": SIGNING_KEY, "state": "on"}
        usual = Response(json.dumps(told), status=201, content_type="application/vnd.service+json")
        return _given(scripted) if scripted else usual

    def _take_lead(self, request: Request) -> Response:
        with self._alone:
            self.leads.append(_received(request))
            scripted = self._next_answer()
        usual = Response('{"lead": {"ref": 1.10}}', status=202, content_type="application/json")
        return _given(scripted) if scripted else usual

    def _next_answer(self) -> Answer | None:
        return self._answers.pop(0) if self._answers else self._last


def _received(request: Request) -> Received:
    headers = {name.lower(): value for name, value in request.headers.items()}
    return Received(request.method, request.path, headers, request.get_data())


def _given(answer: Answer) -> Response:
    if isinstance(answer, Response):
        return answer
    if not isinstance(answer, tuple):
        return answer()
    status, text, *headers = answer
    return Response(text, status, headers[0] if headers else {}, content_type="application/json")


def refusal(status: int, **headers: str) -> Response:
    """An error as this service words it."""
    return Response(json.dumps({"error": "no", "detail": f"because of {status}"}), status=status, headers=headers)


@pytest.fixture
def lending_service() -> Iterator[LendingService]:
    """A lending service with its usual answers, ended with the test."""
    service = LendingService()
    yield service
    service.close()
