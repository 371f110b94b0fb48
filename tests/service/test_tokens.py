"""Requesting a token: what is sent, what is believed of the answer, and what an error says."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
import time_machine
from pydantic import SecretStr
from support.lending_service import LendingService
from support.raw_server import RawServer, reset, say, wait_for_hangup
from support.service_targets import SECRET, StubCredentials, make_target

from reconciler.errors import TokenError
from reconciler.model.desired import API_NAMES
from reconciler.service import tokens
from reconciler.service.api import ServiceClient
from reconciler.service.tokens import PAUSES

Open = Callable[..., ServiceClient]


def failure(service: ServiceClient) -> str:
    """Return the one line of the error that a token request ends with."""
    with pytest.raises(TokenError) as caught:
        service.authorise()
    printed = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert (False, "no-token") == (SECRET in printed, caught.value.messages[0].name)
    line = str(caught.value)
    assert line.startswith("europe/staging: no access token: ")
    assert line.isprintable()
    return line.removeprefix("europe/staging: no access token: ")


class TestRequest:
    """The request for a token, and how often it is sent."""

    @pytest.mark.parametrize("api", API_NAMES)
    def test_is_as_documented(self, service: ServiceClient, lending_service: LendingService, api: str) -> None:
        """JSON with the four parameters, one audience for each of the six APIs."""
        assert service.token(api) == "token-number-1"
        (request,) = lending_service.token_requests
        assert ("POST", "/tenant/oauth/token") == (request.method, request.path)
        assert request.headers["content-type"] == "application/json"
        assert request.body == {
            "grant_type": "client_credentials", "client_id": "client-1", "client_secret": SECRET,
            "audience": f"https://api.example/{api}",
        }  # fmt: skip

    def test_targets_that_share_everything_share_the_token(
        self, open_service: Open, lending_service: LendingService, tmp_path: Path
    ) -> None:
        """One token for each identity provider, client and audience, whatever the target is called, in one file."""
        for name in ("europe/staging", "usa/staging"):
            open_service(make_target(lending_service.url, name=name)).authorise()
        open_service(make_target(lending_service.url)).token("loan")
        open_service(make_target(lending_service.url), StubCredentials("client-2")).token("loan")
        open_service(make_target(lending_service.url), StubCredentials("client-2", SecretStr("other"))).token("loan")
        files = [*(tmp_path / "cache" / "tokens").glob("*.token")]
        assert (4, 3) == (len(lending_service.token_requests), len(files))


class TestAnswer:
    """The answer is checked before it is used (service description, section 2.1)."""

    @pytest.mark.parametrize(("change", "named"), [
        ({"access_token": ""}, "access_token"), ({"access_token": "two words"}, "access_token"),
        ({"access_token": "line\n"}, "access_token"), ({"access_token": "t\u00f6ken"}, "access_token"),
        ({"access_token": "t" * 16_385}, "access_token"), ({"access_token": None}, "access_token"),
        ({"token_type": "mac"}, "token_type"), ({"token_type": "xbearer"}, "token_type"),
        ({"expires_in": 0}, "expires_in"), ({"expires_in": -1}, "expires_in"), ({"expires_in": "1"}, "expires_in"),
    ])  # fmt: skip
    def test_an_unusable_one(
        self, service: ServiceClient, lending_service: LendingService, change: dict[str, object], named: str
    ) -> None:
        """The error names the member that is wrong, and shows none."""
        answer = {"access_token": "value-of-token", "token_type": "Bearer", "expires_in": 60, **change}
        lending_service.script_tokens((200, json.dumps(answer)))
        line = failure(service)
        assert line.startswith(f"HTTP 200 without a valid {named}; ")
        assert "value-of-token" not in line

    @pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b'"t"', b'{"x":' * 100_000, b'{"access_token": "\xff"}'])
    def test_no_object(self, open_service: Open, serve: Callable[..., RawServer], body: bytes) -> None:
        """So is anything that is no JSON object."""
        url = serve(say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))).url
        assert failure(open_service(make_target(url))).startswith("HTTP 200 without a JSON object; ")

    def test_more_than_is_documented(self, service: ServiceClient, lending_service: LendingService) -> None:
        """Another member, the type in any case of letters, and a lifetime over a day make no difference."""
        answer = {"access_token": "t", "token_type": "bEARER", "expires_in": 10**9, "scope": "all"}
        lending_service.script_tokens((200, json.dumps(answer)))
        assert service.token() == "t"
        with time_machine.travel(time.time() + 86_400):
            assert service.token() == "token-number-2"


class TestFailure:
    """One line: the target, the status, what the provider says, what to check."""

    @pytest.mark.parametrize("status", [400, 401, 403])
    def test_refused_credentials(self, service: ServiceClient, lending_service: LendingService, status: int) -> None:
        """The provider's words are shown without secret and client, and the variables are named; nothing is retried."""
        said = {"error": "invalid_client", "error_description": f"no\nsuch {SECRET} of client-1"}
        lending_service.script_tokens((status, json.dumps(said)))
        line = failure(service)
        assert f"HTTP {status} " in line
        assert ": invalid_client, no such [redacted] of [redacted]; check RECONCILER_EUROPE_STAGING_CLIENT_ID" in line
        assert "https://api.example/notification" in line
        assert len(lending_service.token_requests) == 1

    @pytest.mark.parametrize("status", [300, 302, 308, 404, 405])
    def test_a_wrong_address(self, service: ServiceClient, lending_service: LendingService, status: int) -> None:
        """The error names auth_url; a redirect is not followed."""
        address = f"{lending_service.url}/tenant"
        lending_service.script_tokens((status, "", {"Location": f"{address}/oauth/token"}))
        line = failure(service)
        assert (f"check auth_url ({address})" in line, "without" in line) == (True, False)
        assert len(lending_service.token_requests) == 1

    @pytest.mark.parametrize("status", [429, 500, 503])
    def test_an_overloaded_provider(self, service: ServiceClient, lending_service: LendingService, status: int) -> None:
        """It is asked a few times, and then a person is."""
        lending_service.script_tokens(*[(status, "")] * 3)
        assert "retry later" in failure(service)
        assert len(lending_service.token_requests) == 3

    def test_a_provider_has_some_seconds_to_recover(self) -> None:
        """Each pause is longer, and all of them are short beside the time that a person waits for an apply."""
        assert ((0.5, 1.0, 2.0), sorted(PAUSES)) == (PAUSES, [*PAUSES])

    def test_a_wait(
        self, service: ServiceClient, lending_service: LendingService, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The wait that a 429 asks for is granted, within bounds."""
        waits: list[float] = []
        monkeypatch.setattr(time, "sleep", waits.append)
        monkeypatch.setattr(tokens, "PAUSES", (1.0, 1.0, 2.0))
        lending_service.script_tokens(*[(429, "", {"Retry-After": wait}) for wait in ("3", "9999", "1.5")])
        service.authorise()
        assert [seconds for seconds in waits if seconds >= 1] == [3.0, 10.0, 2.0]

    def test_no_connection(
        self, open_service: Open, serve: Callable[..., RawServer], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One that breaks or is refused is tried again, and then the address and the network are to be checked."""
        server = serve(reset)
        assert f"check auth_url ({server.url}/tenant) and the network" in failure(open_service(make_target(server.url)))
        assert len(server.requests) == 3
        monkeypatch.setattr(time, "sleep", pause := Mock())
        failure(open_service(make_target("http://127.0.0.1:1")))
        assert [(call,) for call in tokens.PAUSES] == [call.args for call in pause.call_args_list]

    def test_a_provider_that_hangs(self, open_service: Open, serve: Callable[..., RawServer]) -> None:
        """Once the time of one call has passed, nothing is repeated."""
        server = serve(wait_for_hangup)
        line = failure(open_service(make_target(server.url), timeout=0.2))
        assert "timed out after 0.2 s without an answer" in line
        assert len(server.requests) == 1
