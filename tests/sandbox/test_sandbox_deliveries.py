"""Events: to whom they go, what they look like, and what happens when they are not taken."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from threading import Thread
from unittest.mock import Mock
from uuid import UUID

import pytest
from pytest_httpserver import HTTPServer
from support.notified import wait_until
from support.sandbox_client import STAGING, call

from reconciler.http_messages import Request
from reconciler.sandbox import Sandbox, notification_sender
from reconciler.sandbox.endpoints import Service
from reconciler.sandbox.events import Attempted, Subscription, notification_body
from reconciler.sandbox.faults import FaultPlan
from reconciler.sandbox.layout import lay_out
from reconciler.sandbox.notification_sender import NotificationSender
from reconciler.sandbox.world import World


def subscribe(sandbox: Sandbox, url: str, *codes: str, target: str = STAGING) -> Subscription:
    """Create a subscription without HTTP."""
    return sandbox.world.create(target, codes or ("ONB10011",), url)


def trigger(sandbox: Sandbox, code: str = "ONB10011", **options: object) -> int:
    """Trigger an event, and wait until all deliveries are done; returns how many there were."""
    answer = call("POST", f"{sandbox.url}/_sandbox/trigger", {"code": code, **options})
    before = time.monotonic()  # who waits is told at once
    assert (202, True, True) == (answer.status, sandbox.wait_idle(10), time.monotonic() < before + 10)
    return int(answer.document["deliveries"])


def triggered(clock: Callable[[], float] = lambda: 0.0, url: str = "http://127.0.0.1/a") -> World:
    """Return the state of a sandbox with one delivery that is due."""
    world = World(lay_out("http://s", [STAGING], {}, bytes), FaultPlan({}), clock=clock)
    world.create(STAGING, ("LOA10013", "ONB10011"), url)
    world.trigger("ONB10011", [b"{}"], None)
    return world


def statuses(sandbox: Sandbox) -> list[tuple[int, int | None]]:
    """Return number and status of each attempt, as the sandbox's state has them."""
    state = call("GET", f"{sandbox.url}/_sandbox/state").document
    return [(attempt["number"], attempt["status"]) for attempt in state["deliveries"]]


def test_event_goes_to_each_subscription_with_its_code(sandbox: Sandbox, httpserver: HTTPServer) -> None:
    """Two of three subscriptions have the code; each gets the event, and nobody else does."""
    httpserver.expect_request("/offers").respond_with_data(status=204)
    httpserver.expect_request("/everything").respond_with_data(status=200)
    subscribe(sandbox, httpserver.url_for("/offers"))
    subscribe(sandbox, httpserver.url_for("/everything"), "LOA10013", "ONB10011", target="usa/production")
    subscribe(sandbox, httpserver.url_for("/loans"), "LOA10013")
    assert 2 == trigger(sandbox)
    assert ["/everything", "/offers"] == sorted(request.path for request, _ in httpserver.log)


def test_event_of_one_target(sandbox: Sandbox, httpserver: HTTPServer) -> None:
    """With a target, the other targets' subscriptions get nothing; a removed one neither."""
    httpserver.expect_request("/europe").respond_with_data()
    subscribe(sandbox, httpserver.url_for("/europe"))
    for other in ("usa/staging", f"{STAGING}-2"):
        subscribe(sandbox, httpserver.url_for("/other"), target=other)
    sandbox.world.remove(subscribe(sandbox, httpserver.url_for("/gone")).id)
    assert 3 == trigger(sandbox, target=STAGING, count=3)
    assert ["/europe"] * 3 == [request.path for request, _ in httpserver.log]


def test_notification_is_as_documented(sandbox: Sandbox, httpserver: HTTPServer) -> None:
    """A JSON POST with the three fields, the documented properties, and every number as a string."""
    httpserver.expect_request("/offers", method="POST").respond_with_data()
    created = subscribe(sandbox, httpserver.url_for("/offers?tenant=7"))
    trigger(sandbox)
    request = httpserver.log[0][0]
    document = request.get_json()
    assert ("application/json", created.url) == (request.content_type, request.url)
    assert ("ONB10011", "Offers Provided") == (document["EventCode"], document["Message"])
    lead, offers = (document["EventProperties"][name] for name in ("LeadId", "Offers"))
    assert 4 == len({UUID(lead), *(UUID(offer["OfferId"]) for offer in offers)})
    for offer in offers:
        assert {"OfferId", "YouWillGet", "YouWillRepay", "CurrencyISOCode", "Sweep"} == set(offer)
        assert "EUR" == offer["CurrencyISOCode"]
        assert Decimal(offer["YouWillRepay"]) > Decimal(offer["YouWillGet"])
    signature = hmac.new(created.secret.encode(), request.data, hashlib.sha256).hexdigest()
    assert f"sha256={signature}" == request.headers["X-Signature"]


def test_properties_are_sent_as_given(sandbox: Sandbox, httpserver: HTTPServer) -> None:
    """Numbers become strings as they are written; nothing else changes, also not in the URL if it is ASCII."""
    httpserver.expect_request("/").respond_with_data()
    for end in ("", "?a=%2F~%zz#b", "?ü"):
        subscribe(sandbox, httpserver.url_for("/")[:-1] + end, "LOA10013")
    properties = b'{"Rates": [1, 2.50, 1e400], "Paid": {"Fully": true, "By": null}}'
    body = b'{"code": "LOA10013", "properties": ' + properties + b"}"
    assert 202 == call("POST", f"{sandbox.url}/_sandbox/trigger", body).status
    assert sandbox.wait_idle(10)
    expected = {"Rates": ["1", "2.50", "1e400"], "Paid": {"Fully": True, "By": None}}
    assert [expected] * 3 == [request.get_json()["EventProperties"] for request, _ in httpserver.log]
    assert {"/", "/?a=%2F~%zz", "/?%C3%BC"} == {request.environ["RAW_URI"] for request, _ in httpserver.log}


@pytest.mark.parametrize("code", ["ONB10011", "LOA10013"])
@pytest.mark.parametrize("properties", [None, {}, {"A": "b"}])
def test_what_is_not_documented_is_not_made_up(code: str, properties: dict[str, object] | None) -> None:
    """Only an offer without given properties has those of a sample, and only an offer has a message of its own."""
    document = json.loads(notification_body(code, properties))
    sample = code == "ONB10011" and properties is None
    found = {"LeadId", "Offers"} if sample else {*(properties or {})}
    assert sample is (json.loads(notification_body(code, properties)) != document)
    assert found == {*document.pop("EventProperties")}
    assert document == {"EventCode": code, "Message": "Offers Provided" if code == "ONB10011" else code}


def test_events_of_one_trigger_differ(sandbox: Sandbox, httpserver: HTTPServer) -> None:
    """Each is an event of its own, unless its properties are given, and goes to equal subscriptions too."""
    httpserver.expect_request("/offers").respond_with_data()
    for _ in range(2):
        subscribe(sandbox, httpserver.url_for("/offers"))
    assert 6 == trigger(sandbox, count=3)
    assert 3 == len({request.data for request, _ in httpserver.log})
    for properties in ({"A": "b"}, {}):
        assert 4 == trigger(sandbox, count=2, properties=properties)
    assert 5 == len({request.data for request, _ in httpserver.log})


def test_failed_delivery_is_retried(sandbox: Sandbox, httpserver: HTTPServer) -> None:
    """Two failures and a success are three deliveries of one notification; redirects are not followed."""
    httpserver.expect_ordered_request("/offers").respond_with_data(status=500)
    httpserver.expect_ordered_request("/offers").respond_with_data(status=302, headers={"Location": "/elsewhere"})
    httpserver.expect_ordered_request("/offers").respond_with_data(status=204)
    subscribe(sandbox, httpserver.url_for("/offers"))
    trigger(sandbox)
    assert [(1, 500), (2, 302), (3, 204)] == statuses(sandbox)
    assert 1 == len({(request.data, request.headers["X-Signature"]) for request, _ in httpserver.log})
    first, second, _ = sandbox.world.attempted
    assert second.at - first.at >= 0.05


@pytest.mark.parametrize(
    ("problem", "told"), [(None, ": ConnectionRefusedError"), (TimeoutError, " within 5 s"), (OSError, ": OSError")]
)
def test_delivery_is_given_up_after_three_retries(
    sandbox: Sandbox, problem: type[OSError] | None, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An endpoint that is not there, or takes too long, gets four attempts, and each says why it failed."""
    if problem is not None:
        monkeypatch.setattr(sandbox._sender, "_post", Mock(side_effect=problem))
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/offers"
    subscribe(sandbox, url)
    trigger(sandbox)
    assert [(number, None) for number in (1, 2, 3, 4)] == statuses(sandbox)
    assert {f"no answer{told}"} == {attempt.detail for attempt in sandbox.world.attempted}


HEADS = [
    b"HTTP/1.1 200 OK\r\n" + each + b"\r\n\r\n" for each in (b"Content-Length: 100000", b"Transfer-Encoding: chunked")
]
UNENDED = [(head + start, 200) for head in HEADS for start in (b"", b"cut o", b"x" * 70_000)]


@pytest.mark.parametrize("then", [None, b"", b"x"])
@pytest.mark.parametrize(
    ("answer", "status"), [*UNENDED, (b"", None), (b"HTTP/1.1 2", None), (b"nonsense\r\n\r\n", None)], ids=range(9)
)
def test_answer_without_its_end(
    sandbox: Sandbox, answer: bytes, status: int | None, then: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A status that came in time counts, whether the body ends, stops or drips; half of one and nonsense do not."""
    monkeypatch.setattr(notification_sender, "ANSWER_WITHIN", 0.1)
    monkeypatch.setattr("reconciler.sandbox.world.ATTEMPTS", 1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        subscribe(sandbox, f"http://127.0.0.1:{listener.getsockname()[1]}/offers")
        assert 202 == call("POST", f"{sandbox.url}/_sandbox/trigger", {"code": "ONB10011"}).status
        connection, _ = listener.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(answer)
            if then is None:
                connection.close()
            while not sandbox.wait_idle(0.02):
                with suppress(OSError):
                    connection.sendall(then or b"")
    assert [(1, status)] == statuses(sandbox)


def test_an_endpoint_that_hangs_delays_no_other(sandbox: Sandbox, httpserver: HTTPServer) -> None:
    """What it is sent is still on its way when the others have answered, also to what is sent later."""
    httpserver.expect_request("/offers").respond_with_data()
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        subscribe(sandbox, f"http://127.0.0.1:{hanging.getsockname()[1]}/offers")
        subscribe(sandbox, httpserver.url_for("/offers"))
        assert 2 == sandbox.world.trigger("ONB10011", [b"{}"], None)
        assert wait_until(lambda: len(sandbox.world.attempted) > 0)
        sandbox.world.trigger("ONB10011", [b"{}"], None)
        assert wait_until(lambda: len(sandbox.world.attempted) > 1)
        assert [(1, 200)] * 2 == statuses(sandbox)


@pytest.mark.parametrize("url", [
    "https://hooks.partner.example/a", "http://192.0.2.1/a", "https://127.0.0.1:1/a", "http://127.0.0.1:1@192.0.2.1/a",
])  # fmt: skip
def test_only_loopback_is_called(sandbox: Sandbox, url: str) -> None:
    """A sandbox sends nothing to other machines; that is logged, and final."""
    subscribe(sandbox, url)
    trigger(sandbox)
    assert [(1, None)] == statuses(sandbox)


def test_retries_are_an_interval_apart() -> None:
    """By the clock of the state machine: 15 seconds, three times."""
    now = 0.0
    world = triggered(lambda: now)
    times = []
    while world.unfinished:
        for delivery, to in world.take_due():
            times.append((now, delivery.number))
            world.settle(delivery, to, 500, "answered", final=False)
        now += world.seconds_left() or 0
    assert [(0, 1), (15, 2), (30, 3), (45, 4)] == times


def test_a_new_delivery_does_not_wait_for_a_repeated_one() -> None:
    """What is due first is taken first, though a subscription is to be created later."""
    world = triggered()
    world.late_seconds = 60.0
    world.create_later(STAGING, (), "", "")
    for number in range(2):
        ((delivery, to),) = world.take_due()
        world.retry_interval = 15.0 + number
        world.settle(delivery, to, 500, "answered", final=False)
        assert (number + 1, 15.0) == (len(world.unfinished), world.seconds_left())
        world.trigger("ONB10011", [b"{}"], None)


def test_largest_event() -> None:
    """Of 10,000 deliveries, the state has each, whatever the query."""
    service, headers = Service(world := triggered(), "http://s"), (("Content-Type", "application/json"),)
    event = b'{"code": "LOA10013", "count": 10000}'
    assert 202 == service.handle(Request("POST", "/_sandbox/trigger", headers, event)).status
    for delivery, to in world.take_due():
        world.settle(delivery, to, 200, "answered", final=False)
    state = json.loads(service.handle(Request("GET", "/_sandbox/state?all")).body)
    assert 10_001 == len(state["deliveries"])


def test_event_just_before_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is delivered though nothing else happens."""
    world = triggered(url="https://a.example/")
    sender = NotificationSender(world)

    def look() -> None:
        another = Thread(target=world.trigger, args=("ONB10011", [b"{}"] * (len(world.attempted) < 2), None))
        another.start()
        another.join(0.05)

    monkeypatch.setattr(world, "seconds_left", look)
    sender.start()
    delivered = wait_until(lambda: len(world.attempted) > 1)
    sender.close()
    assert delivered


def test_an_answer_that_comes_while_the_sandbox_stops_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next sandbox does not deliver the notification again."""
    world = triggered()
    sender = NotificationSender(world)

    def answer(*_: object) -> int:
        sender.close()
        return 299

    monkeypatch.setattr(sender, "_post", answer)
    delivery, to = world.take_due()[0]
    sender._deliver(delivery, to)
    what = delivery.id, to.id, STAGING, "ONB10011", "http://127.0.0.1/a"
    assert ([Attempted(*what, 0.0, 1, 299, "answered", None)], {}) == (world.attempted, world.unfinished)


def test_nothing_is_sent_once_the_sandbox_stops(httpserver: HTTPServer) -> None:
    """Not even what was about to be sent; it remains to be delivered."""
    world = triggered(url=httpserver.url_for("/offers"))
    sender = NotificationSender(world)
    sender.close()
    sender._deliver(*world.take_due()[0])
    assert ([], [], 1) == (httpserver.log, world.attempted, len(world.unfinished))


def test_delivery_that_is_cut_off_is_attempted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sandbox stops at once, though an endpoint may take its time; the attempt does not count."""
    monkeypatch.setattr(notification_sender, "ANSWER_WITHIN", 3600.0)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with Sandbox(directory=tmp_path) as first:
            subscribe(first, f"http://127.0.0.1:{listener.getsockname()[1]}/offers")
            first.world.trigger("ONB10011", [b"{}"], None)
            connection, _ = listener.accept()
        assert not any(thread.is_alive() for thread in first._sender._pool._threads)
        connection.close()
        with Sandbox(directory=tmp_path) as second:
            again, _ = listener.accept()
            with again:
                again.recv(65_536)
                again.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            assert second.wait_idle(10)
            assert [(1, 200)] == statuses(second)
