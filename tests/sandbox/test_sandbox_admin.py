"""The sandbox's own side: what can be seen and done below /_sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.sandbox_client import STAGING, WANTED, Answer, call, create, get_token, subscribe

from reconciler.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_httpserver import HTTPServer


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A sandbox that serves and retries at once."""
    with Sandbox(retry_interval=0.05) as one:
        yield one
    assert one.world.failures == []


def _post(sandbox: Sandbox, path: str, body: object) -> Answer:
    return call("POST", f"{sandbox.url}/_sandbox/{path}", body)


def test_state_shows_what_happened(sandbox: Sandbox, httpserver: HTTPServer) -> None:
    """Subscriptions, requests by endpoint and place, tokens, deliveries."""
    httpserver.expect_request("/offers").respond_with_data(status=204)
    token = get_token(sandbox)
    created = create(sandbox, token, {"eventCodes": ["ONB10011"], "webhookUrl": httpserver.url_for("/offers")}).document
    create(sandbox, token, {}, "usa/staging")
    sandbox.deliveries.trigger("ONB10011")
    assert sandbox.deliveries.wait_idle(10)
    answer = call("GET", f"{sandbox.url}/_sandbox/state")
    state = answer.document
    delivery = state["deliveries"][0]

    assert answer.status == 200
    assert state["requests"] == {"token": {"staging": 1}, "create": {"europe/staging": 1, "usa/staging": 1}}
    assert (state["tokens"], state["leads"], state["failures"]) == (1, 0, [])
    assert [(1, STAGING, created["subscriptionId"], ["ONB10011"], created["webhookUrl"], False)] == [
        tuple(one[name] for name in ("sequence", "target", "subscriptionId", "eventCodes", "webhookUrl", "removed"))
        for one in state["subscriptions"]
    ]
    assert tuple(delivery[name] for name in ("eventCode", "attempt", "status", "detail")) == (
        "ONB10011",
        1,
        204,
        "answered",
    )


def test_state_holds_no_secrets(sandbox: Sandbox) -> None:
    """Neither secret keys nor tokens nor credentials are in it."""
    token = get_token(sandbox)
    secret = create(sandbox, token).document["secretKey"]
    state = call("GET", f"{sandbox.url}/_sandbox/state").body.decode()

    assert str(WANTED["webhookUrl"]) in state
    for hidden in (token, secret, sandbox.world.targets[STAGING].client_secret):
        assert hidden not in state


def test_operator_removes_a_subscription_once(sandbox: Sandbox) -> None:
    """Removing answers 200, again 404; the log keeps the subscription, marked as removed."""
    gone, stays = subscribe(sandbox, "http://127.0.0.1:1/"), subscribe(sandbox, "http://127.0.0.1:1/")
    answer = _post(sandbox, "remove", {"subscriptionId": gone})
    state = call("GET", f"{sandbox.url}/_sandbox/state").document

    assert (200, {"removed": gone}) == (answer.status, answer.document)
    assert _post(sandbox, "remove", {"subscriptionId": gone}).status == 404
    assert _post(sandbox, "remove", {"subscriptionId": "none"}).status == 404
    assert _post(sandbox, "remove", {}).status == 400
    assert [one["removed"] for one in state["subscriptions"]] == [True, False]
    assert [stays] == [one.id for one in sandbox.world.subscriptions()]
    assert sandbox.world.subscriptions("usa/staging") == []


def test_trigger_makes_an_event_happen(sandbox: Sandbox, httpserver: HTTPServer) -> None:
    """202 and the number of deliveries; numbers go out as strings, just as they were written."""
    httpserver.expect_request("/offers").respond_with_data(status=204)
    subscribe(sandbox, httpserver.url_for("/offers"))
    body = b'{"code": "ONB10011", "properties": {"Sweep": 0.10, "Months": 12}, "target": "europe/staging", "count": 2}'
    answer = _post(sandbox, "trigger", body)
    assert sandbox.deliveries.wait_idle(10)

    assert (answer.status, answer.document) == (202, {"deliveries": 2})
    assert [request.get_json()["EventProperties"] for request, _ in httpserver.log] == [
        {"Sweep": "0.10", "Months": "12"}
    ] * 2


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"code": 7},
        {"code": "offers"},
        {"code": "ONB10011", "properties": []},
        {"code": "ONB10011", "target": 1},
        {"code": "ONB10011", "target": "asia/staging"},
        {"code": "ONB10011", "count": "2"},
        {"code": "ONB10011", "count": 0},
        {"code": "ONB10011", "propertys": {}},
    ],
)
def test_malformed_trigger_is_400(sandbox: Sandbox, body: object) -> None:
    """A mistake in the request is told, and no event happens."""
    assert _post(sandbox, "trigger", body).status == 400
    assert sandbox.world.delivery_attempts == []


def test_web_page_cannot_trigger(sandbox: Sandbox) -> None:
    """What a browser can send to another site without asking is a 415."""
    plain = {"content-type": "text/plain"}

    assert call("POST", f"{sandbox.url}/_sandbox/trigger", {"code": "ONB10011"}, plain).status == 415
