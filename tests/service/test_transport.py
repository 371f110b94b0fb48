"""One exchange over real sockets: what came of it, and whether anything was sent."""

from __future__ import annotations

import gc
import socket
import ssl
import threading
import time
from typing import TYPE_CHECKING
from unittest.mock import Mock

import h11
import httpcore
import httpx
import pytest
from support.ports import free_port
from support.raw_server import OK, RawServer, drip, read_request, reset, say, wait_for_hangup

from reconciler.errors import SettingsError
from reconciler.service import connections, deadline
from reconciler.service import transport as transport_module
from reconciler.service.clock import steady
from reconciler.service.connecting import Connector
from reconciler.service.exchange import BODY_LIMIT, Failure, Reply
from reconciler.service.transport import MEANINGS, Transport, always, meaning_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Serve = Callable[..., RawServer]
    Script = Callable[[socket.socket], None]


def post(transport: Transport, url: str, timeout: float = 5, may_send: Callable[[], bool] = always) -> object:
    """POST a small document to a path of `url`."""
    return transport.post(f"{url}/path", {"x-test": "1"}, b"{}", timeout=timeout, may_send=may_send)


@pytest.fixture
def let_time_pass(monkeypatch: pytest.MonkeyPatch) -> Callable[[Script], Script]:
    """Gives a script before which a minute passes for the transport: however long it took to get there."""
    passed = threading.Event()
    for module in (transport_module, connections, deadline):
        monkeypatch.setattr(module, "steady", lambda: steady() + 60 * passed.is_set())

    def wrapped(script: Script) -> Script:
        def after_a_minute(connection: socket.socket) -> None:
            passed.set()
            script(connection)

        return after_a_minute

    return wrapped


class Leave:
    """Gives leave to send, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> bool:
        self.asked += 1
        return True


class TestReply:
    """Once the status line has come there is a reply, whatever becomes of the body."""

    def test_holds_what_the_server_said(self, serve: Serve, transport: Transport) -> None:
        """Status, headers in lower case and the body come back."""
        headers = {"content-length": "2", "x-kind": "one"}
        assert Reply(200, headers, b"ok", whole=True) == post(transport, serve(say(OK)).url)

    def test_request_is_as_asked(self, serve: Serve, transport: Transport) -> None:
        """The request goes out once, over HTTP/1.1, uncompressed, on a connection that is not kept."""
        server = serve(say(OK))
        post(transport, server.url)
        (request,) = server.requests
        assert request.startswith(b"POST /path HTTP/1.1\r\n")
        assert request.endswith(b"\r\n\r\n{}")
        for header in (b"x-test: 1", b"accept-encoding: identity", b"connection: close", b"user-agent: reconciler/"):
            assert header in request.lower()

    def test_connections_are_used_once(self, serve: Serve, transport: Transport) -> None:
        """A server that would keep the connection open gets a new one for each call all the same."""

        def insist(connection: socket.socket) -> None:
            connection.sendall(OK)
            seen.append(connection.recv(10))

        seen: list[bytes] = []
        server = serve(insist)
        post(transport, server.url)
        post(transport, server.url)
        server.close()
        assert (len(server.requests), seen) == (2, [b"", b""])

    def test_leaves_no_garbage(self, serve: Serve, transport: Transport) -> None:
        """What an exchange needed is gone with it: thousands of them would be searched for again and again."""
        server = serve(say(OK))
        gc.disable()
        try:
            before = {id(one) for one in gc.get_objects()}
            post(transport, server.url)
            left = [one for one in gc.get_objects() if isinstance(one, deadline.Bounded) and id(one) not in before]
        finally:
            gc.enable()
        assert [] == left

    def test_no_cookie_is_kept(self, serve: Serve, transport: Transport) -> None:
        """A cookie set by one answer is not sent with the next call."""
        server = serve(say(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"))
        post(transport, server.url)
        post(transport, server.url)
        assert b"cookie" not in server.requests[1].lower()

    @pytest.mark.parametrize("first", [b"100 Continue", b"103 Early Hints"])
    def test_interim_responses_are_skipped(self, serve: Serve, transport: Transport, first: bytes) -> None:
        """A 100 or a 103 is not the answer; what follows it is."""
        reply = post(transport, serve(say(b"HTTP/1.1 " + first + b"\r\n\r\n" + OK)).url)
        assert isinstance(reply, Reply)
        assert reply.status == 200

    @pytest.mark.parametrize("end", [lambda connection: None, reset], ids=["closed", "reset"])
    def test_half_a_body_is_still_a_reply(self, serve: Serve, transport: Transport, end: Script) -> None:
        """A body that breaks off changes nothing about the status."""

        def script(connection: socket.socket) -> None:
            connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\nhalf")
            time.sleep(0.1)
            end(connection)

        assert Reply(201, {"content-length": "100"}, b"half", whole=False) == post(transport, serve(script).url)

    def test_the_head_is_kept_as_it_came(self, serve: Serve, transport: Transport) -> None:
        """Status line and headers, each of them, to the blank line; several values of one header are one list."""
        head = b"HTTP/1.1 201 Made it\r\nLocation: /4711\r\nSet-Cookie: a=b\r\nset-cookie: c=d\r\n"
        head += b"Content-Length: 0\r\n\r\n"
        reply = post(transport, serve(say(head)).url)
        assert isinstance(reply, Reply)
        assert (head, "a=b, c=d") == (reply.head, reply.headers["set-cookie"])

    def test_chunk_extensions_without_end(self, serve: Serve, transport: Transport) -> None:
        """What comes with the chunks is no part of the body, and is given up with the deadline."""

        def flood(connection: socket.socket) -> None:
            connection.sendall(b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                connection.sendall(b"1;" + b"e" * 60_000 + b"\r\nx\r\n")

        reply = post(transport, serve(flood).url, 1.0)
        assert isinstance(reply, Reply)
        assert (201, False, set(b"x")) == (reply.status, reply.whole, set(reply.body))

    def test_end_after_the_headers_is_still_a_reply(self, serve: Serve, transport: Transport) -> None:
        """Not one byte of the body needs to come."""
        reply = post(transport, serve(say(b"HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\n")).url)
        assert Reply(201, {"content-length": "9"}, b"", whole=False) == reply

    def test_nonsense_in_the_body_is_still_a_reply(self, serve: Serve, transport: Transport) -> None:
        """Chunks that cannot be read leave the status as it is."""
        reply = post(transport, serve(say(b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")).url)
        assert Reply(201, {"transfer-encoding": "chunked"}, b"", whole=False) == reply

    @pytest.mark.parametrize("length", [BODY_LIMIT, BODY_LIMIT + 1, 40 * BODY_LIMIT])
    def test_a_body_is_read_up_to_the_limit(self, serve: Serve, transport: Transport, length: int) -> None:
        """At most 1 MiB is kept, and a longer body is said not to be whole."""
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length
        reply = post(transport, serve(say(head, b"x" * length)).url)
        assert isinstance(reply, Reply)
        assert (BODY_LIMIT, length == BODY_LIMIT) == (len(reply.body), reply.whole)

    @pytest.mark.parametrize("location", [b"https://[bad", b"http://elsewhere.example/x", b"\xff\xfe"])
    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_redirects_are_not_followed(self, serve: Serve, transport: Transport, status: int, location: bytes) -> None:
        """A redirect is a reply like any other, even to an address that cannot be read."""
        server = serve(say(b"HTTP/1.1 %d Moved\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % (status, location)))
        reply = post(transport, server.url)
        assert isinstance(reply, Reply)
        assert (status, 1) == (reply.status, len(server.requests))

    def test_compressed_bodies_stay_as_they_are(self, serve: Serve, transport: Transport) -> None:
        """Nothing is decoded, so that nothing can fail to be."""
        reply = post(transport, serve(say(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nnot gzip")).url)
        assert Reply(200, {"content-encoding": "gzip"}, b"not gzip", whole=True) == reply


class TestNotSent:
    """Where the request did not leave, that is certain."""

    def test_refused_connection(self, transport: Transport) -> None:
        """A port nobody listens on."""
        failure = post(transport, f"http://127.0.0.1:{free_port()}")
        assert isinstance(failure, Failure)
        assert (failure.sent, "refused" in failure.reason) == (False, True)

    def test_unknown_name(self, transport: Transport) -> None:
        """A host that does not resolve."""
        failure = post(transport, "http://nonexistent.invalid")
        assert isinstance(failure, Failure)
        assert not failure.sent

    @pytest.mark.parametrize(
        "url", ["ftp://host.example", "http://host.example:port", "http://[::1", "", "http://\x01"]
    )
    def test_unusable_url(self, transport: Transport, url: str) -> None:
        """A URL that no request can be made for is a failure like others, and nothing is raised."""
        failure = post(transport, url)
        assert isinstance(failure, Failure)
        assert not failure.sent

    def test_invalid_header(self, serve: Serve, transport: Transport) -> None:
        """A header that HTTP cannot carry keeps the request from leaving, and is not shown."""
        server = serve(say(OK))
        failure = transport.post(server.url, {"authorization": "Bearer two\nlines"}, b"", timeout=5)
        assert Failure(sent=False, reason="the request is not valid HTTP") == failure

    def test_untrusted_certificate(self, serve: Serve, transport: Transport, tls: ssl.SSLContext) -> None:
        """A certificate that nobody vouches for."""
        server = serve(say(OK), tls)
        failure = post(transport, server.url)
        assert isinstance(failure, Failure)
        assert (failure.sent, "CERTIFICATE_VERIFY_FAILED" in failure.reason, server.requests) == (False, True, [])

    def test_hang_in_the_tls_handshake(self, transport: Transport) -> None:
        """A server that accepts and never answers the handshake is given up at the deadline."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            started = time.monotonic()
            failure = post(transport, f"https://127.0.0.1:{listener.getsockname()[1]}", timeout=0.4)
            assert time.monotonic() - started < 1.5
        assert isinstance(failure, Failure)
        assert not failure.sent

    def test_hang_in_name_resolution(self, transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
        """A resolver that hangs cannot hold the call beyond its deadline, and what it gives later is not used."""
        resolved, seen = threading.Event(), threading.Event()
        resolve = socket.getaddrinfo

        def stall(*args: object, **kwargs: object) -> object:
            resolved.wait(5)
            seen.set()
            return resolve(*args, **kwargs)  # type: ignore[arg-type]

        monkeypatch.setattr(socket, "getaddrinfo", stall)
        assert Failure(sent=False, reason="timed out after 0.2 s without a connection") == post(
            transport, "http://localhost:9", 0.2
        )
        resolved.set()
        assert seen.wait(5)

    def test_a_connection_that_comes_too_late_sends_nothing(
        self, serve: Serve, transport: Transport, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What the caller has given up is not sent once the resolver answers."""
        server = serve(say(OK))
        resolved, leave = threading.Event(), Leave()
        resolve = socket.getaddrinfo

        def stall(*args: object, **kwargs: object) -> object:
            resolved.wait(5)
            return resolve(*args, **kwargs)  # type: ignore[arg-type]

        monkeypatch.setattr(socket, "getaddrinfo", stall)
        failure = post(transport, server.url, 0.2, leave)
        resolved.set()
        transport.close()
        for thread in threading.enumerate():
            if thread.name == "opener":
                thread.join(5)
        assert (Failure(False, "timed out after 0.2 s without a connection"), [], 0) == (
            failure,
            server.requests,
            leave.asked,
        )

    def test_withheld(self, serve: Serve, transport: Transport) -> None:
        """Where leave is refused at the last moment, not a byte is written."""
        server = serve(say(OK))
        assert Failure(sent=False, reason="stopped before the request was sent completely") == post(
            transport, server.url, may_send=lambda: False
        )
        assert server.requests == []

    def test_a_machine_that_slept_before_the_request(
        self, serve: Serve, transport: Transport, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Past the deadline nothing is sent, even if leave was given before the machine slept."""
        late = threading.Event()
        for module in (transport_module, connections, deadline):
            monkeypatch.setattr(module, "steady", lambda: 1000.0 if late.is_set() else 0.0)

        def fall_asleep() -> bool:
            late.set()
            return True

        server = serve(say(OK))
        failure = post(transport, server.url, 5, fall_asleep)
        assert (Failure(False, "timed out after 5 s without a connection"), []) == (failure, server.requests)

    def test_leave_that_fails_is_no_leave(self, serve: Serve, transport: Transport) -> None:
        """An error while asking for leave keeps the request from being written."""

        def fail() -> bool:
            raise LookupError

        server = serve(say(OK))
        assert Failure(sent=False, reason="the request failed") == post(transport, server.url, may_send=fail)
        assert server.requests == []

    def test_no_thread_to_be_had(self, transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the system gives no more threads, the call is not sent."""

        def refuse(self: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", refuse)
        assert Failure(sent=False, reason="the call was not started") == post(transport, "http://127.0.0.1:9")


class TestUnknown:
    """Sent, and no status line: nobody knows."""

    @pytest.mark.parametrize(
        "script",
        [
            reset,
            lambda connection: None,
            say(b"HTTP/1.1 20"),
            say(b"HTTP/1.1 2000 OK\r\n\r\n"),
            say(b"<html>hello</html>\r\n\r\n"),
            say(b"HTTP/1.1 101 Switching Protocols\r\n\r\n"),
            say(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000),
            say(b"HTTP/1.1 200 OK\r\nContent-Length: 1"),
        ],
        ids=["reset", "closed", "half a status line", "four digits", "not HTTP", "101", "huge head", "half a head"],
    )
    def test_no_status_line(self, serve: Serve, transport: Transport, script: Script) -> None:
        """The request was read, and no answer came that can be understood."""
        server = serve(script)
        failure = post(transport, server.url)
        assert isinstance(failure, Failure), failure
        assert (failure.sent, len(server.requests)) == (True, 1)

    @pytest.mark.parametrize("secured", [False, True], ids=["plain", "tls"])
    @pytest.mark.parametrize(
        "script", [wait_for_hangup, drip(b"HTTP/1.1 200 OK\r\nX-Slow: ")], ids=["silence", "dripping header"]
    )
    def test_deadline(
        self, serve: Serve, script: Script, secured: bool, tls: ssl.SSLContext, certificate: Path,
        monkeypatch: pytest.MonkeyPatch, let_time_pass: Callable[[Script], Script],
    ) -> None:  # fmt: skip
        """At the deadline the call ends, however the server keeps it alive, over TLS too."""
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        server = serve(let_time_pass(script), tls if secured else None)
        with Transport() as transport:
            assert Failure(sent=True, reason="timed out after 30 s without an answer") == post(
                transport, server.url, 30
            )

    def test_interim_responses_without_end(
        self, serve: Serve, transport: Transport, let_time_pass: Callable[[Script], Script]
    ) -> None:
        """They are no answer, and keep no call alive beyond its deadline."""

        def flood(connection: socket.socket) -> None:
            while True:
                connection.sendall(b"HTTP/1.1 102 Processing\r\nX: y\r\n\r\n" * 1000)

        server = serve(let_time_pass(flood))
        assert Failure(sent=True, reason="timed out after 30 s without an answer") == post(transport, server.url, 30)

    def test_a_reset_connection_while_writing(self, serve: Serve, transport: Transport) -> None:
        """A request that is cut off half way may have been read."""
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def cut() -> None:
                connection, _ = listener.accept()
                connection.recv(10)
                reset(connection)

            thread = threading.Thread(target=cut)
            thread.start()
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            failure = transport.post(url, {}, b"x" * 30_000_000, timeout=5)
            thread.join()
        assert isinstance(failure, Failure)
        assert failure.sent


class TestDeadlineInTheBody:
    """If only the body overruns, the status line still decides."""

    @pytest.mark.parametrize("secured", [False, True], ids=["plain", "tls"])
    @pytest.mark.parametrize("length", [b"Content-Length: 100\r\n", b""], ids=["announced", "until close"])
    def test_dripping_body(
        self, serve: Serve, length: bytes, secured: bool, tls: ssl.SSLContext, certificate: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        """A body that drips is cut at the deadline and said not to be whole."""
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        server = serve(drip(b"HTTP/1.1 201 Created\r\n" + length + b"\r\n"), tls if secured else None)
        with Transport() as transport:
            started = time.monotonic()
            reply = post(transport, server.url, 0.6)
            assert time.monotonic() - started < 1.6
        assert isinstance(reply, Reply)
        assert (reply.status, reply.whole, 0 < len(reply.body) < 20) == (201, False, True)


class TestProxy:
    """A proxy's own doings are not the request."""

    @pytest.fixture
    def through(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Transport]]:
        """A transport that uses a proxy."""
        opened: list[Transport] = []

        def make(proxy: str) -> Transport:
            monkeypatch.setenv("HTTPS_PROXY", proxy)
            monkeypatch.setenv("HTTP_PROXY", proxy)
            opened.append(Transport())
            return opened[-1]

        yield make
        for transport in opened:
            transport.close()

    @pytest.mark.parametrize(
        "script",
        [
            say(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"),
            say(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"),
            say(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"),
            reset,
            say(b"nonsense\r\n\r\n"),
            say(b"HTTP/1.1 200 Connection established\r\n\r\n", b"not TLS at all"),
        ],
        ids=["403", "407", "502", "reset", "not HTTP", "no TLS behind it"],
    )
    def test_no_tunnel(self, serve: Serve, through: Callable[[str], Transport], script: Script) -> None:
        """Whatever goes wrong before the tunnel stands, nothing was sent and nothing was asked."""
        leave = Leave()
        proxy = serve(script)
        failure = post(through(proxy.url), "https://service.example", 5, leave)
        assert isinstance(failure, Failure)
        assert (
            failure.sent,
            leave.asked,
            proxy.requests[0].startswith(b"CONNECT service.example:443 "),
        ) == (False, 0, True)

    def test_silent_proxy(self, serve: Serve, through: Callable[[str], Transport]) -> None:
        """A proxy that never answers is given up at the deadline, and nothing was sent."""
        proxy = serve(wait_for_hangup)
        failure = post(through(proxy.url), "https://service.example", 0.3)
        assert Failure(sent=False, reason="timed out after 0.3 s without a connection") == failure

    def test_through_the_tunnel(
        self, serve: Serve, through: Callable[[str], Transport], tls: ssl.SSLContext, certificate: Path,
        monkeypatch: pytest.MonkeyPatch, let_time_pass: Callable[[Script], Script],
    ) -> None:  # fmt: skip
        """Behind a tunnel a call works, and one that hangs there was sent."""
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        replies = iter([say(OK), let_time_pass(wait_for_hangup)])

        def tunnel(connection: socket.socket) -> None:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with tls.wrap_socket(connection, server_side=True) as secured:
                read_request(secured)
                next(replies)(secured)

        transport = through(serve(tunnel).url)
        reply = post(transport, "https://service.example")
        assert isinstance(reply, Reply)
        assert reply.status == 200
        assert Failure(True, "timed out after 30 s without an answer") == post(transport, "https://service.example", 30)

    @pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
    @pytest.mark.parametrize(
        "host",
        ["127.0.0.1", "127.0.0.2", "127.1", "[::1]", "localhost", "LOCALHOST.", "api.localhost", "x.example"],
    )
    def test_plain_http_never_goes_through_a_proxy(
        self, serve: Serve, monkeypatch: pytest.MonkeyPatch, host: str, variable: str
    ) -> None:
        """However loopback is spelled, a proxy sees nothing of a plain request."""
        proxy = serve(say(OK))
        monkeypatch.setenv(variable, proxy.url)
        with Transport() as transport:
            assert isinstance(post(transport, f"http://{host}:9"), Failure)
        assert [] == proxy.requests

    def test_plain_http_stays_on_this_machine(self, monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
        """A name below `localhost` that leads to another machine gets nothing, since the request is not encrypted."""
        server = serve(say(OK))
        monkeypatch.setattr(transport_module, "_is_loopback", lambda _: False)
        failure = post(Transport(), server.url.replace("127.0.0.1", "localhost"))
        assert (Failure(False, "http is allowed for loopback addresses only"), []) == (
            failure,
            server.requests,
        )

    def test_a_proxy_is_quoted_without_secrets(
        self, serve: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """What a proxy says is one short line, without control characters and without the password that it was sent."""
        words = b"no \x1b[31m dXNlcjpodW50ZXIyaHVudGVyMg== hunter2hunter2 s3cret-of-client " + b"long " * 1000
        proxy = serve(say(b"HTTP/1.1 403 " + words + b"\r\nContent-Length: 0\r\n\r\n"))
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//user:hunter2hunter2@"))
        with Transport() as transport, caplog.at_level("DEBUG", "reconciler.service"):
            failure = transport.post("https://service.example", {}, b"", timeout=5, secrets=["s3cret-of-client"])
        assert isinstance(failure, Failure)
        assert failure.reason.startswith(
            "the proxy refused the connection: 403 no [31m [redacted] [redacted] [redacted] long "
        )
        assert (True, True) == (len(failure.reason) < 250, failure.reason.isprintable())
        assert "hunter2" not in caplog.text + failure.reason

    def test_a_user_name_alone_is_the_key_to_a_proxy(self, serve: Serve, through: Callable[[str], Transport]) -> None:
        """Some proxies are given a key in the place of the name, and no password."""
        proxy = serve(say(b"HTTP/1.1 407 who is k3y-of-partner azN5LW9mLXBhcnRuZXI6\r\nContent-Length: 0\r\n\r\n"))
        failure = post(through(proxy.url.replace("//", "//k3y-of-partner@")), "https://service.example")
        assert Failure(False, "the proxy refused the connection: 407 who is [redacted] [redacted]") == failure

    def test_loopback_needs_no_proxy(self, serve: Serve, through: Callable[[str], Transport]) -> None:
        """What listens on this machine is reached without one."""
        proxy = serve(reset)
        assert isinstance(post(through(proxy.url), serve(say(OK)).url), Reply)
        assert proxy.requests == []

    @pytest.mark.parametrize("proxy", ["gopher://user:hunter2@proxy.example", "http://user:hunter2@proxy.example:port"])
    def test_unusable_proxy(self, through: Callable[[str], Transport], proxy: str) -> None:
        """A proxy setting that cannot be used is a mistake in the settings, and its password is not shown."""
        with pytest.raises(SettingsError, match="HTTPS_PROXY") as caught:
            through(proxy)
        assert "hunter2" not in str(caught.value)

    @pytest.mark.parametrize(
        ("variable", "value"), [("FTP_PROXY", "[::1"), ("FTP_PROXY", "user:hunter2@["), ("NO_PROXY", "*")]
    )
    def test_settings_for_others(
        self, serve: Serve, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
    ) -> None:
        """What the environment says of proxies that are not used here cannot keep a call from being made."""
        monkeypatch.setenv(variable, value)
        server = serve(say(OK))
        with Transport() as transport:
            assert isinstance(post(transport, server.url), Reply)

    def test_unusable_certificates(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """So is a certificate file that is none."""
        (tmp_path / "ca.pem").write_text("nothing of the sort")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        with pytest.raises(SettingsError, match="SSL_CERT_FILE"):
            Transport()

    def test_usual_certificates(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the environment names no certificates, the usual authorities are trusted, and nobody else."""
        monkeypatch.delenv("SSL_CERT_DIR")
        connector = Mock(wraps=Connector)
        monkeypatch.setattr(transport_module, "Connector", connector)
        Transport().close()
        (context,) = connector.call_args.args
        assert (ssl.CERT_REQUIRED, True) == (context.verify_mode, context.check_hostname)
        assert len(context.get_ca_certs()) > 50


def exceptions_of_httpcore() -> list[type[Exception]]:
    """Every exception class that httpcore exports, those of httpx for a URL, and those of h11."""
    exported = [getattr(httpcore, name) for name in httpcore.__all__]
    kinds = [value for value in exported if isinstance(value, type) and issubclass(value, Exception)]
    return [*kinds, httpx.InvalidURL, httpx.UnsupportedProtocol, h11.LocalProtocolError, h11.RemoteProtocolError]


NOT_SENT = {
    "ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError", "LocalProtocolError", "UnsupportedProtocol",
    "InvalidURL",
}  # fmt: skip


class TestMeanings:
    """Each exception of httpcore says whether the request may have been sent."""

    @pytest.mark.parametrize("kind", exceptions_of_httpcore())
    def test_every_exception_has_one(self, kind: type[Exception]) -> None:
        """No exception of httpcore falls through to the entry for unheard-of ones."""
        nearest = next(base for base in kind.__mro__ if base in MEANINGS)
        assert nearest is not BaseException

    @pytest.mark.parametrize("kind", exceptions_of_httpcore())
    def test_only_some_say_not_sent(self, kind: type[Exception]) -> None:
        """Exactly the exceptions that come before the first byte say that nothing was sent."""
        assert (kind.__name__ in NOT_SENT) is not meaning_of(kind.__new__(kind)).maybe_sent

    def test_unheard_of_ones_may_have_been_sent(self) -> None:
        """An exception of any other kind proves nothing."""
        assert meaning_of(RuntimeError()).maybe_sent


def test_connections_close_with_the_transport(serve: Serve) -> None:
    """A closed transport sends nothing more."""
    transport = Transport()
    transport.close()
    failure = post(transport, serve(say(OK)).url)
    assert isinstance(failure, Failure)
    assert not failure.sent
