"""The socket shell: whatever is sent, there is an answer or an end, and it keeps serving."""

from __future__ import annotations

import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Timer, active_count
from typing import TYPE_CHECKING

import pytest
from support.notified import Answered, notification, post, talk

from reconciler.errors import SettingsError
from reconciler.receiver.bodies import BODY_LIMIT
from reconciler.receiver.exchange import Request, Response
from reconciler.receiver.pace import PacedSocket, TooSlow
from reconciler.receiver.shell import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEAD = b"POST /offers HTTP/1.1\r\nHost: a.example\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"


class Desk:
    """What is behind the shell in these tests: takes what can be read, and keeps all."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.status = 200
        self.before: Callable[[], object] = lambda: None

    def handle(self, request: Request) -> Response:
        self.requests.append(request)
        self.before()
        return request.problem or Response(self.status)

    @property
    def bodies(self) -> list[bytes]:
        """The bodies of what could be read."""
        return [one.body for one in self.requests if one.problem is None]


@pytest.fixture
def desk() -> Desk:
    """Where requests arrive."""
    return Desk()


@pytest.fixture
def server(desk: Desk) -> Iterator[Server]:
    """A server, which must be as fit at the end as at the beginning."""
    threads = active_count()
    with Server(0, desk.handle) as one:
        yield one
        assert Answered(200, "") == post(f"{one.url}/last", b"{}")
    assert threads >= active_count()


@pytest.fixture
def hasty(desk: Desk) -> Iterator[Server]:
    """A server with little patience."""
    with Server(0, desk.handle, patience=0.6) as one:
        yield one


def meet(arrived: Event, go_on: Event) -> None:
    """Tell that this was reached, and wait to be told to go on."""
    arrived.set()
    go_on.wait(10)


def statuses(answer: bytes) -> list[int]:
    """The status of each answer on a connection."""
    return [int(line[9:12]) for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]


class TestWhole:
    """Requests as they should be."""

    def test_request_as_a_value(self, server: Server, desk: Desk) -> None:
        """Method, path with its query, headers with their names as sent, body."""
        assert Answered(200, "") == post(f"{server.url}/a/b?c=d", notification(), {"X-Signature": " sha256=00 "})
        (request,) = desk.requests
        assert ("POST", "/a/b?c=d", notification()) == (request.method, request.target, request.body)
        assert ("sha256=00", None) == (request.headers["X-Signature"], request.header("x-nothing"))

    def test_headers_that_come_twice(self, server: Server, desk: Desk) -> None:
        """Are one list, as RFC 9110 says."""
        talk(server.server_port, HEAD + b"X-A: 1\r\nx-a: 2\r\nConnection: close\r\n\r\n")
        assert desk.requests[0].headers["X-A"] == "1, 2"

    def test_one_after_the_other(self, server: Server, desk: Desk) -> None:
        """On one connection, and all at once."""
        one = HEAD + b"Content-Length: 2\r\n\r\n{}"
        last = HEAD + b"Content-Length: 2\r\nConnection: close\r\n\r\n[]"
        assert [200] * 4 == statuses(talk(server.server_port, one * 3 + last))
        assert [b"{}"] * 3 + [b"[]"] == desk.bodies

    def test_chunks(self, server: Server, desk: Desk) -> None:
        """Are put together; extensions and trailers are passed over."""
        chunks = b'3;a="b"\r\n{"a\r\nA \r\n": 1234567\r\n1\r\n}\r\n0\r\nX-Trailer: 1\r\n\r\n'
        assert [200] == statuses(talk(server.server_port, CHUNKED + chunks))
        assert [b'{"a": 1234567}'] == desk.bodies

    def test_half_closed(self, server: Server, desk: Desk) -> None:
        """A sender that has said all it will say is answered."""
        assert [200] == statuses(talk(server.server_port, HEAD + b"Content-Length: 2\r\n\r\n{}", half_close=True))

    def test_go_ahead(self, server: Server, desk: Desk) -> None:
        """Is given before a body that will be read."""
        head = HEAD + b"Content-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
        assert [100, 200] == statuses(talk(server.server_port, head, b"{}", pause=0.1))

    def test_no_go_ahead(self, server: Server, desk: Desk) -> None:
        """For one that will not."""
        head = HEAD + b"Content-Length: 2000000\r\nExpect: 100-continue\r\n\r\n"
        assert [413] == statuses(talk(server.server_port, head, half_close=True))

    @pytest.mark.parametrize(("status", "length"), [(204, 0), (202, 1)])
    def test_answers_without_contents(self, server: Server, desk: Desk, status: int, length: int) -> None:
        """204 has no length to tell."""
        desk.status = status
        answer = talk(server.server_port, HEAD + b"Connection: close\r\n\r\n")
        assert ([status], length) == (statuses(answer), answer.count(b"Content-Length: 0\r\n"))
        desk.status = 200

    def test_head_has_no_body(self, server: Server, desk: Desk) -> None:
        """What is refused to HEAD is refused without words."""
        answer = talk(server.server_port, b"HEAD / HTTP/1.1\r\nContent-Length: x\r\n\r\n", half_close=True)
        assert ([400], b"") == (statuses(answer), answer.partition(b"\r\n\r\n")[2])

    def test_a_body_of_the_greatest_size(self, server: Server, desk: Desk) -> None:
        """Is read whole."""
        assert post(server.url, b"x" * BODY_LIMIT).status == 200
        assert [BODY_LIMIT] == [len(body) for body in desk.bodies]


class TestRefused:
    """Requests that are not read to their end."""

    @pytest.mark.parametrize(
        ("head", "body", "status"),
        [
            (b"Content-Length: 1048577\r\n", b"", 413),
            (b"Content-Length: 99999999999999999999\r\n", b"", 400),
            (b"Name : v\r\nContent-Length: 2\r\n", b"{}", 400),
            (b"no header\r\nContent-Length: 2\r\n", b"{}", 400),
            (b"Content-Length: -1\r\n", b"", 400),
            (b"Content-Length: +1\r\n", b"", 400),
            (b"Content-Length: \xb2\r\n", b"", 400),
            (b"Content-Length: 1\r\nContent-Length: 2\r\n", b"{}", 400),
            (b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", b"{}", 400),
            (b"Transfer-Encoding: gzip, chunked\r\n", b"", 501),
            (b"Transfer-Encoding: chunked\r\n", b"x\r\n", 400),
            (b"Transfer-Encoding: chunked\r\n", b"\r\n", 400),
            (b"Transfer-Encoding: chunked\r\n", b"2\r\n{}{}\r\n0\r\n\r\n", 400),
            (b"Transfer-Encoding: chunked\r\n", b"FFFFFF\r\n", 413),
            (b"Transfer-Encoding: chunked\r\n", b"0" * 5000, 400),
            (b"Transfer-Encoding: chunked\r\n", b"0\r\n" + b"a: b\r\n" * 100, 400),
            (b"Transfer-Encoding: chunked\r\n", b"5\r\n{}", 400),
            (b"Content-Length: 5\r\n", b"{}", 400),
            (b"X: y\r\n" * 200, b"", 431),
            (b"X: " + b"y" * 60_000 + b"\r\nZ: " + b"y" * 60_000 + b"\r\n", b"", 431),
        ],
        ids=range(20),
    )
    def test_is_answered(self, server: Server, desk: Desk, head: bytes, body: bytes, status: int) -> None:
        """With what is wrong, and the connection ends."""
        assert [status] == statuses(talk(server.server_port, HEAD + head + b"\r\n" + body, half_close=True))
        assert ([], "POST") == (desk.bodies, desk.requests[0].method)

    def test_equal_lengths_are_one(self, server: Server, desk: Desk) -> None:
        """Said twice, it is the same."""
        head = b"Content-Length: 2\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
        assert [200] == statuses(talk(server.server_port, HEAD + head + b"{}"))

    @pytest.mark.parametrize(
        "raw", [b"\x16\x03\x01\x02\x00\r\n\r\n", b"hello\r\n\r\n", b"BREW / HTTP/1.1\r\n\r\n", b"GET /\r\n"]
    )
    def test_what_is_no_request(self, server: Server, desk: Desk, raw: bytes) -> None:
        """TLS, a greeting, another method, a very old client: none of them harms."""
        talk(server.server_port, raw, half_close=True)
        assert len(desk.requests) == 1

    def test_a_request_line_without_end(self, server: Server, desk: Desk) -> None:
        """Is too long."""
        assert [414] == statuses(talk(server.server_port, b"POST /" + b"x" * 70_000, half_close=True))

    def test_what_came_before_is_not_told_again(self, server: Server, desk: Desk) -> None:
        """A request that is none has no headers, whatever the one before it had."""
        talk(server.server_port, HEAD + b"X-Signature: 1\r\n\r\n" + b"nonsense\r\n", half_close=True)
        assert [True, False] == ["X-Signature" in one.headers for one in desk.requests]

    def test_30_megabytes(self, server: Server, desk: Desk) -> None:
        """Are turned away, and the sender that sends them all the same gets the answer."""
        assert Answered(413, "the body is larger than 1048576 bytes") == post(server.url, b"x" * 30_000_000)

    def test_30_megabytes_in_chunks(self, server: Server, desk: Desk) -> None:
        """As are those that did not say so."""
        chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
        assert [413] == statuses(talk(server.server_port, CHUNKED + chunk * 480))


class TestSlow:
    """Senders that take their time; the server's is 0.6 seconds here."""

    @pytest.mark.parametrize(
        "sent", [HEAD, HEAD + b"Content-Length: 20\r\n\r\n", CHUNKED, CHUNKED + b"1", b"P"], ids=range(5)
    )
    def test_is_a_408(self, hasty: Server, desk: Desk, sent: bytes) -> None:
        """Wherever it stops."""
        begun = time.monotonic()
        assert [408] == statuses(talk(hasty.server_port, sent))
        assert 0.5 < time.monotonic() - begun < 10
        assert "the request was incomplete after 0.6 seconds" in str(desk.requests[0].problem)

    def test_a_trickle_gets_no_more_time(self, hasty: Server, desk: Desk) -> None:
        """The time is for all of it."""
        trickle = [HEAD + b"Content-Length: 5000\r\n\r\n", *[b"x"] * 12]
        assert [408] == statuses(talk(hasty.server_port, *trickle, pause=0.1))

    def test_time_that_is_over_is_over(self) -> None:
        """Even where there is something to read."""
        ours, theirs = socket.socketpair()
        with ours, theirs, PacedSocket(ours) as paced:
            theirs.sendall(b"xy")
            paced.allow(10)
            assert paced.read(1) == b"x"
            paced.allow(0)
            with pytest.raises(TooSlow):
                paced.read(1)

    def test_who_says_nothing_hears_nothing(self, hasty: Server, desk: Desk) -> None:
        """There was no request."""
        assert (b"", []) == (talk(hasty.server_port), desk.requests)

    def test_the_others_do_not_wait(self, server: Server, desk: Desk) -> None:
        """One for each of many slow ones."""
        slow = [socket.create_connection(("127.0.0.1", server.server_port)) for _ in range(50)]
        try:
            for one in slow:
                one.sendall(HEAD)
            begun = time.monotonic()
            assert post(server.url, b"{}").status == 200
            assert time.monotonic() - begun < 5
        finally:
            for one in slow:
                one.close()


class TestGone:
    """Senders that have gone."""

    def test_with_a_reset(self, server: Server, desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
        """While the answer was made: nobody is told."""
        arrived, go_on = Event(), Event()
        desk.before = lambda: meet(arrived, go_on)
        connection = socket.create_connection(("127.0.0.1", server.server_port))
        connection.sendall(HEAD + b"\r\n")
        assert arrived.wait(10)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        go_on.set()
        desk.before = lambda: None
        assert ("", "") == capfd.readouterr()

    def test_before_it_said_anything(self, server: Server, desk: Desk) -> None:
        """As port scanners do."""
        talk(server.server_port, half_close=True)
        assert [] == desk.requests


class TestEnd:
    """The server stops."""

    def test_lets_what_is_here_be_answered(self, desk: Desk) -> None:
        """What has arrived is confirmed."""
        arrived, go_on = Event(), Event()
        desk.before = lambda: meet(arrived, go_on)
        with ThreadPoolExecutor() as pool:
            with Server(0, desk.handle) as server:
                answer = pool.submit(post, server.url, b"{}")
                assert arrived.wait(10)
                Timer(0.2, go_on.set).start()
            assert answer.result(10).status == 200

    def test_waits_for_nobody_else(self, desk: Desk) -> None:
        """Connections that are idle, or in the middle of something, are ended."""
        threads = active_count()
        with Server(0, desk.handle) as server:
            idle = [socket.create_connection(("127.0.0.1", server.server_port)) for _ in range(3)]
            idle[0].sendall(HEAD)
            idle[1].sendall(HEAD + b"Content-Length: 5\r\n\r\n")
            assert post(server.url, b"{}").status == 200
            begun = time.monotonic()
        assert time.monotonic() - begun < 4
        assert threads >= active_count()
        for one in idle:
            one.close()

    def test_gives_up_on_what_does_not_end(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        """After some seconds."""
        monkeypatch.setattr("reconciler.receiver.shell._FAREWELL", 0.1)
        arrived, go_on = Event(), Event()
        desk.before = lambda: meet(arrived, go_on)
        with ThreadPoolExecutor() as pool:
            with Server(0, desk.handle) as server:
                answer = pool.submit(post, server.url, b"{}")
                assert arrived.wait(10)
                begun = time.monotonic()
            assert time.monotonic() - begun < 8
            go_on.set()
            assert isinstance(answer.exception(10), OSError)

    def test_a_port_that_is_taken(self, server: Server) -> None:
        """Is an error that names it."""
        with pytest.raises(SettingsError, match=f"^127.0.0.1:{server.server_port}: cannot listen on this port"):
            Server(server.server_port, lambda _: Response(200))

    def test_only_loopback_is_bound(self, server: Server) -> None:
        """Whoever wants more uses a tunnel."""
        assert ("127.0.0.1", f"http://127.0.0.1:{server.server_port}") == (server.socket.getsockname()[0], server.url)


def test_there_is_no_thread_to_be_had(server: Server, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """That connection is dropped; the next is served."""

    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as scarce:
        scarce.setattr("reconciler.loopback.Thread.start", refuse)
        assert b"" == talk(server.server_port)
