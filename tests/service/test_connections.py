"""Connections opened ahead of the calls that use them: one for each call, and only while they are as good as new."""

from __future__ import annotations

import queue
import socket
import ssl
import threading
from functools import partial
from typing import TYPE_CHECKING

import httpcore
import pytest
from support.ports import free_port
from support.raw_server import OK, RawServer, read_request, reset, say, wait_for_hangup
from support.tls_within import Within

from reconciler.service import connecting, connections
from reconciler.service.clock import steady
from reconciler.service.connections import LONGEST_IDLE
from reconciler.service.exchange import Failure, Reply
from reconciler.service.routes import Proxy, Route, Server
from reconciler.service.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Serve = Callable[..., RawServer]
    Script = Callable[[socket.socket], None]


def post(transport: Transport, url: str, timeout: float = 5) -> Reply | Failure:
    """POST a small document."""
    return transport.post(f"{url}/path", {}, b"{}", timeout=timeout)


def said(result: Reply | Failure) -> object:
    """The status of a reply, or the whole failure."""
    return result.status if isinstance(result, Reply) else result


@pytest.fixture(params=["plain", "tls"])
def started(
    request: pytest.FixtureRequest, serve: Serve, tls: ssl.SSLContext, certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[tuple[RawServer, Transport]]:  # fmt: skip
    """A server that answers well, and a transport that trusts it, without TLS and with it."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Transport() as transport:
        yield serve(say(OK), tls if request.param == "tls" else None), transport


def test_calls_find_their_connections_open(started: tuple[RawServer, Transport]) -> None:
    """The handshakes are over before the calls are made, and each connection carries one of them.

    Over TLS the server has sent tickets by then, which are no data.
    """
    server, transport = started
    transport.expect(server.url, 3, 3, 5)
    server.wait_until(accepted=3)
    assert [200] * 3 == [said(post(transport, server.url)) for _ in range(3)]
    assert (3, 3) == (server.accepted, len(server.requests))


@pytest.mark.parametrize("unasked", [b"", OK], ids=["nothing", "an answer"])
def test_tls_within_tls(
    serve: Serve, tls: ssl.SSLContext, certificate: Path, monkeypatch: pytest.MonkeyPatch, unasked: bytes
) -> None:
    """Through the TLS of a proxy, the tickets of a server are no data either, and what it says unasked is no answer."""
    opened: queue.SimpleQueue[None] = queue.SimpleQueue()

    def tunnel(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        within = Within(connection, tls)
        if proxy.accepted <= 3:
            within.sendall(unasked)
        opened.put(None)
        if read_request(within):
            within.sendall(OK)

    proxy = serve(tunnel, tls)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    monkeypatch.setattr(connecting, "_proxy_context", partial(ssl.create_default_context, cafile=certificate))
    with Transport() as transport:
        transport.expect("https://service.example", 3, 3, 5)
        for _ in range(3):
            opened.get(timeout=20)
        assert [200] * 3 == [said(post(transport, "https://service.example")) for _ in range(3)]
    assert proxy.accepted == (6 if unasked else 3)


def test_a_connection_that_the_server_closed_is_not_used(started: tuple[RawServer, Transport]) -> None:
    """The call gets a new one, and its outcome is known."""
    server, transport = started
    server.unasked = lambda connection: None
    transport.expect(server.url, 2, 2, 5)
    server.wait_until(ended=2)
    server.unasked = None
    assert (200, 3, 1) == (said(post(transport, server.url)), server.accepted, len(server.requests))


@pytest.mark.parametrize(
    "unasked", [say(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"), say(OK), reset],
    ids=["a timeout", "an answer", "reset"],
)  # fmt: skip
def test_a_connection_on_which_something_came_is_not_used(
    started: tuple[RawServer, Transport], unasked: Script
) -> None:
    """What a server says before it is asked is no answer to anything."""
    server, transport = started
    server.unasked = unasked
    transport.expect(server.url, 2, 2, 5)
    server.wait_until(ended=2)
    server.unasked = None
    reply = post(transport, server.url)
    assert isinstance(reply, Reply)
    assert (b"ok", 1) == (reply.body, len(server.requests))


@pytest.mark.parametrize(("idle", "opened"), [(LONGEST_IDLE - 0.5, 1), (LONGEST_IDLE + 0.5, 2)])
def test_a_connection_that_is_too_old_is_not_used(
    started: tuple[RawServer, Transport], monkeypatch: pytest.MonkeyPatch, idle: float, opened: int
) -> None:
    """A server may be about to close it."""
    server, transport = started
    transport.expect(server.url, 1, 1, 5)
    server.wait_until(accepted=1)
    wait_for_openings(transport)
    monkeypatch.setattr(connections, "steady", lambda: steady() + idle)
    assert (200, opened) == (said(post(transport, server.url)), server.accepted)


def test_the_longest_idle_time_is_below_that_of_servers() -> None:
    """The shortest time that servers and load balancers usually give a client for its first request is 5 s."""
    assert LONGEST_IDLE <= 5 / 2


def wait_for_openings(transport: Transport) -> None:
    """Wait until no connection is being opened any more."""
    for ahead in list(transport._connections._ahead.values()):
        for opening in ahead.openings:
            assert opening._underway.acquire(timeout=20)
            opening._underway.release()


@pytest.mark.parametrize(("left", "at_once", "opened"), [(0, 4, 0), (1, 4, 1), (3, 4, 3), (100, 4, 4)])
def test_no_more_are_opened_than_calls_are_left(
    serve: Serve, transport: Transport, left: int, at_once: int, opened: int
) -> None:
    """At first as many as can be in flight at once; said again, it opens no more."""
    server = serve(say(OK))
    for _ in range(3):
        transport.expect(server.url, left, at_once, 5)
    server.wait_until(accepted=opened)
    wait_for_openings(transport)
    transport.forget(server.url)
    server.wait_until(ended=opened)
    assert (opened, 0) == (server.accepted, len(server.requests))


@pytest.mark.parametrize(("calls", "ahead"), [(1, 1), (2, 2), (4, 4), (9, 4)])
def test_every_call_that_finds_none_makes_it_one_more(
    serve: Serve, transport: Transport, calls: int, ahead: int
) -> None:
    """Where a handshake takes longer than a call, more than one is opened ahead for each; there is a limit."""
    server = serve(say(OK))
    transport.expect(server.url, 100, 1, 5)
    wait_for_openings(transport)
    for _ in range(calls):
        post(transport, server.url)
    transport.expect(server.url, 100, 1, 5)
    wait_for_openings(transport)
    transport.forget(server.url)
    server.wait_until(ended=calls + ahead)
    assert calls + ahead == server.accepted


def test_where_calls_are_slow_none_are_opened(
    serve: Serve, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once one got too old, opening ahead gains nothing, until calls have to wait for connections again."""
    server = serve(say(OK))
    transport.expect(server.url, 9, 3, 5)
    server.wait_until(accepted=3)
    wait_for_openings(transport)
    monkeypatch.setattr(connections, "steady", lambda: steady() + LONGEST_IDLE + 1)
    post(transport, server.url)
    transport.expect(server.url, 8, 3, 5)
    wait_for_openings(transport)
    transport.forget(server.url)
    server.wait_until(ended=5)
    assert 5 == server.accepted  # three too old, that of the call, and the one that this call has missed


def test_what_is_not_used_is_closed(started: tuple[RawServer, Transport]) -> None:
    """With the last call, and with the transport."""
    server, transport = started
    transport.expect(server.url, 2, 2, 5)
    server.wait_until(accepted=2)
    transport.forget(server.url)
    server.wait_until(ended=2)
    transport.expect(server.url, 2, 2, 5)
    server.wait_until(accepted=4)
    transport.close()
    server.wait_until(ended=4)
    assert [] == server.requests


def test_a_failure_ahead_is_not_the_failure_of_a_call(transport: Transport, serve: Serve) -> None:
    """It came before the call was made: by then the server may be there again."""
    port = free_port()
    transport.expect(f"http://127.0.0.1:{port}", 1, 1, 5)
    wait_for_openings(transport)
    with socket.create_server(("127.0.0.1", port)) as listener:
        thread = threading.Thread(target=answer_one, args=(listener,))
        thread.start()
        assert 200 == said(post(transport, f"http://127.0.0.1:{port}"))
        thread.join()


def answer_one(listener: socket.socket) -> None:
    """Accept one connection and answer one request."""
    connection, _ = listener.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(OK)


def test_a_failure_is_told_by_the_call(transport: Transport) -> None:
    """In the same words as without anything opened ahead, and nothing was sent."""
    url = f"http://127.0.0.1:{free_port()}"
    without = post(transport, url)
    transport.expect(url, 1, 1, 5)
    assert without == post(transport, url)
    assert isinstance(without, Failure)
    assert not without.sent


def test_a_handshake_that_hangs_is_told_by_the_call(transport: Transport) -> None:
    """The call waits for the connection that is being opened, and no longer than its deadline."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        transport.expect(url, 1, 1, 30)
        failure = post(transport, url, 0.3)
    assert Failure(sent=False, reason="timed out after 0.3 s without a connection") == failure


def test_a_proxy_that_hangs_is_no_connection(serve: Serve) -> None:
    """Opened ahead, that may be over before the call is: what timed out is the connection, not the call."""
    proxy = Proxy(Server(False, "127.0.0.1", serve(wait_for_hangup).port), None)
    with pytest.raises(httpcore.ConnectTimeout):
        connecting.Connector(ssl.create_default_context()).open(Route(Server(True, "service.example", 443), proxy), 0.1)


def test_a_resolver_that_hangs_is_told_by_the_call(
    transport: Transport, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it gives after the deadline is closed, and carries nothing."""
    server = serve(say(OK))
    resolved, resolve = threading.Event(), socket.getaddrinfo

    def stall(*args: object, **kwargs: object) -> object:
        resolved.wait(5)
        return resolve(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", stall)
    transport.expect(server.url, 1, 1, 5)
    failure = post(transport, server.url, 0.2)
    resolved.set()
    server.wait_until(accepted=1, ended=1)
    assert (Failure(sent=False, reason="timed out after 0.2 s without a connection"), []) == (failure, server.requests)


def test_a_url_that_leads_nowhere_opens_nothing(transport: Transport) -> None:
    """The call tells what is wrong with it."""
    transport.expect("ftp://host.example", 3, 3, 5)
    transport.forget("ftp://host.example")
    assert Failure(False, "the URL is neither http nor https") == post(transport, "ftp://host.example")


def test_without_threads_nothing_is_opened_ahead(transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system gives none, that is no error before a call is made."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    transport.expect("http://127.0.0.1:9", 3, 3, 5)
    assert Failure(sent=False, reason="the call was not started") == post(transport, "http://127.0.0.1:9")


def test_many_at_once(started: tuple[RawServer, Transport]) -> None:
    """Threads that take connections while others are opened get one each."""
    server, transport = started
    results: list[object] = []

    def call_all(count: int) -> None:
        for _ in range(count):
            results.append(said(post(transport, server.url)))
            transport.expect(server.url, 40 - len(server.requests), 4, 5)

    threads = [threading.Thread(target=partial(call_all, 10)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ([200] * 40, 40) == (results, len(server.requests))
