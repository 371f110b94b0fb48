"""A probe looks at a server, and never sends a POST."""

from __future__ import annotations

import email.utils
import logging
import time
from collections.abc import Callable

import pytest
import time_machine
from support.raw_server import OK, RawServer, drip, reset, say, wait_for_hangup

from reconciler.model.plan import Health
from reconciler.service.probing import Prober, examine_server

Serve = Callable[..., RawServer]


def dated(seconds: float) -> bytes:
    """Return a response of a server whose clock is `seconds` ahead of this machine's."""
    date = email.utils.formatdate(time.time() + seconds, usegmt=True)
    return f"HTTP/1.1 405 No\r\nDate: {date}\r\nContent-Length: 0\r\n\r\n".encode()


def found(url: str, *, of_service: bool = True) -> list[tuple[str, Health]]:
    """Return the names of what is found at a server, each with its health."""
    findings = examine_server(url, of_service=of_service, timeout=0.3)
    return [(finding.message.name, finding.health) for finding in findings]


def test_a_probe_is_a_head_request(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    """Without credentials, to the root of the server: a webhook endpoint is not called. The finding is not logged."""
    server = serve(say(OK))
    with caplog.at_level(logging.DEBUG, logger="reconciler"):
        assert found(f"{server.url}/hooks/{{attempt}}?key=x", of_service=False) == [("server-reachable", Health.OK)]
    assert [] == caplog.messages
    (request,) = server.requests
    assert request.startswith(b"HEAD / HTTP/1.1\r\n")
    assert b"authorization" not in request.lower()


@pytest.mark.parametrize(
    ("ahead", "health"), [(0, Health.OK), (10, Health.OK), (-10, Health.OK), (60, Health.FAILED), (-60, Health.FAILED)]
)
def test_the_clock(serve: Serve, ahead: float, health: Health) -> None:
    """It is compared with the service's, and may differ by some seconds."""
    url = serve(say(dated(ahead))).url
    assert ("clock-right" if health is Health.OK else "clock-skewed", health) == found(url)[1]
    assert found(url, of_service=False) == [("server-reachable", Health.OK)]


@pytest.mark.parametrize(("asked", "answered", "ahead"), [
    (-60, -50, -50), (-50, 50, 0), (50, 60, 49), (0, 0, 0), (0, 1, 0), (1, 2, 0), (2, 3, 1), (60, 61, 59),
    (-2, -1, -1), (-1, 1, 0), (-60, -59, -59),
])  # fmt: skip
def test_how_far_the_clock_is_off(serve: Serve, asked: float, answered: float, ahead: float) -> None:
    """A date is a whole second, given between the question and the answer: only what is beyond these is certain."""
    with time_machine.travel(1.8e9, tick=False):
        server = serve(say(dated(0)))
    prober = Prober(5, lambda: 1.8e9 + (answered if server.requests else asked))
    assert ahead == prober.probe(server.url).ahead


@pytest.mark.parametrize("date", ["", "soon", "Mon, 99 Foo 2030 00:00:00 GMT", "+999999999999 Jan 1 24:61"])
def test_no_date(serve: Serve, date: str) -> None:
    """Then nothing is said of the clock."""
    response = f"HTTP/1.1 200 OK\r\nDate: {date}\r\nContent-Length: 0\r\n\r\n".encode()
    assert found(serve(say(response)).url) == [("server-reachable", Health.OK)]


@pytest.mark.parametrize("script", [reset, wait_for_hangup, say(b"nonsense\r\n\r\n"), drip(b"HTTP/1.1 200 OK\r\nX: ")])
def test_no_answer(serve: Serve, script: Callable[..., None]) -> None:
    """A server that does not speak HTTP, or not in time, is not reached."""
    assert found(serve(script).url) == [("server-unreachable", Health.FAILED)]


@pytest.mark.parametrize(("of_service", "field"), [(True, "base_url or auth_url"), (False, "webhookUrl")])
def test_no_server_names_the_field(of_service: bool, field: str) -> None:
    """The step says what in `config/` has the address; of that, only the server is named: the rest may be secret."""
    (finding,) = examine_server("http://127.0.0.1:1/hooks?key=x", of_service=of_service, timeout=1.0)
    assert ("http://127.0.0.1:1", True) == (finding.message.where, field in finding.message.steps[0].text)


def test_a_placeholder_is_skipped() -> None:
    """Nobody has a host that ends in .example."""
    assert found("https://hooks.partner.example/x") == [("server-placeholder", Health.SKIPPED)]
