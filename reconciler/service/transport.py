"""Performs one HTTP exchange and reports whether the request can have reached the server.

An exchange returns a `Reply` or a `Failure`; no exception of httpx leaves this module. Only this module imports httpx,
so that a fork with the same API can replace it.

httpx has a timeout for each phase of a call, but none for name resolution, and a response that arrives one byte at a
time never exceeds those timeouts. So a daemon thread performs the exchange, and the caller waits for it until the
deadline. Then the exchange is over: an unsent request is never sent, and the socket of a sent request is shut down,
which ends the thread too. The `trace` extension reports when the socket is connected, and when the first byte is about
to leave.
"""

from __future__ import annotations

import logging
import socket
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from ipaddress import ip_address
from os import environ
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx

from reconciler import __version__
from reconciler.errors import Message, SettingsError, step
from reconciler.service.clock import steady
from reconciler.service.redaction import excerpt
from reconciler.values import Discreet

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Collection, Mapping

logger = logging.getLogger("reconciler.service")

# At DEBUG these libraries log every header they receive, including cookies and echoed tokens.
for _library in ("httpcore", "httpx"):
    logging.getLogger(_library).setLevel(logging.WARNING)

BODY_LIMIT = 1 << 20  # bytes of a response body that are read

_TICK = 1.0  # seconds between checks of the steady clock: the clock of `Event.wait` stops while the machine sleeps
_HEADERS = {
    "accept": "*/*",
    "user-agent": f"reconciler/{__version__}",
    "accept-encoding": "identity",
    "connection": "close",
}


class Reply(Discreet, frozen=True):
    """A response whose status line and headers arrived; its body may be incomplete.

    Header names are in lower case. `head` is the status line and the headers as received, including the blank line.
    `body` is the part of the body that arrived, at most BODY_LIMIT bytes. `whole` is true if this is the entire body.
    """

    unprinted = ("headers", "body", "head")

    status: int
    headers: Mapping[str, str]
    head: bytes = b""
    body: bytes = b""
    whole: bool = True


class Failure(NamedTuple):
    """The result of an exchange in which no status line arrived.

    If `sent` is false, nothing was sent; otherwise the outcome is unknown.
    """

    sent: bool
    reason: str


class Withheld(Exception):
    """Raised to stop a request before it is sent."""


class Meaning(NamedTuple):
    """The meaning of an exception. `words` describe it; `maybe_sent` is true if the request may have been sent."""

    maybe_sent: bool
    words: str


# An exception before the first byte always means that nothing was sent.
MEANINGS: Mapping[type[BaseException], Meaning] = {
    httpx.ConnectError: Meaning(False, "no connection"),
    httpx.ConnectTimeout: Meaning(False, "connection timed out"),
    httpx.PoolTimeout: Meaning(False, "timed out waiting for a free connection"),
    httpx.ProxyError: Meaning(False, "the proxy refused the connection"),
    httpx.LocalProtocolError: Meaning(False, "the request is not valid HTTP"),
    httpx.UnsupportedProtocol: Meaning(False, "the URL is neither http nor https"),
    httpx.InvalidURL: Meaning(False, "the URL is invalid"),
    httpx.ReadTimeout: Meaning(True, "read timed out"),
    httpx.ReadError: Meaning(True, "connection closed before the answer"),
    httpx.WriteTimeout: Meaning(True, "write timed out"),
    httpx.WriteError: Meaning(True, "connection lost while sending the request"),
    httpx.RemoteProtocolError: Meaning(True, "the connection was closed without an answer, or the answer was not HTTP"),
    httpx.HTTPError: Meaning(True, "HTTP error"),
    httpx.StreamError: Meaning(True, "the response could not be read"),
    httpx.CookieConflict: Meaning(True, "HTTP error"),
    Withheld: Meaning(False, "stopped before the request was sent"),
    BaseException: Meaning(True, "the request failed"),
}
"""The meanings of exceptions that are raised after the first byte was sent. The most specific class applies."""


def meaning_of(problem: BaseException) -> Meaning:
    """Return the entry of MEANINGS for the most specific class of `problem`."""
    return next(MEANINGS[kind] for kind in type(problem).__mro__ if kind in MEANINGS)


def always() -> bool:
    """Return True. Calls that change nothing, or that a person starts, are always allowed."""
    return True


@lru_cache(maxsize=4)
def _trusted(file: str | None, directory: str | None) -> ssl.SSLContext:  # noqa: ARG001 - httpx reads them itself
    """Return a TLS context for SSL_CERT_FILE and SSL_CERT_DIR. It is cached, because loading it takes 15 ms."""
    return httpx.create_ssl_context()


class Transport:
    """Sends requests from any number of threads, each on a new connection.

    It follows no redirect, keeps no cookie and retries nothing. Proxies set in the environment are used only for
    https: plain http is allowed only to loopback addresses, and a proxy could read the credentials.
    """

    def __init__(self) -> None:
        """Raise SettingsError if the environment's proxy or certificate settings are unusable."""
        problem = ""
        try:
            self._client = httpx.Client(
                verify=_trusted(environ.get("SSL_CERT_FILE"), environ.get("SSL_CERT_DIR")),
                mounts={"http://": None},
                headers=_HEADERS,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                limits=httpx.Limits(max_connections=None),
                follow_redirects=False,
                event_hooks={"response": [_note_head]},
            )
        except (httpx.InvalidURL, ValueError, OSError, ImportError) as unusable:
            problem = type(unusable).__name__
        if problem:  # outside of the handler and without the exception's text: a proxy URL may contain a password
            what = f"the proxy or certificate settings of the environment are unusable ({problem})"
            names = "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
            raise SettingsError(Message("unusable-network-settings", what, steps=(step(f"check {names}"),)))

    def close(self) -> None:
        """Close the client; later calls send nothing."""
        self._client.close()

    def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        content: bytes = b"",
        *,
        timeout: float,
        may_send: Callable[[], bool] = always,
        secrets: Collection[str] = (),
    ) -> Reply | Failure:
        """Send one request and return its result after at most `timeout` seconds. Raises nothing.

        Another thread calls `may_send` just before it sends the first byte, and sends nothing if the call returns false
        or raises. The reason for a failure contains none of `secrets`.
        """
        started = steady()
        exchange = _Exchange(method, timeout, may_send)
        extensions = {"trace": exchange.trace, "exchange": exchange}

        def perform() -> None:
            exchange.perform(
                self._client.stream(
                    method, url, headers=headers, content=content, timeout=timeout, extensions=extensions
                )
            )

        result = exchange.result(perform, secrets)
        if method != "HEAD" and logger.isEnabledFor(logging.DEBUG):  # the finding about a probe has its status
            place, came = url.partition("?")[0].partition("#")[0].rpartition("@")[2], steady() - started
            logger.debug(
                "%s %s: %s, %.3f s", method, place, result.status if isinstance(result, Reply) else result.reason, came
            )
        return result


def _note_head(response: httpx.Response) -> None:
    """Store the head before httpx parses it further: httpx raises an exception for an unreadable Location header."""
    response.request.extensions["exchange"].head_arrived(response)


class _Exchange:
    """The state of one exchange. `_lock` guards the attributes that the caller and the thread share."""

    def __init__(self, method: str, timeout: float, may_send: Callable[[], bool]) -> None:
        self._method = method.encode()
        self._timeout = timeout
        self._deadline = steady() + timeout
        self._may_send = may_send
        self._lock = Lock()
        self._done = Event()
        self._is_over = self._is_sent = self._is_whole = self._is_local = False
        self._socket: socket.socket | None = None
        self._head: Reply | None = None
        self._body = bytearray()
        self._problem: BaseException | None = None

    def result(self, perform: Callable[[], None], secrets: Collection[str]) -> Reply | Failure:
        """Run `perform` in a thread, and return the result when the thread ends or, at the latest, at the deadline."""

        def work() -> None:
            try:
                perform()
            except BaseException as problem:  # noqa: BLE001 - of any class: what matters is whether anything was sent
                self._problem = problem
            finally:
                self._end()
                self._done.set()

        try:
            Thread(target=work, name="exchange", daemon=True).start()
        except RuntimeError:
            return Failure(False, "the call was not started: the system allows no more threads")
        try:
            while (left := self._deadline - steady()) > 0 and not self._done.wait(min(left, _TICK)):
                pass
        finally:  # also ends the exchange after an interrupt
            self._end()
        with self._lock:
            return self._known(secrets)

    def perform(self, stream: Any) -> None:
        """Send the request and read the response, in the exchange's thread. `stream` comes from `Client.stream`."""
        with stream as response:
            for chunk in response.iter_raw():
                with self._lock:
                    self._body += chunk
                    if self._is_over or len(self._body) > BODY_LIMIT:
                        return
        with self._lock:
            self._is_whole = not self._is_over  # after a shutdown, an incomplete body looks like a complete one

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Handle an event of the connection. Raises Withheld if the request must not be sent."""
        if event.endswith(".connect_tcp.complete"):
            self._connected(info["return_value"])
        # Through a proxy, the first request is CONNECT.
        elif event == "http11.send_request_headers.started" and info["request"].method == self._method:
            self._release(info["request"].url.scheme == b"http")

    def head_arrived(self, response: httpx.Response) -> None:
        """Store the status line and the headers, which decide the outcome from now on."""
        version, reason = response.extensions["http_version"], response.extensions["reason_phrase"]
        fields = b"".join(b"%s: %s\r\n" % header for header in response.headers.raw)
        head = b"%s %d %s\r\n%s\r\n" % (version, response.status_code, reason, fields)
        with self._lock:
            self._head = Reply(response.status_code, dict(response.headers), head)

    def _connected(self, stream: Any) -> None:
        """Keep a duplicate of the socket's descriptor, because TLS takes over the original."""
        connection: socket.socket = stream.get_extra_info("socket")
        with suppress(OSError), self._lock:  # a reset may have come first
            self._is_local = ip_address(connection.getpeername()[0].partition("%")[0]).is_loopback
            self._socket = None if self._is_over else connection.dup()
        if self._socket is None:
            connection.close()  # no other thread has this socket yet
            raise Withheld

    def _release(self, plain: bool) -> None:
        """Check one last time whether the request may be sent.

        If it may, the outcome counts as unknown until a status line arrives. Otherwise raises Withheld or ConnectError.
        """
        if plain and not self._is_local:
            raise httpx.ConnectError("http is allowed for loopback addresses only")
        if not self._may_send():
            raise Withheld
        with self._lock:
            if self._is_over or steady() >= self._deadline:  # the machine may have slept
                raise Withheld
            self._is_sent = True

    def _end(self) -> None:
        """End the exchange. If its thread is reading from the socket, the shutdown wakes the thread."""
        with self._lock:
            self._is_over = True
            if self._socket is not None:
                with suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)
                self._socket.close()
                self._socket = None

    def _known(self, secrets: Collection[str]) -> Reply | Failure:
        if self._head is not None:
            head = self._head
            return Reply(head.status, head.headers, head.head, bytes(self._body[:BODY_LIMIT]), self._is_whole)
        if self._problem is None or steady() >= self._deadline:
            missing = "an answer" if self._is_sent else "a connection"
            return Failure(self._is_sent, f"timed out after {self._timeout:g} s without {missing}")
        meaning = meaning_of(self._problem)
        text = _quoted(self._problem, secrets)
        return Failure(self._is_sent and meaning.maybe_sent, f"{meaning.words}: {text}" if text else meaning.words)


def _quoted(problem: BaseException, secrets: Collection[str]) -> str:
    """Return the text of a system error or the status that a proxy returned, or "" for other exceptions.

    The texts of other exceptions may hold secrets: a LocalProtocolError quotes an invalid header.
    """
    match problem:
        case httpx.ConnectError():
            return excerpt(str(problem), secrets)
        case httpx.ProxyError():
            code = str(problem)[:3]
            with suppress(ValueError):
                return f"{code} {HTTPStatus(int(code)).phrase}"
    return ""
