"""What makes the calls of a target: the response is kept before the outcome is known to anyone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest
from msgspec.structs import replace
from support.applying_bench import SERVICE

from reconciler.applying.events import Answered, Send
from reconciler.applying.service_caller import ServiceCaller
from reconciler.errors import StoreUnavailable, TokenError
from reconciler.model.address import Address
from reconciler.model.clock import Instant
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.plan import Request

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.service.api import Service

REQUEST = Request(("ONB10011",), f"{SERVICE}/hook")
SEND = Send("a1", Address("europe/staging/a"), REQUEST, 60.0, Instant(10.0, 10.0), renew=False)
CREATED = Answer(Outcome.CREATED, 201, fields={"id": 7}, body=b'{"id":7,"secret":"s"}')


@dataclass
class Lending:
    """Stands for the service."""

    answer: Answer
    token_problem: Exception | None = None
    expected: list[tuple[int, ...]] = field(default_factory=list)

    def authorise(self) -> None:
        if self.token_problem:
            raise self.token_problem

    def expect_creates(self, calls: int, at_once: int) -> None:
        self.expected.append((calls, at_once))

    def expect_no_creates(self) -> None:
        self.expected.append(())

    def create_subscription(self, request: Request, may_send: Callable[[], bool], *, renew: bool) -> Answer:
        assert (SEND.request, True, SEND.renew) == (request, may_send(), renew)
        return self.answer


def create(answer: Answer, keep: Callable[[str, bytes], str]) -> Answered:
    """Make a call that is answered so."""
    return ServiceCaller(cast("Service", Lending(answer)), keep).create(SEND, lambda: True)


def test_a_response_is_kept_and_goes_no_further() -> None:
    """The body is kept for its attempt, and only where it is kept is told."""
    kept: dict[str, bytes] = {}

    def keep(attempt: str, body: bytes) -> str:
        kept[attempt] = body
        return "file"

    answered = create(CREATED, keep)
    assert ("a1", "file", b"", {"id": 7}) == (
        answered.attempt,
        answered.response,
        answered.answer.body,
        answered.answer.fields,
    )
    assert {"a1": CREATED.body} == kept


@pytest.mark.parametrize("body", [b"", b"{}"])
def test_a_response_is_kept_as_a_message(body: bytes) -> None:
    """With the status line and the headers, which may tell what the body does not; of those nothing goes further."""
    kept: list[bytes] = []

    def keep(_attempt: str, response: bytes) -> str:
        kept.append(response)
        return "file"

    head = b"HTTP/1.1 201 Created\r\nLocation: /4711\r\n\r\n"
    answered = create(replace(CREATED, head=head, body=body), keep)
    assert (b"", b"", [head + body]) == (answered.answer.head, answered.answer.body, kept)


@pytest.mark.parametrize(
    "answer",
    [Answer(Outcome.REJECTED, 400, body=b"no"), Answer(Outcome.UNKNOWN, 500, body=b"?"), Answer(Outcome.CREATED)],
)
def test_only_what_came_with_a_creation_is_kept(answer: Answer) -> None:
    """A refusal holds no secret that is told only once, and an empty response holds nothing."""
    kept: list[bytes] = []

    def keep(attempt: str, body: bytes) -> str:
        kept.append(body)
        return "file"

    assert (Answered("a1", replace(answer, body=b"")), []) == (create(answer, keep), kept)


def test_a_409_names_the_import() -> None:
    """A subscription that may exist already can be imported: the command has the address."""
    answered = create(Answer(Outcome.REJECTED, 409, "HTTP 409 Conflict: exists"), lambda _attempt, _body: "file")
    command = "reconciler state import europe/staging/a"
    assert f"HTTP 409 Conflict: exists; if it already exists, run: {command}" == answered.answer.detail


@pytest.mark.parametrize(
    ("problem", "told"), [(StoreUnavailable("no disk"), "no disk"), (ValueError("secret"), "ValueError")]
)
def test_a_response_that_cannot_be_kept_does_not_undo_the_creation(
    caplog: pytest.LogCaptureFixture, problem: Exception, told: str
) -> None:
    """The outcome stays created, and it is said what is missing, at once too; of an unexpected error only its name."""

    def keep(attempt: str, body: bytes) -> str:
        raise problem

    answered = create(CREATED, keep)
    detail = f"created, but its response could not be saved: {told}"
    assert Answered("a1", replace(CREATED, body=b"", detail=detail), lost=True) == answered
    (record,) = caplog.records
    assert "ERROR" == record.levelname
    assert f"europe/staging/a: {detail}; the response is lost" == record.getMessage()


def test_no_token_is_told() -> None:
    """What keeps a token away is raised."""
    caller = ServiceCaller(cast("Service", Lending(CREATED, TokenError("no"))), lambda _attempt, _body: "")
    with pytest.raises(TokenError):
        caller.authorise()


def test_what_is_expected_is_told_to_the_service() -> None:
    """How many calls are left, and that there are none any more."""
    service = Lending(CREATED)
    caller = ServiceCaller(cast("Service", service), lambda _attempt, _response: "file")
    caller.expect(7, 3)
    caller.expect_none()
    assert [(7, 3), ()] == service.expected
