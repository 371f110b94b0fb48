"""The calls of the service over real HTTP: what is sent, the new token after a 401, and what is said afterwards."""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Callable
from unittest.mock import Mock

import pytest
from support.lending_service import LendingService
from support.raw_server import RawServer, say
from support.refusals import raised
from support.service_targets import SECRET, make_target

from reconciler.errors import CallFailed
from reconciler.model.desired import account_hash
from reconciler.model.outcome import Answer, Outcome
from reconciler.service.api import LeadAnswer, ServiceClient
from reconciler.service.probing import Prober
from reconciler.service.transport import Transport

Open = Callable[..., ServiceClient]

CODES, URL = ("ONB10011", "LOA10013"), "https://hooks.example/applications"
TOKEN_1, TOKEN_2 = "token-number-1", "token-number-2"


def create(service: ServiceClient, *, renew: bool = True, may_send: bool = True) -> Answer:
    """Create one subscription."""
    return service.create_subscription(CODES, URL, lambda: may_send, renew=renew)


class TestCreateSubscription:
    """Creating a webhook subscription (service description, section 4.2)."""

    def test_is_as_documented(self, service: ServiceClient, lending_service: LendingService) -> None:
        """Headers and body are the documented ones, the codes sorted; the token is requested once."""
        service.authorise()
        answer = create(service)
        (call,) = lending_service.calls
        assert ("POST", "/eu/v9/notification/webhooksubscription", TOKEN_1) == (call.method, call.path, call.bearer)
        assert call.headers["content-type"] == "application/json"
        assert call.body == {"eventCodes": ["LOA10013", "ONB10011"], "webhookUrl": URL}
        assert (Outcome.CREATED, 201, b'{"id": "sub-1"}') == (answer.outcome, answer.status, answer.body)
        assert answer.head.startswith(b"HTTP/1.1 201 Any\r\nContent-Type: ")
        assert ({"id": "sub-1"}, 1) == (answer.fields, len(lending_service.token_requests))

    def test_nothing_is_sent_once_it_is_closed(self, open_service: Open, lending_service: LendingService) -> None:
        """Whoever uses it in a block cannot send after that."""
        with open_service(make_target(lending_service.url)) as service:
            service.authorise()
        assert (Outcome.NOT_SENT, []) == (create(service).outcome, lending_service.calls)

    def test_what_was_sent_may_come_back(self, service: ServiceClient, lending_service: LendingService) -> None:
        """Only identifiers and what was sent are in the clear, and nothing of the response is in a repr."""
        lending_service.script((200, json.dumps({"webhookUrl": URL, "code": CODES[0], "secretKey": "k3y"})))
        answer = create(service)
        assert ({"webhookUrl": URL, "code": CODES[0]}, False) == (answer.fields, "k3y" in repr(answer))

    def test_a_cut_off_201_is_created(
        self, open_service: Open, lending_service: LendingService, serve: Callable[..., RawServer]
    ) -> None:
        """The head decides, for a lead too; that the rest is missing is told."""
        server = serve(say(b'HTTP/1.1 201 Created\r\nContent-Length: 900\r\n\r\n{"id": "su'))
        service, cut = (
            open_service(make_target(lending_service.url, server.url)),
            "the response was cut off after 10 bytes",
        )
        answer = create(service)
        assert (Outcome.CREATED, b'{"id": "su', cut) == (answer.outcome, answer.body, answer.detail)
        assert LeadAnswer(201, answer.body, cut) == service.create_lead(b"{}")

    def test_a_401_brings_a_new_token(self, service: ServiceClient, lending_service: LendingService) -> None:
        """The old one is thrown away; the repeat is the caller's, who reads the record before."""
        lending_service.script((401, ""))
        answer = create(service)
        assert (Outcome.REJECTED, 401, 0.0) == (answer.outcome, answer.status, answer.retry_after)
        assert create(service, renew=False).outcome is Outcome.CREATED
        assert [TOKEN_1, TOKEN_2] == [call.bearer for call in lending_service.calls]

    def test_a_401_that_is_not_to_be_repeated(self, service: ServiceClient, lending_service: LendingService) -> None:
        """No token is requested where no repeat follows."""
        lending_service.script((401, '{"message": "no"}'))
        answer = create(service, renew=False)
        assert (Outcome.REJECTED, 401, None) == (answer.outcome, answer.status, answer.retry_after)
        assert len(lending_service.token_requests) == 1

    def test_a_refused_token_is_not_sent_again(self, open_service: Open, lending_service: LendingService) -> None:
        """Whether it was to be renewed or not, and neither by this client nor by the next one."""
        lending_service.script(*[(401, "")] * 8)
        for flags in ((True, False), (False, True)):
            client = open_service(make_target(lending_service.url))
            for renew in (*flags, *flags):
                create(client, renew=renew)
        assert [f"token-number-{number}" for number in range(1, 9)] == [call.bearer for call in lending_service.calls]

    def test_a_401_and_no_new_token(self, service: ServiceClient, lending_service: LendingService) -> None:
        """Both are said, and it is not repeated."""
        service.authorise()
        lending_service.script_tokens((403, '{"error": "revoked"}'))
        lending_service.script((401, ""))
        answer = create(service)
        assert (Outcome.REJECTED, 401, None) == (answer.outcome, answer.status, answer.retry_after)
        assert str(answer.detail).startswith("HTTP 401 Unauthorized; europe/staging: no access token: HTTP 403")

    def test_a_former_token_stays_a_secret(self, service: ServiceClient, lending_service: LendingService) -> None:
        """A service that echoes the token of the call before does not get it into the record."""
        lending_service.script((401, ""), (201, json.dumps({"id": "sub-1", "traceId": TOKEN_1})))
        assert {"id": "sub-1"} == [create(service) for _ in range(2)][1].fields

    def test_tokens_of_two_threads_stay_secrets(
        self, service: ServiceClient, lending_service: LendingService, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A token that another thread uses for the first time at the same moment is redacted in later calls."""
        other = threading.Thread(target=create, args=(service,))

        class SlowToken(str):
            def __hash__(self) -> int:
                if other.ident is None:
                    other.start()
                    other.join(0.2)
                return super().__hash__()

        tokens = iter([SlowToken(TOKEN_1), "another-of-them", TOKEN_2])
        monkeypatch.setattr(service, "token", lambda: next(tokens))
        lending_service.script(*[(201, json.dumps({"id": "sub-1", "traceId": "another-of-them"}))] * 3)
        create(service)
        other.join()
        assert {"id": "sub-1"} == create(service).fields

    def test_withheld(self, service: ServiceClient, lending_service: LendingService) -> None:
        """Without leave nothing is sent."""
        assert (Outcome.NOT_SENT, []) == (create(service, may_send=False).outcome, lending_service.calls)

    def test_no_token(self, service: ServiceClient, lending_service: LendingService) -> None:
        """Without a token there is no call."""
        lending_service.script_tokens((401, ""))
        answer = create(service)
        assert (Outcome.NOT_SENT, []) == (answer.outcome, lending_service.calls)
        assert "no access token" in str(answer.detail)

    @pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 408, 409, 422, 499, 500, 503])
    def test_nothing_is_repeated(self, service: ServiceClient, lending_service: LendingService, status: int) -> None:
        """One call, whatever the status; a redirect is not followed, and no field of an error is stored."""
        lending_service.script((status, '{"id": "x"}', {"Location": "/eu/v9/notification/webhooksubscription"}))
        answer = create(service)
        assert (status, {}, 1) == (answer.status, answer.fields, len(lending_service.calls))

    def test_an_echo_is_redacted(self, service: ServiceClient, lending_service: LendingService) -> None:
        """A service that echoes what it was sent does not bring token or secret into the detail."""
        body = {"message": f"bad header Bearer {TOKEN_1}, {TOKEN_1[:12]}... {SECRET} client-1"}
        lending_service.script((400, json.dumps(body)))
        shown = "bad header Bearer [redacted], [redacted]... [redacted] [redacted]"
        assert f"HTTP 400 Bad Request: {shown}" == create(service).detail

    def test_logs_show_no_secret(
        self, service: ServiceClient, lending_service: LendingService, caplog: pytest.LogCaptureFixture
    ) -> None:
        """With everything at DEBUG there is a line for each call, and neither token, secret nor body in any."""
        lending_service.script((401, ""), (201, '{"secretKey": "k3y"}', {"Set-Cookie": "hunter1"}))
        with caplog.at_level(logging.DEBUG, logger="reconciler"):
            create(service)
            create(service)
        lines = [record.message for record in caplog.records if record.name == "reconciler.service"]
        assert [line.split(", ")[0].partition("/tenant")[2] or line.split(", ")[0][-3:] for line in lines] == [
            "/oauth/token: 200", "401", "/oauth/token: 200", "201",
        ]  # fmt: skip
        for secret in ("token-number", SECRET, json.dumps(SECRET), "k3y", "hooks.example", "Bearer", "hunter1"):
            assert secret not in caplog.text


class TestCreateLead:
    """Creating a lead (service description, section 4.3)."""

    LEAD = b'{"amount": "10.00",\n "x": 1.10}'

    def test_is_as_documented(self, service: ServiceClient, lending_service: LendingService) -> None:
        """The document goes out as it is, with the documented headers and a token for the onboarding API."""
        lending_service.script((201, '{"LeadId": "l-1"}'))
        assert LeadAnswer(201, b'{"LeadId": "l-1"}', None) == service.create_lead(self.LEAD)
        (call,) = lending_service.calls
        assert (call.path, call.data) == ("/eu/v9/onboarding/leads", self.LEAD)
        assert (call.headers["accept"], call.headers["content-type"]) == ("application/json",) * 2
        assert lending_service.token_requests[0].body["audience"] == "https://api.example/onboarding"

    @pytest.mark.parametrize(("status", "name"), [
        (400, "lead-rejected"), (401, "lead-rejected"), *((status, "lead-unknown") for status in (200, 302, 503)),
    ])  # fmt: skip
    def test_a_failure(self, service: ServiceClient, lending_service: LendingService, status: int, name: str) -> None:
        """The error says whether the lead may exist, and who knows; nothing is sent twice. A page is no answer."""
        lending_service.script((status, "<html>"))
        message = raised(CallFailed, service.create_lead, self.LEAD)
        assert (name, "europe/staging", 1) == (message.name, message.where, len(lending_service.calls))
        assert (f"HTTP {status}" in message.what, "operator" in message.steps[0].text) == (True, name == "lead-unknown")

    def test_after_a_401_the_next_run_has_another_token(
        self, service: ServiceClient, lending_service: LendingService
    ) -> None:
        """The refused one is thrown away."""
        lending_service.script((401, ""))
        with pytest.raises(CallFailed):
            service.create_lead(self.LEAD)
        service.create_lead(self.LEAD)
        assert [TOKEN_1, TOKEN_2] == [call.bearer for call in lending_service.calls]

    def test_withheld(self, service: ServiceClient, lending_service: LendingService) -> None:
        """Without leave nothing is sent, and nothing was created for certain."""
        message = raised(CallFailed, service.create_lead, self.LEAD, lambda: False)
        assert ("lead-not-sent", []) == (message.name, lending_service.calls)
        assert "nothing was created" in message.steps[0].text


def test_each_request_has_the_time_it_is_given(
    open_service: Open, lending_service: LendingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A create, a lead, the token of each and a probe may take all of it, however long that is."""
    monkeypatch.setattr(Transport, "send", send := Mock(wraps=Transport().send))
    client = open_service(make_target(lending_service.url), timeout=60.0)
    create(client)
    client.create_lead(b"{}")
    Prober(60.0).probe(lending_service.url)
    assert [60.0] * 5 == [call.kwargs["timeout"] for call in send.call_args_list]


def test_the_account_is_a_hash_of_the_client() -> None:
    """It tells clients apart, and does not show the id."""
    assert account_hash("client-1") == account_hash("client-1") != account_hash("client-2")
    assert (len("sha256:") + 64, True) == (len(account_hash("client-1")), account_hash("x").startswith("sha256:"))


def test_the_command_line_of_httpx_is_not_loaded() -> None:
    """It takes longer to load than all else of it."""
    assert not sys.modules.get("httpx._main")
