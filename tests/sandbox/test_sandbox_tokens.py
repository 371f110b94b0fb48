"""The token endpoint, and what a token is good for."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import TYPE_CHECKING, Any

import pytest
from support.sandbox_client import STAGING, ask_token, call, create, get_token, token_request

from reconciler.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A sandbox of the four documented targets that serves."""
    with Sandbox() as one:
        yield one
    assert one.world.failures == []


def _decode(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _claims(token: str) -> dict[str, Any]:
    claims: dict[str, Any] = json.loads(_decode(token.split(".")[1]))
    return claims


def test_token_is_answered_as_documented(sandbox: Sandbox) -> None:
    """200 with access_token, token_type Bearer and expires_in 86400, and nothing else."""
    answer = ask_token(sandbox)

    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert {"access_token", "token_type", "expires_in"} == set(answer.document)
    assert (answer.document["token_type"], answer.document["expires_in"]) == ("Bearer", 86_400)


def test_token_is_a_signed_jwt(sandbox: Sandbox) -> None:
    """Three parts; HS256 under the provider's key; the registered claims say who, for what, and until when."""
    target = sandbox.world.targets[STAGING]
    token = get_token(sandbox)
    header, payload, signature = token.split(".")
    claims = _claims(token)

    assert json.loads(_decode(header)) == {"alg": "HS256", "typ": "JWT"}
    assert hmac.digest(target.provider.key, f"{header}.{payload}".encode(), hashlib.sha256) == _decode(signature)
    assert (target.provider.auth_url, target.client_id) == (claims["iss"], claims["sub"])
    assert target.audience("notification") == claims["aud"]
    assert claims["exp"] - claims["iat"] == 86_400


def test_tokens_are_never_the_same(sandbox: Sandbox) -> None:
    """Two requests give two tokens with ids of their own, and are counted."""
    first, second = get_token(sandbox), get_token(sandbox)

    assert _claims(first)["jti"] != _claims(second)["jti"]
    assert sandbox.world.requests["token", "staging"] == 2
    assert len(sandbox.world.tokens) == 2


@pytest.mark.parametrize(
    "api_name", ["onboarding", "notification", "prequalification", "loan", "preapproval", "testsupport"]
)
def test_each_api_is_an_audience(sandbox: Sandbox, api_name: str) -> None:
    """All six APIs can be asked for."""
    assert ask_token(sandbox, api_name=api_name).status == 200


@pytest.mark.parametrize("missing", ["grant_type", "client_id", "client_secret", "audience"])
@pytest.mark.parametrize("value", [None, "", 7])
def test_every_parameter_is_required(sandbox: Sandbox, missing: str, value: object) -> None:
    """A parameter that is missing, empty or no string is a 400 that names it."""
    answer = ask_token(sandbox, changes={missing: value})

    assert (answer.status, answer.document["error"]) == (400, "invalid_request")
    assert missing in answer.document["error_description"]


@pytest.mark.parametrize(
    ("changes", "status", "error"),
    [
        ({"grant_type": "password"}, 400, "unsupported_grant_type"),
        ({"client_id": "someone"}, 401, "invalid_client"),
        ({"client_secret": "wrong"}, 401, "invalid_client"),
        ({"client_secret": "\ud800"}, 401, "invalid_client"),
        ({"audience": "https://elsewhere.example/notification"}, 403, "access_denied"),
    ],
)
def test_wrong_parameters_are_oauth_errors(
    sandbox: Sandbox, changes: dict[str, object], status: int, error: str
) -> None:
    """Each mistake has the status and the code that OAuth 2.0 gives it, and no token is issued."""
    answer = ask_token(sandbox, changes=changes)

    assert (status, error) == (answer.status, answer.document["error"])
    assert sandbox.world.tokens == {}


def test_unknown_api_is_no_audience(sandbox: Sandbox) -> None:
    """An audience base with another name behind it is refused."""
    assert ask_token(sandbox, api_name="payments").status == 403


def test_credentials_of_another_environment_are_refused(sandbox: Sandbox) -> None:
    """The production provider does not know the staging client."""
    target, other = sandbox.world.targets["europe/production"], sandbox.world.targets[STAGING]
    parameters = token_request(target, client_id=other.client_id, client_secret=other.client_secret)

    assert call("POST", f"{target.provider.auth_url}/oauth/token", parameters).status == 401


def test_form_bodies_are_refused(sandbox: Sandbox) -> None:
    """The form that OAuth 2.0 usually takes is a 415 here: the service takes JSON."""
    url = f"{sandbox.world.targets[STAGING].provider.auth_url}/oauth/token"
    form = {"content-type": "application/x-www-form-urlencoded"}

    assert call("POST", url, b"grant_type=client_credentials", form).status == 415


def test_token_is_shared_by_staging_targets_only(sandbox: Sandbox) -> None:
    """A staging token is good in Europe and the USA, and worthless in production."""
    token = get_token(sandbox, "usa/staging")

    assert [
        create(sandbox, token, name=name).status
        for name in ("europe/staging", "usa/staging", "europe/production", "usa/production")
    ] == [201, 201, 401, 401]


def test_token_expires() -> None:
    """A token whose lifetime is over is a 401."""
    with Sandbox(token_lifetime=0) as sandbox:
        assert ask_token(sandbox).document["expires_in"] == 0
        assert create(sandbox).status == 401


def test_revoked_token_is_refused(sandbox: Sandbox) -> None:
    """A revoked token is a 401, another one for the same API is not."""
    token = get_token(sandbox)
    sandbox.world.revoke_token(token)
    sandbox.world.revoke_token("never issued")

    assert [create(sandbox, token).status, create(sandbox).status] == [401, 201]
