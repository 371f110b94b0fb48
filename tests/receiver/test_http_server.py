"""The socket shell: whatever is sent, there is an answer or an end, and it keeps serving."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from io import BufferedReader, BytesIO
from threading import Event, active_count, current_thread
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.notified import Answered, notification, post, talk, wait_until
from support.refusals import raised

from reconciler import http_server
from reconciler.errors import SettingsError
from reconciler.http_messages import BODY_LIMIT, Malformed, Request, Response, parse_head, read_body
from reconciler.http_server import Server

HEAD = b"POST /offers HTTP/1.1\r\nHost: a.example\r\n"
LAST = HEAD + b"Connection: close\r\n"
LAST_ONE, NEXT_ONE, REFUSED, SIZED = LAST + b"\r\n", HEAD + b"\r\n", b"\r\n" + HEAD, b"Content-Length: 9\r\n\r\n"


class Desk:
    """Keeps all requests, and answers those that can be read with 200."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.before: Callable[[], object] = lambda: None

    def handle(self, request: Request) -> Response:
        self.requests.append(request)
        self.before()
        return request.problem or Response(200)

    @property
    def bodies(self) -> list[bytes]:
        """The bodies of what could be read."""
        return [request.body for request in self.requests if request.problem is None]


@pytest.fixture
def desk() -> Desk:
    """Where requests arrive."""
    return Desk()


@pytest.fixture
def server(desk: Desk) -> Iterator[Server]:
    """A server, which must serve at the end as at the beginning."""
    threads = active_count()
    with Server(0, desk.handle) as serving:
        yield serving
        assert Answered(200, "") == post(f"{serving.url}/last", b"{}")
    assert threads >= active_count()


def wait(arrived: Event, go_on: Event) -> None:
    """Say that this was reached, and wait for leave to go on."""
    arrived.set()
    go_on.wait(10)


def statuses(answer: bytes) -> list[int]:
    """Return the status of each answer on a connection."""
    return [int(line[9:12]) for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]


# Requests as they should be.


def test_request_is_a_value(server: Server, desk: Desk) -> None:
    """Method, path with its query, headers as sent, body, none printed; a header sent twice is one list (RFC 9110)."""
    headers = {"X-Signature": " sha256=00\xa0 ", "X-A": "1", "x-a": "2", "X-B": ""}
    assert Answered(200, "") == post(f"{server.url}/a/b?c=d", notification(), headers)
    (request,) = desk.requests
    assert ("POST", "/a/b?c=d", "/a/b") == (request.method, request.target, request.path)
    named = [request.header(name) for name in ("x-signature", "x-nothing", "X-A", "x-b")]
    assert (notification(), ["sha256=00\xa0", None, "1, 2", ""]) == (request.body, named)
    assert [] == [text for text in ("sha256", "EventCode", "s3cret") if text in f"{request} {Response(200, b's3cret')}"]


def test_several_on_one_connection(server: Server, desk: Desk) -> None:
    """One after the other, sent all at once."""
    single = HEAD + b"Content-Length: 2\r\n\r\n{}"
    last = LAST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n[]"
    assert [200] * 4 == statuses(talk(server.server_port, single * 3 + last))
    assert [b"{}", b"{}", b"{}", b"[]"] == desk.bodies


def test_chunks(server: Server, desk: Desk) -> None:
    """A body in chunks, with an extension, and sizes that are hexadecimal, however they are written."""
    chunks = b'2;a="b"\r\n{"\r\nA\r\n0123456789\r\n0b\r\nabcdefghijk\r\n0\r\n\r\n'
    assert [200] == statuses(talk(server.server_port, LAST + b"Transfer-Encoding: Chunked\r\n\r\n" + chunks))
    assert [b'{"0123456789abcdefghijk'] == desk.bodies


@pytest.mark.parametrize("head", [
    HEAD + b"Connection: x\r\nConnection: close\r\nConnection: y", HEAD + b"connection: x, Close",
    HEAD + b"CONNECTION: close,x", b"POST / HTTP/1.0\r\nConnection: keep-alive",
])  # fmt: skip
def test_connection_that_is_to_end(server: Server, desk: Desk, head: bytes) -> None:
    """Every value of every header of that name counts; HTTP/1.0, which needs no host, has no next request."""
    answer = talk(server.server_port, (head + b"\r\nContent-Length: 2\r\n\r\n{}") * 2)
    assert ([200], 1) == (statuses(answer), answer.count(b"\r\nConnection: close\r\n"))


def test_expectation(server: Server, desk: Desk) -> None:
    """A client that waits for leave to send its body gets it; one whose body is too large gets the refusal."""
    expecting = LAST + b"Expect: 100-continue\r\nContent-Length: "
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=5) as client:
        client.sendall(expecting + b"2\r\n\r\n")
        assert b"HTTP/1.1 100 Continue\r\n\r\n" == client.recv(100)
        client.sendall(b"{}")
        assert client.recv(100).startswith(b"HTTP/1.1 200 ")
    assert [413] == statuses(talk(server.server_port, expecting + b"9999999\r\n\r\n"))
    chunked = LAST + b"Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    assert [100, 200] == statuses(talk(server.server_port, chunked))


def test_any_answer() -> None:
    """A refusal does not end the connection; 204 has no length; unknown statuses are sent; to HEAD, no body is."""
    answers = iter([Response(404), Response(204), Response(599, b"x", (("X-A", "\xe9"),) * 2), Response(200, b"x")])
    with Server(0, lambda _: next(answers)) as server:
        sent = talk(server.server_port, (HEAD + b"\r\n") * 2 + LAST + b"\r\n")
        headed = talk(server.server_port, LAST.replace(b"POST", b"HEAD") + b"\r\n")
    assert (True, True) == (b"\r\nContent-Length: 1\r\n" in headed, headed.endswith(b"\r\n\r\n"))
    assert ([404, 204, 599], 2, 3) == (statuses(sent), sent.count(b"\r\nContent-Length: "), sent.count(b" GMT\r\n"))
    assert b" 599 Unknown\r\nX-A: \xe9\r\nX-A: \xe9\r\nContent-Length: 1\r\n" in sent


@pytest.mark.parametrize(("value", "awaits"), [("100-Continue", True), ("else", False), ("", False)])
def test_parts_of_a_head(value: str, awaits: bool) -> None:
    """Only one expectation is known; the path ends at the first question mark; a request may be for all paths."""
    head = parse_head(["OPTIONS * HTTP/1.1", "Host: a", f"Expect: {value}"])
    assert (awaits, "*", "/a") == (head.awaits_go_ahead, head.target, Request(target="/a?b?c").path)


# Requests that two parsers could read in two ways, and those that are too large.


@pytest.mark.parametrize("head", [
    b"POST /a#b HTTP/1.1\r\nHost: a\r\n", b"POST a HTTP/1.1\r\nHost: a\r\n", b"POST http://a/b HTTP/1.1\r\nHost: a\r\n",
    b"POST /\xff HTTP/1.1\r\nHost: a\r\n", b"POST  /a HTTP/1.1\r\nHost: a\r\n", b"POST /a b HTTP/1.1\r\nHost: a\r\n",
    b"POST /a HTTP/1.1 \r\nHost: a\r\n", b"POST /a HTTP/2.0\r\nHost: a\r\n", b"POST /a\r\n",
    b"P(ST /a HTTP/1.1\r\nHost: a\r\n", b"POST /a HTTP/1.1\r\n", b"POST /a HTTP/1.1\r\nHost: a\r\nHost: b\r\n",
    b"POST /a HTTP/1.0\r\nHost: a\r\nHost: b\r\n", b"POST /a HTTP/1.1\nHost: a\n", HEAD + b"X: a\rb\r\n",
    HEAD + b"X: a\x00b\r\n", HEAD + b"X: a\r\n b\r\n", HEAD + b"X: a\r\n\tb\r\n", b"POST /a HTTP/1.1\r\n Host: a\r\n",
    HEAD + b"X : a\r\n", HEAD + b"X\r\n", HEAD + b": a\r\n", b"\x16\x03\x01\x02\x00\r\n", b"\r\n" + HEAD,
    b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n",
], ids=range(25))  # fmt: skip
def test_malformed_head(server: Server, desk: Desk, head: bytes) -> None:
    """It is a 400, and the connection ends."""
    assert [400] == statuses(talk(server.server_port, head + b"\r\n0\r\n\r\n", half_close=True))
    assert [] == desk.bodies


@pytest.mark.parametrize(("head", "body", "status"), [
    *((b"Content-Length: " + length + b"\r\n", b"{}", 400) for length in (
        b"", b"+2", b"-2", b"2 2", b"2, 2", b"0x2", b"2.0", b"\xb2", b"1" * 30
    )),
    (b"Content-Length: 2\r\nContent-Length: 3\r\n", b"{}", 400),
    (b"Content-Length: 2\r\nContent-Length: 02\r\n", b"{}", 400),
    (b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", LAST_ONE, 400),
    *((b"Transfer-Encoding: " + coding + b"\r\n", b"0\r\n\r\n", 400) for coding in (
        b"", b"gzip", b"identity", b"gzip, chunked", b"chunked, chunked", b"chunked;q=1", b"xchunked", b"\x0bx"
    )),
    (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n", 400),
    *((b"Transfer-Encoding: chunked\r\n", body, 400) for body in (
        b"\r\n", b"-1\r\n", b"0x2\r\n{}\r\n", b"2\n{}\r\n", b"2\r\n{}{}0\r\n\r\n",
        b"2;\r\r\n{}\r\n0\r\n\r\n", b"0" * 5000, b"0\r\nX: y\r\n\r\n", b"5\r\n{}", b"1" * 17 + b"\r\n",
    )),
    (b"Transfer-Encoding: chunked\r\n", b"FFFFFF\r\n", 413), (b"Content-Length: 5\r\n", b"{}", 400),
    *((b"X: " + b"y" * 70_000 + end, b"", 431) for end in (b"\n", b"\r\n")), (b"X: y\r\n" * 11_000, b"", 431),
])  # fmt: skip
def test_framing(server: Server, desk: Desk, head: bytes, body: bytes, status: int) -> None:
    """Lengths and codings that are not plain are refused; so is what is too large. No other request is read after."""
    assert [status] == statuses(talk(server.server_port, HEAD + head + b"\r\n" + body, half_close=True))
    assert [] == desk.bodies


@pytest.mark.parametrize("end", [len(HEAD), len(HEAD) - 1, len(HEAD) - 2, 5])
def test_head_that_is_cut_off(server: Server, desk: Desk, end: int) -> None:
    """It is a 400, wherever it ends."""
    assert [400] == statuses(talk(server.server_port, HEAD[:end], half_close=True))


def test_request_without_its_body(server: Server, desk: Desk) -> None:
    """What was read of it is told, though not what came of its body."""
    talk(server.server_port, HEAD + b"Content-Length: 5\r\n\r\n{}", half_close=True)
    (found,) = desk.requests
    assert ("POST", "/offers", "a.example", b"") == (found.method, found.target, found.header("host"), found.body)


@pytest.mark.parametrize("more", [0, 1])
def test_largest_body(more: int) -> None:
    """In chunks, it may be as large as one with a length."""
    first = BODY_LIMIT + more - 5
    chunks = b"%x\r\n%s\r\n5\r\nyyyyy\r\n0\r\n\r\n" % (first, b"x" * first)
    with pytest.raises(Malformed, match="larger") if more else nullcontext():
        assert len(read_body(BufferedReader(BytesIO(chunks)), None)) == BODY_LIMIT
    with pytest.raises(Malformed, match="larger") if more else nullcontext():
        assert parse_head(["GET / HTTP/1.1", "host: a", f"content-length: {BODY_LIMIT + more}"]).length == BODY_LIMIT


def test_thirty_megabytes(server: Server, desk: Desk) -> None:
    """They are refused, and the sender that sends them all the same gets the answer."""
    assert Answered(413, f"the body is larger than {BODY_LIMIT} bytes") == post(server.url, b"x" * 30_000_000)


@given(st.binary(max_size=200))
@settings(max_examples=200)
def test_any_head_is_read_or_refused(data: bytes) -> None:
    """Nothing else happens, whatever the bytes are."""
    lines = data.decode("latin-1").split("\r\n")
    with suppress(Malformed):
        assert parse_head(lines).target.startswith(("/", "*"))


def test_failing_handler() -> None:
    """A defect is a 500 without a word of it, and reported, as is an answer that cannot be sent at all."""
    failures, answers = list[Exception](), [ValueError("s3cret"), Response(200, headers=(("X-A", "\u20ac"),))]
    with Server(0, Mock(side_effect=answers), failed=failures.append) as server:
        sent = talk(server.server_port, NEXT_ONE + LAST_ONE)
        assert ([500], False) == (statuses(sent), b"s3cret" in sent)
    assert [ValueError, UnicodeEncodeError] == list(map(type, failures))


# Time and number.


class Wire:
    """A connection with its own clock: parts arrive after some seconds each, then nothing; keeps what is done to it."""

    def __init__(self, server: Server, *parts: tuple[float, bytes]) -> None:
        self.server, self.parts, self.now, self.left = server, [*parts, (1e9, b"")], 0.0, 0.0
        self.done: list[tuple[float, object]] = []
        self.setsockopt = self.close = self.makefile = lambda *_: self

    def settimeout(self, seconds: float) -> None:
        self.left = seconds

    def recv_into(self, buffer: memoryview) -> int:
        after, data = self.parts.pop(0)
        self.now += min(after, self.left)
        if after > self.left:
            self.parts.insert(0, (after - self.left, data))
            raise TimeoutError
        buffer[: len(data)] = data
        return len(data)

    def sendall(self, data: bytes) -> None:
        self.done.append((self.now, [*statuses(data), self.left]))

    def shutdown(self, how: int) -> None:
        assert current_thread() in self.server._reading
        self.done.append((self.now, how))


@pytest.mark.parametrize(("parts", "done"), [
    ([], [(30, "end")]),
    ([(29, HEAD), (29, b"\r\n"), (29, LAST_ONE)], [(58, [200, 10]), (87, [200, 10]), (87, "end")]),
    ([(0, NEXT_ONE)], [(0, [200, 10]), (30, "end")]), ([(9, b"HEAD" + LAST_ONE[4:])], [(9, [200, 10]), (9, "end")]),
    ([(0, NEXT_ONE), (29, HEAD)], [(0, [200, 10]), (59, [408, 10]), (59, socket.SHUT_WR), (64, "end")]),
    ([(0, HEAD + SIZED[:9]), (30, SIZED[9:]), *[(0, b"x")] * 9], [(30, [408, 10]), (30, socket.SHUT_WR), (35, "end")]),
    ([(9, REFUSED), *[(2, b"x")] * 9], [(9, [400, 10]), (9, socket.SHUT_WR), (14, "end")]),
    ([(0, HEAD + b"Transfer-Encoding: chunked\r\n\r\n1")], [(30, [408, 10]), (30, socket.SHUT_WR), (35, "end")]),
    ([(9, HEAD), (20, SIZED), (20, b"x" * 9)], [(39, [408, 10]), (39, socket.SHUT_WR), (44, "end")]),
    ([(9, REFUSED), (2, b"x"), (2, b"")], [(9, [400, 10]), (9, socket.SHUT_WR), (13, "end")]),
])  # fmt: skip
def test_limits_of_time(desk: Desk, monkeypatch: pytest.MonkeyPatch, parts: Any, done: Any) -> None:
    """Each request has 30 s, and as much to begin, however it trickles; a refused sender has 5 s to notice it."""
    server: Any = Server(0, desk.handle)
    wire: Any = Wire(server, *parts)
    monkeypatch.setattr(http_server, "time", SimpleNamespace(monotonic=lambda: wire.now))
    server._reading[current_thread()] = wire
    server.RequestHandlerClass(wire, None, server)
    server.server_close()
    assert (done, {}) == ([*wire.done, (wire.now, "end")], server._answering)


def test_oldest_unfinished_is_closed(desk: Desk) -> None:
    """With 64 connections open, one more closes the oldest whose request is not complete."""
    with Server(0, desk.handle) as server:
        idle = [socket.create_connection(("127.0.0.1", server.server_port), timeout=5) for _ in range(64)]
        for connection in idle:
            connection.sendall(HEAD)
        assert wait_until(lambda: len(server._reading) == 64)
        assert 200 == post(server.url, b"{}").status
        assert b"" == idle[0].recv(1) or statuses(idle[0].recv(1000)) == [400]
        idle[1].sendall(b"Content-Length: 2\r\n\r\n{}")
        assert idle[1].recv(100).startswith(b"HTTP/1.1 200 ")
        for connection in idle:
            connection.close()


def test_request_that_is_being_answered_is_not_closed(desk: Desk) -> None:
    """If all are being answered, the new connection is closed instead."""
    go_on, failures = Event(), list[Exception]()
    desk.before = lambda: go_on.wait(10)
    with ThreadPoolExecutor() as pool, Server(0, desk.handle, failed=failures.append, connections=2) as server:
        answers = [pool.submit(post, server.url, b"{}") for _ in range(2)]
        assert wait_until(lambda: len(server._answering) == 2)
        with pytest.raises(ConnectionError):
            post(server.url, b"{}")
        go_on.set()
        assert ([200, 200], []) == ([answer.result(10).status for answer in answers], failures)


def test_what_was_closed_is_not_handled(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each connection of a burst closes another one, whose request is not read any more."""
    server: Any = Server(0, desk.handle, connections=2)
    monkeypatch.setattr(http_server, "Thread", lambda **_: Mock())
    burst = [Mock(shutdown=Mock(side_effect=OSError)) for _ in range(4)]
    for connection in burst:
        server.process_request(connection, None)
    assert [1, 1, 0, 0] == [connection.shutdown.call_count for connection in burst]
    server.RequestHandlerClass(Wire(server, (0, LAST_ONE)), None, server)
    server.server_close()
    assert [] == desk.requests


# Senders that have gone, and a server that stops.


def test_sender_that_resets(desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is printed or reported, and the next one is served."""
    failures: list[Exception] = []
    with Server(0, desk.handle, failed=failures.append) as server:
        for sent in (HEAD, HEAD + b"\r\n"):
            connection = socket.create_connection(("127.0.0.1", server.server_port))
            connection.sendall(sent)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        assert 200 == post(server.url, b"{}").status
        assert wait_until(lambda: not server._answering)
    assert (("", ""), [], desk.bodies) == (capfd.readouterr(), failures, [request.body for request in desk.requests])


def test_stop_lets_requests_be_answered(desk: Desk) -> None:
    """What was read is answered; idle connections are not waited for."""
    arrived, go_on = Event(), Event()
    with ThreadPoolExecutor() as pool:
        with Server(0, desk.handle) as server:
            idle = [socket.create_connection(("127.0.0.1", server.server_port)) for _ in range(3)]
            idle[0].sendall(HEAD)
            desk.before = lambda: wait(arrived, go_on)
            answer = pool.submit(post, server.url, b"{}")
            assert arrived.wait(10)
            pool.submit(idle[1].recv, 1).add_done_callback(lambda _: go_on.set())
        assert 200 == answer.result(10).status
    for connection in idle:
        connection.close()


def test_limits_of_a_stop(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests in progress have 5 s together; then their connections are cut, and have one second more."""
    server: Any = Server(0, desk.handle)
    done, now = list[object](), [0.0]

    def join(seconds: float) -> None:
        done.append(seconds)
        now[0] += min(seconds, 3)

    monkeypatch.setattr(http_server, "time", SimpleNamespace(monotonic=lambda: now[0]))
    for group in (server._reading, server._answering, server._answering):
        group[Mock(join=join)] = Mock(shutdown=done.append)
    server.stop()
    assert [*[socket.SHUT_RD] * 3, 5, 2, 0, *[socket.SHUT_RDWR] * 3, 1, 0, 0] == done


def test_thread_that_does_not_start(server: Server, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connection is closed, and no longer counts."""
    with monkeypatch.context() as patch:
        patch.setattr(http_server, "Thread", Mock(return_value=Mock(start=Mock(side_effect=RuntimeError))))
        assert b"" == talk(server.server_port)
    assert not server._reading


def test_port_that_is_taken(server: Server) -> None:
    """It is an error that names the port, which is one of loopback: whoever wants more uses a tunnel."""
    assert "127.0.0.1" == server.socket.getsockname()[0]
    message = raised(SettingsError, Server, server.server_port, lambda _: Response(200))
    assert ("port-unusable", f"127.0.0.1:{server.server_port}") == (message.name, message.where)
    assert "port-unusable" == raised(SettingsError, Server, 70_000, lambda _: Response(200)).name
