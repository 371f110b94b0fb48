"""Asking the identity provider: what is sent, what is believed, what is repeated, and what is said when it fails."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from support.raw_server import reset, say
from support.service_fixtures import SECRET

from reconciler.errors import TokenError
from reconciler.model.desired import API_NAMES
from reconciler.service.credentials import Credentials
from reconciler.service.token_cache import TokenCache
from reconciler.service.tokens import TokenAnswer, Tokens

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path

    from support.lending_service import LendingService
    from support.raw_server import RawServer

    from reconciler.model.desired import Target
    from reconciler.service.transport import Transport

    TargetAt = Callable[..., Target]


@pytest.fixture
def target(lending_service: LendingService, target_at: TargetAt) -> Target:
    """A target of the lending service."""
    return target_at(lending_service.url)


def failure(tokens: Tokens, target: Target, credentials: Credentials) -> str:
    """The one line that a person gets to see."""
    with pytest.raises(TokenError) as caught:
        tokens.token(target, credentials, "notification")
    assert caught.value.__context__ is None
    return str(caught.value)


class TestRequest:
    """What is sent (SERVICE.md, sections 4.1 and 5)."""

    @pytest.mark.parametrize("api", API_NAMES)
    def test_is_as_documented(
        self, tokens: Tokens, target: Target, credentials: Credentials, lending_service: LendingService, api: str
    ) -> None:
        """JSON with exactly the four documented members, once."""
        assert tokens.token(target, credentials, api) == "token-number-1"
        (request,) = lending_service.token_requests
        assert (request.method, request.headers["content-type"]) == ("POST", "application/json")
        assert request.body == {
            "grant_type": "client_credentials",
            "client_id": "client-1",
            "client_secret": SECRET,
            "audience": f"https://api.example/{api}",
        }

    def test_the_api_names_are_the_documented_six(self) -> None:
        """Onboarding, Notification, Prequalification, Loan, Preapproval and Test Support."""
        assert sorted(API_NAMES) == [
            "loan", "notification", "onboarding", "preapproval", "prequalification", "testsupport",
        ]  # fmt: skip

    def test_targets_that_share_everything_share_the_token(
        self, tokens: Tokens, target_at: TargetAt, credentials: Credentials, lending_service: LendingService
    ) -> None:
        """One token for each identity provider, client and audience, whatever the target is called."""
        for name in ("europe/staging", "usa/staging"):
            tokens.token(target_at(lending_service.url, name), credentials, "notification")
        tokens.token(target_at(lending_service.url), credentials, "loan")
        tokens.token(target_at(lending_service.url), Credentials("client-2", SECRET), "loan")
        assert len(lending_service.token_requests) == 3

    def test_renewing_gives_another(
        self, tokens: Tokens, target: Target, credentials: Credentials, lending_service: LendingService
    ) -> None:
        """A refused token is replaced once, however many callers were refused with it."""
        refused = tokens.token(target, credentials, "notification")
        renewed = [tokens.renew(target, credentials, "notification", refused) for _ in range(3)]
        assert (renewed, len(lending_service.token_requests)) == (["token-number-2"] * 3, 2)


class TestAnswer:
    """What is believed of the answer (SERVICE.md, section 2.1)."""

    @pytest.mark.parametrize("kind", ["Bearer", "bearer", "BEARER"])
    def test_the_type_is_bearer(self, kind: str) -> None:
        """In any case of letters."""
        assert TokenAnswer.model_validate({"access_token": "t", "token_type": kind, "expires_in": 1}).lifetime == 1

    def test_a_day_is_the_longest_life(self) -> None:
        """A longer one is not believed."""
        assert TokenAnswer(access_token="t", token_type="Bearer", expires_in=10**9).lifetime == 86_400

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            ({"access_token": ""}, "access_token"), ({"access_token": "two words"}, "access_token"),
            ({"access_token": "line\n"}, "access_token"), ({"access_token": "t\u00f6ken"}, "access_token"),
            ({"access_token": "t" * 16_385}, "access_token"),
            ({"access_token": None}, "access_token"), ({"token_type": "mac"}, "token_type"),
            ({"token_type": "xbearer"}, "token_type"), ({"expires_in": 0}, "expires_in"),
            ({"expires_in": -1}, "expires_in"), ({"expires_in": "soon"}, "expires_in"),
            ({"expires_in": None, "token_type": None}, "expires_in, token_type"),
        ],
    )  # fmt: skip
    def test_an_unusable_one_is_an_error(
        self, tokens: Tokens, target: Target, credentials: Credentials, lending_service: LendingService,
        change: dict[str, object], named: str,
    ) -> None:  # fmt: skip
        """The error names the members that are wrong, and shows none."""
        answer = {"access_token": "value-of-token", "token_type": "Bearer", "expires_in": 60, **change}
        lending_service.answer_next_token((200, json.dumps(answer)))
        line = failure(tokens, target, credentials)
        assert line.startswith(f"europe/staging: no access token: HTTP 200 without a valid {named}; ")
        assert "value-of-token" not in line

    @pytest.mark.parametrize("body", ["", "[]", "<html>", '"token"'])
    def test_no_object_is_an_error(
        self, tokens: Tokens, target: Target, credentials: Credentials, lending_service: LendingService, body: str
    ) -> None:
        """So is anything that is no JSON object."""
        lending_service.answer_next_token((200, body))
        assert "without a valid access_token, expires_in, token_type" in failure(tokens, target, credentials)


class TestFailure:
    """One line: the target, the status, what the provider says, what to check."""

    @pytest.mark.parametrize("status", [400, 401, 403])
    def test_refused_credentials(
        self, tokens: Tokens, target: Target, credentials: Credentials, lending_service: LendingService, status: int
    ) -> None:
        """The provider's words are shown without the secret, and the variables are named; nothing is repeated."""
        said = {"error": "invalid_client", "error_description": f"no\nsuch {SECRET}"}
        lending_service.answer_next_token((status, json.dumps(said)))
        line = failure(tokens, target, credentials)
        assert f"HTTP {status}" in line
        assert ": invalid_client, no such [redacted]; check RECONCILER_EUROPE_STAGING_CLIENT_ID" in line
        assert "https://api.example/notification" in line
        assert len(lending_service.token_requests) == 1

    @pytest.mark.parametrize("status", [302, 308, 404, 405])
    def test_wrong_address(
        self, tokens: Tokens, target: Target, credentials: Credentials, lending_service: LendingService, status: int
    ) -> None:
        """What looks like a wrong address names auth_url; a redirect is not followed."""
        lending_service.answer_next_token((status, "", {"Location": f"{lending_service.auth_url}/oauth/token"}))
        assert f"check auth_url ({lending_service.auth_url})" in failure(tokens, target, credentials)
        assert len(lending_service.token_requests) == 1

    @pytest.mark.parametrize("status", [429, 500, 502, 503])
    def test_busy(
        self, tokens: Tokens, target: Target, credentials: Credentials, lending_service: LendingService, status: int
    ) -> None:
        """A provider that is busy or failing is asked a few times, and then a person is."""
        lending_service.answer_next_token(*[(status, "")] * 3)
        assert "retry later" in failure(tokens, target, credentials)
        assert len(lending_service.token_requests) == 3

    @pytest.mark.parametrize("status", [429, 503])
    def test_busy_for_a_moment(
        self, tokens: Tokens, target: Target, credentials: Credentials, lending_service: LendingService, status: int
    ) -> None:
        """One that recovers is enough."""
        lending_service.answer_next_token((status, ""))
        assert tokens.token(target, credentials, "notification") == "token-number-2"

    def test_asked_to_wait(
        self, tokens: Tokens, target: Target, credentials: Credentials, lending_service: LendingService,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        """The wait that a 429 asks for is granted, within bounds."""
        waited: list[float] = []
        monkeypatch.setattr(time, "sleep", waited.append)
        lending_service.answer_next_token((429, "", {"Retry-After": "3"}), (429, "", {"Retry-After": "9999"}))
        tokens.token(target, credentials, "notification")
        assert [seconds for seconds in waited if seconds >= 1] == [3.0, 10.0]

    def test_no_connection(
        self, transport: Transport, target_at: TargetAt, credentials: Credentials, tmp_path: Path,
        serve: Callable[..., RawServer],
    ) -> None:  # fmt: skip
        """A connection that breaks is tried again, and then the address and the network are to be checked."""
        server = serve(reset)
        tokens = Tokens(transport, TokenCache(tmp_path / "tokens"), 5, pauses=(0.01,))
        assert "and the network" in failure(tokens, target_at(server.url), credentials)
        assert len(server.requests) == 2

    def test_a_provider_that_hangs_is_asked_once(
        self, transport: Transport, target_at: TargetAt, credentials: Credentials, tmp_path: Path,
        serve: Callable[..., RawServer],
    ) -> None:  # fmt: skip
        """Once the time of one call has passed, nothing is repeated."""

        def stall(connection: socket.socket) -> None:
            connection.recv(1)

        server = serve(stall)
        tokens = Tokens(transport, TokenCache(tmp_path / "tokens"), 0.3)
        assert "timed out after 0.3 s without an answer" in failure(tokens, target_at(server.url), credentials)
        assert len(server.requests) == 1

    def test_a_page_in_place_of_a_token(
        self, tokens: Tokens, target_at: TargetAt, credentials: Credentials, serve: Callable[..., RawServer]
    ) -> None:
        """A login page with a 200 is no token."""
        server = serve(say(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>"))
        assert "without a valid access_token" in failure(tokens, target_at(server.url), credentials)


def test_the_account_is_a_hash_of_the_client() -> None:
    """It tells clients apart, depends on nothing else, and shows neither id nor secret."""
    account = Credentials("client-1", "a").account()
    assert account == Credentials("client-1", "b").account() != Credentials("client-2", "a").account()
    assert account.startswith("sha256:")
    assert len(account) == len("sha256:") + 64
    assert "a-secret" not in repr(Credentials("client-1", "a-secret"))
