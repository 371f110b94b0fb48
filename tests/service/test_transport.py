"""One exchange over real HTTP: what is sent, what is read, and whether anything left."""

from __future__ import annotations

import gc
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from unittest.mock import Mock

import httpx
import pytest
from support.kinds import of_kind
from support.raw_server import OK, RawServer, Script, drip, read_request, reset, say, wait_for_hangup

from reconciler.errors import SettingsError
from reconciler.service import transport as transport_module
from reconciler.service.transport import BODY_LIMIT, MEANINGS, Failure, Reply, Transport, meaning_of

Serve = Callable[..., RawServer]


class Asked:
    """Counts how often it is asked whether a request may be sent."""

    def __init__(self, answer: bool = True) -> None:
        self.times = 0
        self._answer = answer

    def __call__(self) -> bool:
        self.times += 1
        return self._answer


def post(
    transport: Transport, url: str, timeout: float = 5, may_send: Callable[[], bool] | None = None
) -> Reply | Failure:
    """POST a small JSON document."""
    return transport.send(
        "POST", f"{url}/path", {"content-type": "application/json"}, b"{}", timeout=timeout,
        may_send=may_send or Asked(),
    )  # fmt: skip


def finish_calls() -> None:
    """Wait until the threads of all calls have ended."""
    for thread in threading.enumerate():
        if thread.name == "exchange":
            thread.join(10)


class TestRequest:
    """The request as it leaves."""

    def test_has_the_documented_headers(self, serve: Serve, transport: Transport) -> None:
        """Identity encoding, a connection of its own, and no header that nobody asked for."""
        server = serve(say(OK))
        assert isinstance(post(transport, server.url), Reply)
        head, _, body = server.requests[0].partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        assert (first, body) == ("POST /path HTTP/1.1", b"{}")
        assert (headers["accept-encoding"], headers["connection"]) == ("identity", "close")
        assert headers["user-agent"].startswith("reconciler/")
        assert {"host", "accept", "content-length", "content-type"} == headers.keys() - {
            "accept-encoding", "connection", "user-agent",
        }  # fmt: skip

    def test_takes_the_time_it_is_given(self, transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
        """Also where that is longer than the library's own."""
        monkeypatch.setattr(transport._client, "stream", stream := Mock())
        post(transport, "http://127.0.0.1:1", 60.0)
        assert 60.0 == stream.call_args.kwargs["timeout"]

    def test_keeps_no_cookie(self, serve: Serve, transport: Transport) -> None:
        """Neither of the connection nor of the client. An answer without a body is whole."""
        server = serve(say(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Path=/\r\nContent-Length: 0\r\n\r\n"))
        assert [True] * 2 == [of_kind(Reply, post(transport, server.url)).whole for _ in range(2)]
        assert b"cookie" not in server.requests[1].lower()

    @pytest.mark.parametrize("location", ["/elsewhere", "http://[::bad", "//", "ftp://x.example", "\u00e4:"])
    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_follows_no_redirect(self, serve: Serve, transport: Transport, status: int, location: str) -> None:
        """The redirect is the reply, whatever it points to."""
        head = f"HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
        server = serve(say(head.encode()))
        reply = of_kind(Reply, post(transport, server.url))
        assert (reply.status, len(server.requests)) == (status, 1)


class TestReply:
    """The response as far as it is read."""

    def test_has_the_head_as_received(self, serve: Serve, transport: Transport) -> None:
        """Names in their case, repeated headers apart; for looking up they are one list, in lower case."""
        head = b"HTTP/1.1 201 Made It\r\nX-Kind: a\r\nx-kind: b\r\nContent-Length: 2\r\n\r\n"
        reply = of_kind(Reply, post(transport, serve(say(b"HTTP/1.1 100 Continue\r\n\r\n" + head + b"ok")).url))
        assert (head, b"ok", "a, b", True) == (reply.head, reply.body, reply.headers["x-kind"], reply.whole)

    @pytest.mark.parametrize(
        ("extra", "whole"), [(0, True), (1, False), (5_000_000, False)], ids=["just", "over", "far over"]
    )
    def test_reads_a_bounded_body(self, serve: Serve, transport: Transport, extra: int, whole: bool) -> None:
        """At most a mebibyte."""
        assert BODY_LIMIT == 1_048_576
        length = BODY_LIMIT + extra
        reply = post(
            transport, serve(say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length, b"x" * length)).url
        )
        assert isinstance(reply, Reply)
        assert (len(reply.body), reply.whole) == (BODY_LIMIT, whole)

    def test_leaves_a_compressed_body_as_it_is(self, serve: Serve, transport: Transport) -> None:
        """Nothing is inflated: a small response could fill the memory."""
        reply = of_kind(Reply, post(transport, serve(say(OK.replace(b"X-Kind: first", b"Content-Encoding: gzip"))).url))
        assert reply.body == b"ok"

    @pytest.mark.parametrize("script", [
        say(b"HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\nha"),
        say(b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nha\r\nnonsense"),
    ], ids=["closed", "bad chunk"])  # fmt: skip
    def test_of_a_cut_off_body_is_a_reply(self, serve: Serve, transport: Transport, script: Script) -> None:
        """The status line had come: it counts."""
        reply = of_kind(Reply, post(transport, serve(script).url))
        assert (201, b"ha", False) == (reply.status, reply.body, reply.whole)

    @pytest.mark.parametrize("secured", [False, True], ids=["plain", "tls"])
    @pytest.mark.parametrize("length", [b"Content-Length: 500\r\n", b""], ids=["announced", "until close"])
    def test_of_a_dripping_body_is_cut_at_the_deadline(
        self, serve: Serve, transport: Transport, tls: ssl.SSLContext, secured: bool, length: bytes
    ) -> None:
        """It is never said to be whole."""
        server = serve(drip(b"HTTP/1.1 201 Created\r\n" + length + b"\r\n"), tls if secured else None)
        reply = of_kind(Reply, post(transport, server.url, 0.5))
        assert (201, False, True) == (reply.status, reply.whole, len(reply.body) > 0)
        assert server.ended == 0


class TestNotSent:
    """Nothing left this machine."""

    @pytest.mark.parametrize(("url", "words"), [
        ("http://127.0.0.1:1", "no connection: "), ("http://name.invalid", "no connection: "),
        ("ftp://127.0.0.1", "the URL is neither http nor https"), ("http://\u0000", "the URL is invalid"),
    ])  # fmt: skip
    def test_no_connection(self, transport: Transport, url: str, words: str) -> None:
        """A refused port, a name that nobody has, and what is no URL."""
        asked = Asked()
        failure = of_kind(Failure, post(transport, url, may_send=asked))
        assert (False, 0, True) == (failure.sent, asked.times, failure.reason.startswith(words)), failure

    def test_withheld(self, serve: Serve, transport: Transport) -> None:
        """It is asked once, just before the first byte; then nothing leaves."""
        server, asked = serve(say(OK)), Asked(False)
        assert Failure(False, "stopped before the request was sent") == post(transport, server.url, may_send=asked)
        assert (1, []) == (asked.times, server.requests)

    def test_asked_too_late(self, serve: Serve, transport: Transport) -> None:
        """Leave that comes after the deadline is none, and nobody waits for it: the call was reported as not sent."""
        server, release = serve(say(OK)), threading.Event()
        failure = post(transport, server.url, 0.1, lambda: release.wait(5))
        assert Failure(False, "timed out after 0.1 s without a connection") == failure
        assert {True} == {thread.daemon for thread in threading.enumerate() if thread.name == "exchange"}
        release.set()
        finish_calls()
        server.close()
        assert server.requests == []

    def test_a_dripping_handshake(self, transport: Transport) -> None:
        """So does TLS that drips, and the thread with it."""
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def trickle() -> None:
                connection, _ = listener.accept()
                with connection, pytest.raises(OSError):  # noqa: PT011 - whichever
                    drip(b"\x16\x03\x03\x40\x00")(connection)
                ended.set()

            ended = threading.Event()
            threading.Thread(target=trickle, daemon=True).start()
            failure = post(transport, f"https://127.0.0.1:{listener.getsockname()[1]}", 0.2)
            assert Failure(False, "timed out after 0.2 s without a connection") == failure
            assert ended.wait(5)

    def test_a_certificate_of_nobody(self, serve: Serve, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
        """An authority that SSL_CERT_FILE does not name is not trusted."""
        monkeypatch.delenv("SSL_CERT_FILE")
        server, transport = serve(say(OK), tls), Transport()
        failure = post(transport, server.url)
        transport.close()
        assert isinstance(failure, Failure)
        assert (False, []) == (failure.sent, server.requests)
        assert "certificate verify failed" in failure.reason

    def test_plain_http_stays_on_this_machine(
        self, serve: Serve, transport: Transport, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A name that leads to another machine gets nothing, since the request is not encrypted."""
        server = serve(say(OK))
        monkeypatch.setattr(transport_module, "ip_address", lambda _: type("Elsewhere", (), {"is_loopback": False}))
        failure = post(transport, server.url, may_send=(asked := Asked()))
        assert Failure(False, "no connection: http is allowed for loopback addresses only") == failure
        assert ([], 0) == (server.requests, asked.times)

    def test_no_thread_to_be_had(self, transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
        """If the system allows no more threads, the call is not sent."""
        monkeypatch.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError("can't start new thread")))
        failure = of_kind(Failure, post(transport, "http://127.0.0.1:9"))
        assert not failure.sent

    @pytest.mark.parametrize(("seconds", "sent"), [(50, 1), (60, 0)])
    def test_a_machine_that_slept_just_before_it_sent(
        self, serve: Serve, transport: Transport, monkeypatch: pytest.MonkeyPatch, seconds: int, sent: int
    ) -> None:
        """If its time has passed since it was asked whether to send, nothing leaves."""
        server, slept = serve(say(OK)), threading.Event()
        monkeypatch.setattr(transport_module, "steady", lambda: time.monotonic() + seconds * slept.is_set())
        result = post(transport, server.url, 60, lambda: not slept.set())  # type: ignore[func-returns-value]
        assert (sent, isinstance(result, Reply)) == (len(server.requests), bool(sent))
        assert sent or Failure(False, "timed out after 60 s without a connection") == result

    def test_an_interrupt_of_the_caller(self, serve: Serve, transport: Transport) -> None:
        """A caller that is interrupted while it waits leaves no call that is sent later."""
        server, release, waits = serve(say(OK)), threading.Event(), list[float | None]()

        class Interrupting(threading.Event):
            def wait(self, timeout: float | None = None) -> bool:
                waits.append(timeout)
                raise KeyboardInterrupt

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(transport_module, "Event", Interrupting)
            with pytest.raises(KeyboardInterrupt):
                post(transport, server.url, may_send=lambda: release.wait(5))
        release.set()
        finish_calls()
        server.close()
        assert (server.requests, waits) == ([], [1.0])

    @pytest.mark.parametrize(("peer", "is_local"), [
        ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("fe80::1%eth0", False), ("192.0.2.1", False),
    ])  # fmt: skip
    def test_what_this_machine_is(self, peer: str, is_local: bool) -> None:
        """All loopback addresses. A connection that is made too late is closed; a body that ends then is not whole."""
        exchange, stream = transport_module._Exchange("POST", 5, transport_module.always), Mock()
        connection = stream.get_extra_info.return_value
        connection.getpeername.return_value = (peer, 9)
        exchange._connected(stream)
        assert (is_local, connection.dup.return_value) == (exchange._is_local, exchange._socket)
        exchange._end()
        with pytest.raises(transport_module.Withheld):
            exchange._connected(stream)
        assert [True, True] == [each.close.called for each in (connection, connection.dup.return_value)]
        exchange.perform(nullcontext(Mock(iter_raw=list)))
        assert not exchange._is_whole

    def test_an_invalid_header(self, serve: Serve, transport: Transport) -> None:
        """It is not quoted: it may be a secret. Nor is one that a system error names."""
        server, url = serve(say(OK)), "s3cret-0815.example"
        failure = transport.send("POST", server.url, {"authorization": "s3cret\n0815"}, timeout=5)
        assert (Failure(False, "the request is not valid HTTP"), []) == (failure, server.requests)
        fail = Mock(side_effect=httpx.ConnectError(f"no route to {url}"))
        failure = transport.send("POST", server.url, timeout=5, may_send=fail, secrets=["s3cret-0815"])
        assert Failure(False, "no connection: no route to [redacted].example") == failure

    def test_a_log_names_the_place(self, transport: Transport, caplog: pytest.LogCaptureFixture) -> None:
        """Without the user and the query, which may be secret."""
        with caplog.at_level(logging.DEBUG, logger="reconciler"):
            for end in ("?key=s3cret#s3cret", "#s3cret"):
                transport.send("POST", f"http://user:s3cret@127.0.0.1:1/path{end}", timeout=5)
        assert ["POST 127.0.0.1:1/path"] * 2 == [line.partition(": ")[0] for line in caplog.messages]


class TestUnknown:
    """Sent, and no status line: nobody knows."""

    @pytest.mark.parametrize("script", [
        reset, lambda connection: None, say(b"HTTP/1.1 20"), say(b"HTTP/1.1 2000 OK\r\n\r\n"),
        say(b"<html>hello</html>\r\n\r\n"), say(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000),
        say(b"HTTP/1.1 200 OK\r\nContent-Length: 1"),
    ], ids=["reset", "closed", "half a status line", "four digits", "no HTTP", "huge head", "half a head"])  # fmt: skip
    def test_no_status_line(self, serve: Serve, transport: Transport, script: Script) -> None:
        """The request was read, and no response came that can be understood."""
        server = serve(script)
        failure = of_kind(Failure, post(transport, server.url))
        assert (failure.sent, len(server.requests)) == (True, 1)

    @pytest.mark.parametrize("secured", [False, True], ids=["plain", "tls"])
    @pytest.mark.parametrize(
        "script", [wait_for_hangup, drip(b"HTTP/1.1 200 OK\r\nX-Slow: ")], ids=["silence", "dripping header"]
    )
    def test_deadline(
        self, serve: Serve, transport: Transport, tls: ssl.SSLContext, script: Script, secured: bool
    ) -> None:
        """At the deadline the call ends, however the server keeps it alive."""
        server = serve(script, tls if secured else None)
        assert Failure(True, "timed out after 0.5 s without an answer") == post(transport, server.url, 0.5)
        assert server.ended == 0 or script is wait_for_hangup

    @pytest.mark.parametrize("script", [wait_for_hangup, drip(b"HTTP/1.1 200 OK\r\nX-Slow: ")])
    def test_a_thread_ends_with_its_call(self, serve: Serve, transport: Transport, script: Script) -> None:
        """Nothing is left behind of a call that timed out: neither thread nor socket."""
        server = serve(script)
        threads: dict[str, threading.Thread] = {}
        post(transport, server.url, 0.1, lambda: bool(threads.setdefault("", threading.current_thread())))
        finish_calls()
        assert [("exchange", False)] == [(thread.name, thread.is_alive()) for thread in threads.values()]
        gc.collect()  # a socket that was not closed would warn, which fails the test


class TestProxy:
    """A failure of a proxy comes before the request."""

    @pytest.fixture
    def through(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Transport]:
        """Return a transport that uses a proxy."""

        def make(proxy: str) -> Transport:
            monkeypatch.setenv("HTTPS_PROXY", proxy)
            monkeypatch.setenv("HTTP_PROXY", proxy)
            return Transport()

        return make

    @pytest.mark.parametrize("script", [
        say(b"HTTP/1.1 403 no s3cret here\r\nContent-Length: 0\r\n\r\n"),
        say(b"HTTP/1.1 599 Odd\r\nContent-Length: 0\r\n\r\n"), reset, say(b"nonsense\r\n\r\n"),
        say(b"HTTP/1.1 200 Connection established\r\n\r\n", b"not TLS at all"),
    ], ids=["403", "599", "reset", "not HTTP", "no TLS behind it"])  # fmt: skip
    def test_no_tunnel(self, serve: Serve, through: Callable[[str], Transport], script: Script) -> None:
        """Whatever goes wrong before the tunnel stands, nothing was sent and nobody was asked."""
        asked, proxy = Asked(), serve(script)
        failure = of_kind(
            Failure, post(through(proxy.url.replace("//", "//user:s3cret@")), "https://service.example", 5, asked)
        )
        assert (False, 0, False) == (failure.sent, asked.times, "s3cret" in failure.reason)
        assert proxy.requests[0].startswith(b"CONNECT service.example:443 ")
        assert b"authorization: Bearer" not in proxy.requests[0]

    def test_a_refusal_names_the_status(self, serve: Serve, through: Callable[[str], Transport]) -> None:
        """In the words of the standard, not of the proxy."""
        proxy = serve(say(b"HTTP/1.1 407 who are you\r\nContent-Length: 0\r\n\r\n"))
        failure = post(through(proxy.url), "https://service.example")
        assert Failure(False, "the proxy refused the connection: 407 Proxy Authentication Required") == failure

    def test_the_tunnel(self, serve: Serve, through: Callable[[str], Transport], tls: ssl.SSLContext) -> None:
        """Behind a tunnel a call works, is asked for once, and one that hangs there was sent."""
        scripts: list[Script] = [say(OK), wait_for_hangup]

        def tunnel(connection: socket.socket) -> None:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with tls.wrap_socket(connection, server_side=True) as secured:
                read_request(secured)
                scripts.pop(0)(secured)

        transport, asked = through(serve(tunnel).url), Asked()
        assert isinstance(post(transport, "https://service.example", may_send=asked), Reply)
        assert asked.times == 1
        assert Failure(True, "timed out after 0.5 s without an answer") == post(
            transport, "https://service.example", 0.5
        )

    @pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
    @pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost", "x.invalid"])
    def test_plain_http_goes_through_none(
        self, serve: Serve, monkeypatch: pytest.MonkeyPatch, host: str, variable: str
    ) -> None:
        """A proxy would read the bearer."""
        proxy = serve(say(OK))
        monkeypatch.setenv(variable, proxy.url)
        assert isinstance(post(Transport(), f"http://{host}:9"), Failure)
        assert proxy.requests == []

    @pytest.mark.parametrize("proxy", [
        f"{scheme}://user:hunter2{end}" for scheme, end in (
            ("gopher", "@proxy.example"), ("http", "/@proxy.example"), ("socks5", "@proxy.example"))
    ])  # fmt: skip
    def test_an_unusable_proxy(self, through: Callable[[str], Transport], proxy: str) -> None:
        """It is a mistake in the settings, and its password is not shown."""
        with pytest.raises(SettingsError) as caught:
            through(proxy)
        assert caught.value.messages[0].name == "unusable-network-settings"
        assert "hunter2" not in str(caught.value)

    def test_unusable_certificates(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """So is a certificate file that is none."""
        monkeypatch.setenv("SSL_CERT_FILE", __file__)
        with pytest.raises(SettingsError, match="SSL_CERT_FILE"):
            Transport()


def exceptions_of_httpx() -> list[type[Exception]]:
    """Return every exception class that httpx exports."""
    exported = [getattr(httpx, name) for name in httpx.__all__ if hasattr(httpx, name)]
    return [value for value in exported if isinstance(value, type) and issubclass(value, Exception)]


NOT_SENT = {
    "ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError", "LocalProtocolError", "UnsupportedProtocol",
    "InvalidURL",
}  # fmt: skip


@pytest.mark.parametrize("kind", exceptions_of_httpx())
def test_every_exception_has_a_meaning(kind: type[Exception]) -> None:
    """None falls through to the entry for unheard-of ones, and exactly those before the first byte say "not sent"."""
    assert next(base for base in kind.__mro__ if base in MEANINGS) is not BaseException
    assert (kind.__name__ in NOT_SENT) is not meaning_of(kind.__new__(kind)).maybe_sent


def test_an_unheard_of_exception_proves_nothing() -> None:
    """The request may have been sent."""
    assert meaning_of(RuntimeError()).maybe_sent
