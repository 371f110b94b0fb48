"""Looking at a server, stage by stage: what is said of each that fails, and that nothing but HEAD is sent."""

from __future__ import annotations

import time
from email.utils import formatdate
from typing import TYPE_CHECKING

import pytest
from support.certificates import write_certificate
from support.raw_server import drip, reset, say, wait_for_hangup

from reconciler.service.probing import Prober, Stage

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from pathlib import Path

    from support.raw_server import RawServer, Script


def answer(*headers: str, status: str = "405 Method Not Allowed") -> Script:
    """A script that answers with a head."""
    return say("\r\n".join([f"HTTP/1.1 {status}", "Content-Length: 0", *headers, "", ""]).encode())


def dated(ahead: float) -> str:
    """A header with the time so many seconds ago."""
    return f"Date: {formatdate(time.time() - ahead, usegmt=True)}"


def test_what_an_answer_shows(serve: Callable[..., RawServer]) -> None:
    """Any status is an answer; the request is a HEAD without a body, for the URL as it is."""
    server = serve(answer(dated(0)))
    probe = Prober(5).probe(f"{server.url}/hooks/a?b=c")
    assert (False, False, None, None, 405, 0.0) == (
        probe.secure, probe.proxied, probe.problem, probe.expires_in, probe.status, probe.ahead,
    )  # fmt: skip
    (request,) = server.requests
    head, _, body = request.partition(b"\r\n\r\n")
    assert (b"HEAD /hooks/a?b=c HTTP/1.1", b"") == (head.partition(b"\r\n")[0], body)
    assert b"authorization" not in head.lower()


def test_the_clock(serve: Callable[..., RawServer]) -> None:
    """How far it is ahead is what is certain of it, given the second for which a Date stands, and the way."""
    ahead = Prober(5).probe(serve(answer(dated(180))).url).ahead
    assert ahead is not None
    assert ahead >= 179
    behind = Prober(5).probe(serve(answer(dated(-180))).url).ahead
    assert behind is not None
    assert -181 <= behind < 0


@pytest.mark.parametrize("header", ["X-No: date", "Date: yesterday", "Date: Fri, 99 Nov 99999999999 00:00:00 GMT"])
def test_no_clock(serve: Callable[..., RawServer], header: str) -> None:
    """An answer need not have a date that can be read."""
    assert Prober(5).probe(serve(answer(header)).url).ahead is None


def test_over_tls(serve: Callable[..., RawServer], tls: ssl.SSLContext, certificate: Path, trusted: None) -> None:
    """It says how long the certificate remains valid; an informational response is no answer."""
    probe = Prober(5).probe(serve(say(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No\r\n\r\n"), tls).url)
    assert (True, None, 204) == (probe.secure, probe.problem, probe.status)
    assert probe.expires_in is not None
    assert 0 < probe.expires_in <= 86_400


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch, certificate: Path) -> None:
    """The environment trusts the servers' certificate."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))


def test_a_certificate_that_is_not_accepted(
    serve: Callable[..., RawServer], tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Why is said in OpenSSL's words; nothing is sent."""
    server = serve(answer(), tls)
    probe = Prober(5).probe(server.url)
    assert probe.problem is not None
    assert (Stage.TLS, True) == (probe.problem.stage, probe.problem.certificate)
    assert "self-signed certificate" in probe.problem.what.replace("self signed", "self-signed")
    assert [] == server.requests
    expired = write_certificate(tmp_path / "expired.pem", days=-1)
    monkeypatch.setenv("SSL_CERT_FILE", str(expired))
    tls.load_cert_chain(expired)
    problem = Prober(5).probe(serve(answer(), tls).url).problem
    assert problem is not None
    assert "certificate has expired" == problem.what


@pytest.mark.parametrize(
    ("script", "stage", "words"),
    [
        (reset, Stage.ANSWER, "connection"),
        (say(b""), Stage.ANSWER, "without an answer"),
        (say(b"220 ready\r\n"), Stage.ANSWER, "not HTTP"),
        (wait_for_hangup, Stage.ANSWER, "timed out"),
        (drip(b"HTTP/1.1 200 OK\r\nX-Slow: "), Stage.ANSWER, "timed out"),
    ],
    ids=["reset", "silence", "no HTTP", "a pause", "drips"],
)
def test_no_answer(serve: Callable[..., RawServer], script: Script, stage: Stage, words: str) -> None:
    """Whatever the server does instead, it is that stage's problem, and it ends with the timeout."""
    problem = Prober(0.5).probe(serve(script).url).problem
    assert problem is not None
    assert (stage, True) == (problem.stage, words in problem.what), problem


def test_no_server_and_no_name(serve: Callable[..., RawServer]) -> None:
    """The stage that failed is named."""
    server = serve(answer())
    server.close()
    prober = Prober(5)
    problems = [prober.probe(url).problem for url in (server.url, "https://no-such-host.invalid/hooks")]
    assert [Stage.CONNECTION, Stage.DNS] == [problem and problem.stage for problem in problems]
    assert problems[0] is not None
    assert "refused" in problems[0].what


def test_no_tls(serve: Callable[..., RawServer]) -> None:
    """A server that speaks no TLS."""
    server = serve(answer())
    server.unasked = say(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    problem = Prober(5).probe(server.url.replace("http:", "https:")).problem
    assert problem is not None
    assert (Stage.TLS, False) == (problem.stage, problem.certificate)


def test_a_name_that_is_not_resolved_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name resolution has no timeout of its own."""
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: time.sleep(3))
    problem = Prober(0.1).probe("https://service.example").problem
    assert problem is not None
    assert (Stage.DNS, "timed out after 0.1 s") == (problem.stage, problem.what)


def test_through_a_proxy(serve: Callable[..., RawServer], monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy resolves the name, so it is the connection that fails; its password is not shown."""
    proxy = serve(say(b"HTTP/1.1 502 secret-of-proxy\r\n\r\n"))
    monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("://", "://user:secret-of-proxy@"))
    probe = Prober(5).probe("https://service.example/x")
    assert probe.problem is not None
    assert (True, Stage.CONNECTION) == (probe.proxied, probe.problem.stage)
    assert "502" in probe.problem.what
    assert "secret-of-proxy" not in probe.problem.what
    assert proxy.requests[0].startswith(b"CONNECT service.example:443 ")
