"""The calls of the service over real HTTP: what is sent, the repeat after a 401, and what is said afterwards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from support.raw_server import reset
from support.service_fixtures import SECRET

from reconciler.errors import CallFailed, TokenError
from reconciler.model.outcome import Outcome
from reconciler.model.plan import Request
from reconciler.service.api import LeadAnswer, Service
from reconciler.service.transport import always

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.lending_service import LendingService
    from support.raw_server import RawServer

    from reconciler.model.desired import Target
    from reconciler.service.credentials import Credentials
    from reconciler.service.tokens import Tokens
    from reconciler.service.transport import Transport

REQUEST = Request(("ONB10011", "LOA10013"), "https://hooks.example/applications")
TOKEN_1, TOKEN_2 = "token-number-1", "token-number-2"


@pytest.fixture
def service(
    transport: Transport, tokens: Tokens, target_at: Callable[..., Target], credentials: Credentials,
    lending_service: LendingService,
) -> Service:  # fmt: skip
    """The lending service as a target's credentials see it."""
    return Service(transport, tokens, target_at(lending_service.url), credentials, 5)


def bearers(lending_service: LendingService) -> list[str]:
    """The tokens that the calls came with."""
    return [call.headers["authorization"].removeprefix("Bearer ") for call in lending_service.calls]


class TestCreateSubscription:
    """Creating a webhook subscription (SERVICE.md, section 4.2)."""

    def test_is_as_documented(self, service: Service, lending_service: LendingService) -> None:
        """Headers and body are the documented ones, the codes sorted."""
        lending_service.answers_with([(201, '{"id": "sub-1"}')])
        answer = service.create_subscription(REQUEST, always)
        (call,) = lending_service.calls
        assert (call.method, call.headers["content-type"]) == ("POST", "application/json")
        assert bearers(lending_service) == [TOKEN_1]
        assert call.body == {"eventCodes": ["LOA10013", "ONB10011"], "webhookUrl": REQUEST.url}
        assert (answer.outcome, answer.status, answer.fields) == (Outcome.CREATED, 201, {"id": "sub-1"})
        assert answer.body == b'{"id": "sub-1"}'

    def test_what_was_sent_may_come_back(self, service: Service, lending_service: LendingService) -> None:
        """Of the response only identifiers and what was sent are taken out."""
        body = {"webhookUrl": REQUEST.url, "eventCodes": ["ONB10011"], "secretKey": "k3y"}
        lending_service.answers_with([(200, json.dumps(body))])
        assert service.create_subscription(REQUEST, always).fields == {"webhookUrl": REQUEST.url}

    def test_the_body_is_left_out_of_the_repr(self, service: Service, lending_service: LendingService) -> None:
        """It may hold the subscription's secret."""
        lending_service.answers_with([(200, '{"secretKey": "k3y"}')])
        assert "k3y" not in repr(service.create_subscription(REQUEST, always))

    def test_a_401_brings_a_new_token_and_may_be_repeated_at_once(
        self, service: Service, lending_service: LendingService
    ) -> None:
        """The old token is thrown away; the repeat is the caller's, who reads the record before."""
        lending_service.answers_with([(401, ""), (201, "{}")])
        answer = service.create_subscription(REQUEST, always)
        assert (answer.outcome, answer.status, answer.retry_after) == (Outcome.REJECTED, 401, 0.0)
        assert service.create_subscription(REQUEST, always, renew=False).outcome is Outcome.CREATED
        assert bearers(lending_service) == [TOKEN_1, TOKEN_2]

    def test_a_thrown_away_token_stays_a_secret(self, service: Service, lending_service: LendingService) -> None:
        """A service that echoes the token of the call before is no way for it into the record."""
        lending_service.answers_with([(401, ""), (201, json.dumps({"id": "sub-1", "traceId": TOKEN_1}))])
        answers = [service.create_subscription(REQUEST, always) for _ in range(2)]
        assert {"id": "sub-1"} == answers[1].fields

    def test_a_401_that_is_not_to_be_repeated_costs_no_token(
        self, service: Service, lending_service: LendingService
    ) -> None:
        """Where no repeat follows, none is asked for."""
        lending_service.answers_with([(401, '{"message": "no"}')])
        answer = service.create_subscription(REQUEST, always, renew=False)
        assert (answer.outcome, answer.status, answer.retry_after) == (Outcome.REJECTED, 401, None)
        service.create_subscription(REQUEST, always, renew=False)
        assert bearers(lending_service) == [TOKEN_1, TOKEN_1]

    def test_a_401_and_no_new_token_is_rejected(self, service: Service, lending_service: LendingService) -> None:
        """Both are said."""
        service.authorise()
        lending_service.answer_next_token((403, '{"error": "revoked"}'))
        lending_service.answers_with([(401, "")])
        answer = service.create_subscription(REQUEST, always)
        assert (answer.outcome, answer.status, answer.retry_after) == (Outcome.REJECTED, 401, None)
        assert str(answer.detail).startswith("HTTP 401 Unauthorized; europe/staging: no access token: HTTP 403")

    def test_no_call_leaves_without_leave(self, service: Service, lending_service: LendingService) -> None:
        """Whoever sends may be too late for it; then nothing was created."""
        answer = service.create_subscription(REQUEST, lambda: False)
        assert (answer.outcome, lending_service.calls) == (Outcome.NOT_SENT, [])

    def test_no_token_is_not_sent(self, service: Service, lending_service: LendingService) -> None:
        """Without a token there is no call."""
        lending_service.answer_next_token((401, ""))
        answer = service.create_subscription(REQUEST, always)
        assert (answer.outcome, lending_service.calls) == (Outcome.NOT_SENT, [])
        assert "no access token" in str(answer.detail)

    def test_a_409_is_rejected(self, service: Service, lending_service: LendingService) -> None:
        """The detail is what the service answered."""
        lending_service.answers_with([(409, '{"message": "exists"}')])
        answer = service.create_subscription(REQUEST, always)
        assert (Outcome.REJECTED, "HTTP 409 Conflict: exists") == (answer.outcome, answer.detail)

    def test_a_429_says_how_long_to_wait(self, service: Service, lending_service: LendingService) -> None:
        """Waiting and repeating is the caller's, who knows how long it may."""
        lending_service.answers_with([(429, "", {"Retry-After": "7"})])
        answer = service.create_subscription(REQUEST, always)
        assert (answer.outcome, answer.retry_after, len(lending_service.calls)) == (Outcome.REJECTED, 7.0, 1)

    @pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 404, 408, 422, 499, 500, 502, 503, 504])
    def test_nothing_else_is_repeated(self, service: Service, lending_service: LendingService, status: int) -> None:
        """One call, whatever the status; a redirect is not followed."""
        lending_service.answers_with([(status, "", {"Location": "/eu/v9/notification/webhooksubscription"})])
        answer = service.create_subscription(REQUEST, always)
        assert (status, 1) == (answer.status, len(lending_service.calls))

    def test_an_echo_is_redacted(self, service: Service, lending_service: LendingService) -> None:
        """A service that echoes what it was sent does not bring token or secret into the detail."""
        body = {"message": f"bad header Bearer {TOKEN_1}, {TOKEN_1[:12]}... {SECRET}"}
        lending_service.answers_with([(400, json.dumps(body))])
        detail = str(service.create_subscription(REQUEST, always).detail)
        assert detail == "HTTP 400 Bad Request: bad header Bearer [redacted], [redacted]... [redacted]"


class TestAuthorise:
    """Getting the token before anything is intended."""

    def test_the_create_uses_that_token(self, service: Service, lending_service: LendingService) -> None:
        """It is asked for once."""
        service.authorise()
        service.create_subscription(REQUEST, always)
        assert len(lending_service.token_requests) == 1

    def test_no_token_is_an_error(self, service: Service, lending_service: LendingService) -> None:
        """So that no intent is recorded."""
        lending_service.answer_next_token((401, ""))
        with pytest.raises(TokenError):
            service.authorise()


class TestCreateLead:
    """Creating a lead (SERVICE.md, section 4.3)."""

    LEAD = b'{"amount": "10.00",\n "x": 1.10}'

    def test_is_as_documented(self, service: Service, lending_service: LendingService) -> None:
        """The document goes out as it is, with the documented headers and a token for the onboarding API."""
        lending_service.answers_with([(201, '{"LeadId": "l-1"}')])
        assert LeadAnswer(201, b'{"LeadId": "l-1"}', None) == service.create_lead(self.LEAD)
        (call,) = lending_service.calls
        assert (call.path, call.data) == ("/eu/v9/onboarding/leads", self.LEAD)
        assert (call.headers["accept"], call.headers["content-type"]) == ("application/json",) * 2
        assert lending_service.token_requests[0].body["audience"] == "https://api.example/onboarding"

    def test_a_401_is_repeated_once(self, service: Service, lending_service: LendingService) -> None:
        """As with every call."""
        lending_service.answers_with([(401, ""), (200, "{}")])
        service.create_lead(self.LEAD)
        assert bearers(lending_service) == [TOKEN_1, TOKEN_2]

    @pytest.mark.parametrize(
        ("status", "words"),
        [
            (400, "the lead was rejected: HTTP 400 Bad Request; nothing was created; correct"),
            (409, "the lead was rejected: HTTP 409 Conflict; nothing was created; correct"),
            (302, "the lead was sent, but its outcome is unknown: HTTP 302 Found; check with the operator"),
            (
                503,
                "the lead was sent, but its outcome is unknown: HTTP 503 Service Unavailable; check with the operator",
            ),
        ],
    )
    def test_what_may_have_become_of_it(
        self, service: Service, lending_service: LendingService, status: int, words: str
    ) -> None:
        """The error says whether the lead may exist; nothing is sent twice, and 409 does not name `state import`."""
        lending_service.answers_with([(status, "")])
        with pytest.raises(CallFailed) as caught:
            service.create_lead(self.LEAD)
        assert str(caught.value).startswith(f"europe/staging: {words}")
        assert "state import" not in str(caught.value)
        assert len(lending_service.calls) == 1

    def test_not_sent(
        self, transport: Transport, tokens: Tokens, target_at: Callable[..., Target], credentials: Credentials,
        lending_service: LendingService,
    ) -> None:  # fmt: skip
        """If the service refuses the connection, nothing was created for certain."""
        target = replace(target_at(lending_service.url), base_url="http://127.0.0.1:9")
        words = r"^europe/staging: the lead was not sent: no connection: .*refused; nothing was created; retry$"
        with pytest.raises(CallFailed, match=words):
            Service(transport, tokens, target, credentials, 5).create_lead(self.LEAD)
        assert (1, []) == (len(lending_service.token_requests), lending_service.calls)

    def test_no_answer(
        self, transport: Transport, tokens: Tokens, target_at: Callable[..., Target], credentials: Credentials,
        lending_service: LendingService, serve: Callable[..., RawServer],
    ) -> None:  # fmt: skip
        """Where the answer is lost, nobody knows."""
        server = serve(reset)
        target = replace(target_at(lending_service.url), base_url=server.url)
        with pytest.raises(CallFailed, match=r"its outcome is unknown: .*check with the operator"):
            Service(transport, tokens, target, credentials, 5).create_lead(self.LEAD)
        assert len(server.requests) == 1

    def test_no_token(self, service: Service, lending_service: LendingService) -> None:
        """The token's own error says most; there is no call."""
        lending_service.answer_next_token((401, ""))
        with pytest.raises(TokenError, match="401"):
            service.create_lead(self.LEAD)
        assert [] == lending_service.calls
