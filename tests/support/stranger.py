"""A lending service that is not the sandbox, and a project that works with it.

It knows the documented requests and nothing else; its answers have shapes of its own, since the real ones are not
documented. What reaches it is kept for the tests to look at.
"""

from __future__ import annotations

import json
import re
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from support.project import Project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Answer = Response | Callable[[], Response]

CLIENT_ID = "client-0815"
CLIENT_SECRET = "hunter2/hunter2+hunter2"
SIGNING_KEY = "whsec-correct-horse-battery-staple"
AUDIENCE_BASE = "https://audience.service.example"


class Received(NamedTuple):
    """One request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


class Stranger:
    """The service on a port of its own. Answers are its usual ones unless a test has scripted others."""

    def __init__(self) -> None:
        self.token_requests: list[Received] = []
        self.creates: list[Received] = []
        self.leads: list[Received] = []
        self._token_answers: deque[Answer] = deque()
        self._answers: deque[Answer] = deque()
        self._released = Event()
        self.hanging = Event()
        self._server = HTTPServer(host="127.0.0.1", port=0, threaded=True)
        for pattern, handler in {
            "/tenant/oauth/token": self._give_token,
            "/eu/v9/notification/webhooksubscription": self._create,
            "/eu/v9/onboarding/leads": self._take_lead,
        }.items():
            self._server.expect_request(re.compile(pattern)).respond_with_handler(handler)
        self._server.start()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._server.port}"

    @property
    def auth_url(self) -> str:
        return f"{self.root}/tenant"

    @property
    def base_url(self) -> str:
        return f"{self.root}/eu/v9"

    @property
    def bodies(self) -> list[Any]:
        """The bodies of the create calls so far."""
        return [one.body for one in self.creates]

    @property
    def untouched(self) -> bool:
        """Whether nothing at all has arrived."""
        return not (self.token_requests or self.creates or self.leads)

    def answer_next(self, *answers: Answer) -> None:
        """Answer the next creates, or leads, so."""
        self._answers += answers

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
        self.token_requests.append(_received(request))
        if self._token_answers:
            return _given(self._token_answers.popleft())
        number = len(self.token_requests)
        token = {"access_token": f"token-number-{number}", "token_type": "Bearer", "expires_in": 86400, "scope": "all"}
        return Response(json.dumps(token), content_type="application/json")

    def _create(self, request: Request) -> Response:
        self.creates.append(_received(request))
        if self._answers:
            return _given(self._answers.popleft())
        number = len(self.creates)
        told = {"subscriptionId": f"sub-{number}", "signing": {"key": SIGNING_KEY}, "key": SIGNING_KEY, "state": "on"}
        return Response(json.dumps(told), status=201, content_type="application/vnd.service+json")

    def _take_lead(self, request: Request) -> Response:
        self.leads.append(_received(request))
        if self._answers:
            return _given(self._answers.popleft())
        return Response('{"lead": {"ref": 1.10}}', status=202, content_type="application/json")


def _received(request: Request) -> Received:
    headers = {name.lower(): value for name, value in request.headers.items()}
    return Received(request.method, request.path, headers, json.loads(request.get_data()))


def _given(answer: Answer) -> Response:
    return answer if isinstance(answer, Response) else answer()


def refusal(status: int, **headers: str) -> Response:
    """An error as this service words it."""
    return Response(json.dumps({"error": "no", "detail": f"because of {status}"}), status=status, headers=headers)


@dataclass
class Partner(Project):
    """A project with one target, europe/staging, which is a stranger's service."""

    service: Stranger = field(kw_only=True)

    def declare(self, subscriptions: dict[str, tuple[list[str], str]], **addresses: str) -> None:
        given = {
            "auth_url": self.service.auth_url,
            "base_url": self.service.base_url,
            "audience_base": AUDIENCE_BASE,
            **addresses,
        }
        super().declare(subscriptions, **given)

    def want(self, **codes: list[str]) -> None:
        """Declare subscriptions, name -> codes, each with a URL of its own."""
        self.declare({name: (some, f"https://hooks.partner.example/{name}") for name, some in codes.items()})

    def begin(self, **codes: list[str]) -> None:
        """As `want`, and start the state record."""
        self.want(**codes)
        self.step("state", "init")

    @property
    def journal(self) -> Path:
        return self.path / "state" / "europe" / "staging.jsonl"

    @property
    def entries(self) -> list[dict[str, Any]]:
        """What the journal says, entry by entry."""
        return [json.loads(line) for line in self.journal.read_text(encoding="utf-8").splitlines()]

    @property
    def kinds(self) -> list[str]:
        return [entry["kind"] for entry in self.entries]

    @contextmanager
    def appending(self, *kinds: str) -> Iterator[None]:
        """Hold that what is done inside appends entries of these kinds to the journal, and changes nothing before."""
        before = self.journal.read_bytes()
        yield
        after = self.journal.read_bytes()
        assert after.startswith(before)
        assert list(kinds) == [json.loads(line)["kind"] for line in after[len(before) :].splitlines()]

    def plan(self) -> Any:
        """The plan as a document."""
        return self.step("plan", "--format", "json").document

    def planned(self) -> list[tuple[str, str]]:
        """The name and the action of every change of the plan."""
        return [(change["address"].rpartition("/")[2], change["action"]) for change in self.plan()["changes"]]

    def listed(self) -> list[tuple[str, str, list[str]]]:
        """The name, the status and the codes of every attempt that `state list` gives."""
        found = self.step("state", "list", "--format", "json").document
        return [(one["address"].rpartition("/")[2], one["status"], one["eventCodes"]) for one in found]

    def attempt(self, number: int = 0) -> str:
        """The id of an attempt that `state list` gives."""
        return str(self.step("state", "list", "--format", "json").document[number]["attempt"])

    def lose_answer(self, *arguments: str) -> None:
        """Apply, with an answer to the first create that says nothing about its outcome."""
        self.service.answer_next(refusal(500))
        self.step("apply", "--auto-approve", *arguments, code=3)


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    """A lending service that is not the sandbox."""
    service = Stranger()
    yield service
    service.close()


@pytest.fixture
def partner(tmp_path: Path, stranger: Stranger) -> Partner:
    """A project that works with a stranger's service, with nothing declared yet."""
    credentials = {
        "RECONCILER_EUROPE_STAGING_CLIENT_ID": CLIENT_ID,
        "RECONCILER_EUROPE_STAGING_CLIENT_SECRET": CLIENT_SECRET,
    }
    return Partner(tmp_path / "project", credentials, service=stranger)
