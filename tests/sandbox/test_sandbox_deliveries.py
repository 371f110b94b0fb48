"""Events: to whom they go, how they look, and what happens when they are not taken."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import time
from contextlib import contextmanager
from decimal import Decimal
from itertools import pairwise
from threading import Thread, active_count
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.ports import free_port
from support.sandbox_client import STAGING, subscribe
from werkzeug import Response

from reconciler.errors import Refused
from reconciler.posting import Post
from reconciler.sandbox import Sandbox, deliveries
from reconciler.sandbox.notification import notification_body

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_httpserver import HTTPServer


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A sandbox that serves and retries at once."""
    with Sandbox(retry_interval=0.05) as one:
        yield one
    assert one.world.failures == []


def _statuses(sandbox: Sandbox) -> list[tuple[int, int | None]]:
    return [(attempt.number, attempt.status) for attempt in sandbox.world.delivery_attempts]


def test_event_goes_to_each_subscription_that_has_its_code(sandbox: Sandbox, httpserver: HTTPServer) -> None:
    """Two of three subscriptions have the code; each gets the one event, and nobody else does."""
    httpserver.expect_request("/offers").respond_with_data(status=204)
    httpserver.expect_request("/everything").respond_with_data(status=200)
    subscribe(sandbox, httpserver.url_for("/offers"))
    subscribe(sandbox, httpserver.url_for("/everything"), "LOA10013", "ONB10011", name="usa/production")
    subscribe(sandbox, httpserver.url_for("/loans"), "LOA10013")

    assert sandbox.deliveries.trigger("ONB10011") == 2
    assert sandbox.deliveries.wait_idle(10)
    assert sorted(request.path for request, _ in httpserver.log) == ["/everything", "/offers"]
    assert len({request.data for request, _ in httpserver.log}) == 1


def test_event_of_one_target_goes_to_that_target(sandbox: Sandbox, httpserver: HTTPServer) -> None:
    """With a target named, the other targets' subscriptions hear nothing."""
    httpserver.expect_request("/europe").respond_with_data()
    subscribe(sandbox, httpserver.url_for("/europe"))
    subscribe(sandbox, httpserver.url_for("/usa"), name="usa/staging")

    assert sandbox.deliveries.trigger("ONB10011", target=STAGING) == 1
    assert sandbox.deliveries.wait_idle(10)
    assert [request.path for request, _ in httpserver.log] == ["/europe"]


def test_notification_is_as_documented(sandbox: Sandbox, httpserver: HTTPServer) -> None:
    """A JSON POST with the three fields, the documented properties, and every number as a string."""
    httpserver.expect_request("/offers", method="POST").respond_with_data()
    subscribe(sandbox, httpserver.url_for("/offers?tenant=7"))
    sandbox.deliveries.trigger("ONB10011")
    assert sandbox.deliveries.wait_idle(10)
    request = httpserver.log[0][0]
    document = request.get_json()

    assert (request.content_type, request.query_string) == ("application/json", b"tenant=7")
    assert list(document) == ["EventCode", "Message", "EventProperties"]
    assert (document["EventCode"], document["Message"]) == ("ONB10011", "Offers Provided")
    assert list(document["EventProperties"]) == ["LeadId", "Offers"]
    UUID(document["EventProperties"]["LeadId"])
    for offer in document["EventProperties"]["Offers"]:
        assert list(offer) == ["OfferId", "YouWillGet", "YouWillRepay", "CurrencyISOCode", "Sweep"]
        UUID(offer["OfferId"])
        assert Decimal(offer["YouWillRepay"]) > Decimal(offer["YouWillGet"]) > Decimal(offer["Sweep"])
        assert len(offer["CurrencyISOCode"]) == 3


def test_notification_is_signed_with_the_secret_of_its_subscription(sandbox: Sandbox, httpserver: HTTPServer) -> None:
    """X-Signature is the HMAC SHA-256 of the raw body under the subscription's own key."""
    httpserver.expect_request("/one").respond_with_data()
    httpserver.expect_request("/two").respond_with_data()
    for path in ("/one", "/two"):
        subscribe(sandbox, httpserver.url_for(path))
    sandbox.deliveries.trigger("ONB10011")
    assert sandbox.deliveries.wait_idle(10)
    sent = {request.path: (request.data, request.headers["X-Signature"]) for request, _ in httpserver.log}

    for commit, path in zip(sandbox.world.commits, ("/one", "/two"), strict=True):
        body, signature = sent[path]
        assert f"sha256={hmac.new(commit.secret.encode(), body, hashlib.sha256).hexdigest()}" == signature
    assert sent["/one"][1] != sent["/two"][1]


def test_properties_given_are_sent(sandbox: Sandbox, httpserver: HTTPServer) -> None:
    """Properties of any code go out as given, numbers as strings."""
    httpserver.expect_request("/loans").respond_with_data()
    subscribe(sandbox, httpserver.url_for("/loans"), "LOA10013")
    sandbox.deliveries.trigger("LOA10013", {"AgreementId": "a", "Rates": [1, 2.5], "Paid": {"Fully": True, "By": None}})
    assert sandbox.deliveries.wait_idle(10)

    assert httpserver.log[0][0].get_json() == {
        "EventCode": "LOA10013",
        "Message": "LOA10013",
        "EventProperties": {"AgreementId": "a", "Rates": ["1", "2.5"], "Paid": {"Fully": True, "By": None}},
    }


def test_codes_without_documented_properties_have_none() -> None:
    """What is not shown is not made up."""
    assert json.loads(notification_body("ONB10001"))["EventProperties"] == {}


@settings(max_examples=30, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_no_number_is_ever_sent_as_one(value: object) -> None:
    """All numeric values in notifications are strings (SERVICE.md, section 2.3)."""

    def refuse(text: str) -> None:
        pytest.fail(f"{text} was sent as a number")

    json.loads(notification_body("LOA10013", {"v": value}), parse_int=refuse, parse_float=refuse, parse_constant=refuse)


def test_failed_delivery_is_retried_until_it_is_taken(sandbox: Sandbox, httpserver: HTTPServer) -> None:
    """Two failures and a success are three deliveries of one and the same notification, an interval apart."""
    httpserver.expect_ordered_request("/offers").respond_with_data(status=500)
    httpserver.expect_ordered_request("/offers").respond_with_data(status=302, headers={"Location": "/elsewhere"})
    httpserver.expect_ordered_request("/offers").respond_with_data(status=204)
    subscribe(sandbox, httpserver.url_for("/offers"))
    sandbox.deliveries.trigger("ONB10011")
    assert sandbox.deliveries.wait_idle(10)
    attempts = sandbox.world.delivery_attempts

    assert _statuses(sandbox) == [(1, 500), (2, 302), (3, 204)]
    assert len({(request.data, request.headers["X-Signature"]) for request, _ in httpserver.log}) == 1
    assert all(later.at - earlier.at >= 0.05 for earlier, later in pairwise(attempts))


def test_failed_delivery_is_given_up_after_three_retries(sandbox: Sandbox, httpserver: HTTPServer) -> None:
    """Four attempts in all; the other subscription has its notification meanwhile."""
    httpserver.expect_request("/broken").respond_with_data(status=503)
    httpserver.expect_request("/offers").respond_with_data()
    broken = subscribe(sandbox, httpserver.url_for("/broken"))
    subscribe(sandbox, httpserver.url_for("/offers"))
    sandbox.deliveries.trigger("ONB10011")
    assert sandbox.deliveries.wait_idle(10)
    failed = [one.number for one in sandbox.world.delivery_attempts if one.subscription_id == broken]

    assert failed == [1, 2, 3, 4]
    assert len(httpserver.log) == 5


def test_endpoint_that_is_not_there_is_retried_too(sandbox: Sandbox) -> None:
    """A refused connection is a failure like any other, and is logged as what it is."""
    subscribe(sandbox, f"http://127.0.0.1:{free_port()}/offers")
    sandbox.deliveries.trigger("ONB10011")
    assert sandbox.deliveries.wait_idle(10)

    assert [(number, None) for number in (1, 2, 3, 4)] == _statuses(sandbox)
    assert {"no answer: ConnectionRefusedError"} == {one.detail for one in sandbox.world.delivery_attempts}


@contextmanager
def _endpoint(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """The URL of an endpoint that does with each connection what `serve` does."""

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                serve(connection)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=accept)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/offers"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def _read_until_closed(connection: socket.socket) -> None:
    while connection.recv(65_536):
        pass


def _trickle(connection: socket.socket) -> None:
    try:
        for _ in range(200):
            connection.sendall(b"H")
            time.sleep(0.02)
    except OSError:
        return


@pytest.mark.parametrize("serve", [_read_until_closed, _trickle])
def test_endpoint_that_takes_too_long_has_failed(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, serve: Callable[[socket.socket], None]
) -> None:
    """The time for an answer is over all of it: a byte now and then does not make it longer."""
    monkeypatch.setattr(deliveries, "ANSWER_WITHIN", 0.2)
    with _endpoint(serve) as url:
        subscribe(sandbox, url)
        started = time.monotonic()
        sandbox.deliveries.trigger("ONB10011")
        assert sandbox.deliveries.wait_idle(10)

    assert 0.8 < time.monotonic() - started < 3
    assert [one.detail for one in sandbox.world.delivery_attempts] == ["no answer within 0.2 s"] * 4


def test_nothing_leaves_the_machine(sandbox: Sandbox) -> None:
    """A webhook URL elsewhere is logged as not delivered, and not tried again."""
    subscribe(sandbox, "https://hooks.partner.example/offers")
    assert sandbox.deliveries.trigger("ONB10011") == 1
    assert sandbox.deliveries.wait_idle(10)

    assert [(one.number, one.status, one.detail) for one in sandbox.world.delivery_attempts] == [
        (1, None, "not delivered: not a loopback URL")
    ]


def test_call_that_was_cut_before_it_began_is_sent_all_the_same(httpserver: HTTPServer) -> None:
    """There is nothing to cut yet, and cutting is no error."""
    httpserver.expect_request("/offers").respond_with_data(status=204)
    post = Post(httpserver.url_for("/offers"), b"{}", [], 5)
    post.cut()

    assert post.send() == 204


def test_https_endpoint_is_called_with_tls(sandbox: Sandbox) -> None:
    """An https URL on loopback gets a TLS handshake, and no notification in the clear."""
    received: list[bytes] = []
    with _endpoint(lambda connection: received.append(connection.recv(1))) as url:
        subscribe(sandbox, url.replace("http://", "https://"))
        sandbox.deliveries.trigger("ONB10011")
        assert sandbox.deliveries.wait_idle(10)

    assert received == [b"\x16"] * 4


def test_many_events_at_once(sandbox: Sandbox, httpserver: HTTPServer) -> None:
    """A count makes as many events, each of its own, with never more than the pool's threads."""
    httpserver.expect_request("/offers").respond_with_handler(lambda _: Response(status=204))
    subscribe(sandbox, httpserver.url_for("/offers"))
    before = active_count()

    assert sandbox.deliveries.trigger("ONB10011", count=50) == 50
    assert sandbox.deliveries.wait_idle(30)
    assert len({request.data for request, _ in httpserver.log}) == 50
    assert active_count() - before <= 2 * deliveries.WORKERS


def test_removed_subscription_hears_nothing(sandbox: Sandbox) -> None:
    """Once the operator has removed it, no event goes there."""
    gone = subscribe(sandbox, "http://127.0.0.1:1/offers")

    assert sandbox.world.remove_subscription(gone)
    assert sandbox.deliveries.trigger("ONB10011") == 0
    assert sandbox.deliveries.wait_idle(0)


@pytest.mark.parametrize(
    ("code", "target", "count", "part"),
    [
        ("offers", None, 1, "three capital letters"),
        ("ONB10011", "asia/staging", 1, "does not serve this target"),
        ("ONB10011", None, 0, "invalid count 0; use 1 to 10000"),
        ("ONB10011", None, 10_001, "invalid count 10001; use 1 to 10000"),
    ],
)
def test_impossible_events_are_refused(sandbox: Sandbox, code: str, target: str | None, count: int, part: str) -> None:
    """A malformed code, an unknown target, an impossible count: an error, and no event."""
    with pytest.raises(Refused, match=part):
        sandbox.deliveries.trigger(code, target=target, count=count)


def test_closing_gives_up_what_is_on_its_way() -> None:
    """Closing cuts a call short that waits for an answer, drops the retries, and takes no new events."""
    sandbox = Sandbox(retry_interval=60)
    sandbox.start()
    with _endpoint(_read_until_closed) as url:
        subscribe(sandbox, url)
        sandbox.deliveries.trigger("ONB10011")
        assert not sandbox.deliveries.wait_idle(0.3)
        started = time.monotonic()
        sandbox.close()

        assert time.monotonic() - started < 2
    assert _statuses(sandbox) == [(1, None)]
    assert sandbox.deliveries.trigger("ONB10011") == 1
    assert len(sandbox.world.delivery_attempts) == 1
