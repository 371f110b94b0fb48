"""One HTTP exchange, and whether its request can have reached the service.

The end of all exceptions of httpx and what it stands on: an exchange gives a `Reply` or a `Failure`.

httpx reads URLs, proxies and certificates, httpcore connects, and h11 writes the request and reads the answer. A client
of httpx, which puts them together, takes half as much processor time again for a request, cannot be given a
connection that was opened ahead, and does not say when the first byte leaves.

The thread that calls does the exchange; no read and no write lasts beyond the deadline (`deadline`), and others resolve
names (`connections`). Past the deadline a request that was not sent can no longer be, and the connection of one that
was is closed.
"""

import logging
import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import NamedTuple, Self

import h11
import httpcore
import httpx
from msgspec.structs import replace

from reconciler import __version__
from reconciler.errors import SettingsError
from reconciler.service.clock import steady
from reconciler.service.connecting import Connector
from reconciler.service.connections import Connections, NotStarted
from reconciler.service.deadline import Bounded, Withheld
from reconciler.service.exchange import BODY_LIMIT, Failure, Reply, reply_of
from reconciler.service.redaction import excerpt
from reconciler.service.routes import Location, Routes

logger = logging.getLogger("reconciler.service")

# At DEBUG httpcore logs every header it receives, cookies and echoes among them.
logging.getLogger("httpcore").setLevel(logging.WARNING)

_HOST_AND_PATH = re.compile(r"\w+://(?:[^/?#]*@)?([^?#]*)")

_CHUNK = 1 << 16  # bytes that are read at once
_LONGEST_HEAD = 100 * 1024  # bytes of an answer before its body
_HEADERS = {
    "accept": "*/*",
    "user-agent": f"reconciler/{__version__}",
    "accept-encoding": "identity",
    "connection": "close",
}


class _OffLoopback(Exception):
    """A plain request would leave this machine."""


class Meaning(NamedTuple):
    """What an exception means: may the request have been sent, which words say so, is its text quoted."""

    maybe_sent: bool
    words: str
    quoted: bool = False


# By the most particular class. Only texts that come from the system or a proxy's status line are quoted: that of a
# LocalProtocolError holds the header it complains about.
MEANINGS: Mapping[type[BaseException], Meaning] = {
    httpcore.ConnectError: Meaning(False, "no connection", quoted=True),
    httpcore.ConnectTimeout: Meaning(False, "connection timed out"),
    httpcore.PoolTimeout: Meaning(False, "timed out waiting for a free connection"),
    httpcore.ProxyError: Meaning(False, "the proxy refused the connection", quoted=True),
    httpcore.LocalProtocolError: Meaning(False, "the request is not valid HTTP"),
    httpx.UnsupportedProtocol: Meaning(False, "the URL is neither http nor https"),
    httpcore.UnsupportedProtocol: Meaning(False, "the URL is neither http nor https"),
    httpx.InvalidURL: Meaning(False, "the URL is invalid"),
    httpcore.ReadTimeout: Meaning(True, "read timed out"),
    httpcore.ReadError: Meaning(True, "connection closed before the answer"),
    httpcore.WriteTimeout: Meaning(True, "write timed out"),
    httpcore.WriteError: Meaning(True, "connection lost while sending the request"),
    httpcore.RemoteProtocolError: Meaning(
        True, "the connection was closed without an answer, or the answer was not HTTP"
    ),
    httpcore.ProtocolError: Meaning(True, "HTTP error"),
    httpcore.NetworkError: Meaning(True, "connection lost"),
    httpcore.TimeoutException: Meaning(True, "timed out"),
    httpcore.ConnectionNotAvailable: Meaning(True, "connection lost"),
    NotStarted: Meaning(False, "the call was not started"),
    h11.LocalProtocolError: Meaning(False, "the request is not valid HTTP"),
    h11.RemoteProtocolError: Meaning(True, "the connection was closed without an answer, or the answer was not HTTP"),
    _OffLoopback: Meaning(False, "http is allowed for loopback addresses only"),
    Withheld: Meaning(True, "stopped before the request was sent completely"),
    BaseException: Meaning(True, "the request failed"),
}


def meaning_of(problem: BaseException) -> Meaning:
    """The entry of MEANINGS for the most particular class that `problem` is of."""
    return next(MEANINGS[kind] for kind in type(problem).__mro__ if kind in MEANINGS)


UNUSABLE = (httpx.InvalidURL, ValueError, OSError)
"""What is raised for proxies and certificates of the environment that cannot be used."""


def unusable_environment(problem: Exception) -> SettingsError:
    """The error for one of UNUSABLE; a text is not quoted, since the URL of a proxy may hold a password."""
    return SettingsError(
        f"the proxy or certificate settings of the environment cannot be used ({type(problem).__name__})",
        remedy="check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR",
    )


def always() -> bool:
    """Allow every request: for calls that change nothing, or that are made manually."""
    return True


class Transport:
    """Sends requests, from any number of threads, over connections that are used once.

    No redirect is followed, no cookie kept, nothing retried.
    """

    def __init__(self) -> None:
        """Raises SettingsError if the environment's proxy or certificate settings cannot be used."""
        try:
            self._routes = Routes()
            self._connections = Connections(Connector(httpx.create_ssl_context()).open)
        except UNUSABLE as problem:
            raise unusable_environment(problem) from None
        self._locate = lru_cache(maxsize=64)(self._routes.to)
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._is_closed = True
        self._connections.close()

    def expect(self, url: str, calls: int, at_once: int, timeout: float) -> None:
        """So many `calls` to `url` are left, `at_once` at a time: open connections for the next of them.

        Each phase of that may take `timeout` seconds. Raises nothing.
        """
        if calls and not self._is_closed:
            try:
                route = self._locate(url).route
            except (httpx.InvalidURL, httpx.UnsupportedProtocol):
                return
            self._connections.expect(route, calls, at_once, timeout)

    def forget(self, url: str) -> None:
        """No more calls to `url` are expected: close what was opened for them. Raises nothing."""
        try:
            self._connections.forget(self._locate(url).route)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol):
            return

    def post(
        self,
        url: str,
        headers: Mapping[str, str],
        content: bytes,
        *,
        timeout: float,
        may_send: Callable[[], bool] = always,
        secrets: Collection[str] = (),
    ) -> Reply | Failure:
        """POST `content` to `url` and give the result after at most `timeout` seconds; raises nothing.

        `may_send` is called just before the first byte is written; if it returns false, nothing is sent. The reason of
        a failure contains none of `secrets`, nor of the proxy's credentials.
        """
        exchange = _Exchange(timeout, may_send, [*secrets, *self._routes.secrets])
        result = exchange.result(lambda: self._perform(exchange, url, headers, content))
        if logger.isEnabledFor(logging.DEBUG):
            summary = result.status if isinstance(result, Reply) else result.reason
            location = _HOST_AND_PATH.match(url)
            logger.debug("POST %s: %s, %.3f s", location[1] if location else "", summary, exchange.took())
        return result

    def _perform(self, exchange: "_Exchange", url: str, headers: Mapping[str, str], content: bytes) -> None:
        if self._is_closed:
            raise RuntimeError("closed")
        location = self._locate(url)
        with self._connections.take(location.route, exchange.timeout, exchange.deadline) as stream:
            if stream is not None:
                exchange.perform(stream, location, headers, content)


class _Exchange:
    """One request: what it may do, and what has become of it."""

    def __init__(self, timeout: float, may_send: Callable[[], bool], secrets: Collection[str]) -> None:
        self.timeout = timeout
        self.deadline = steady() + timeout
        self._may_send = may_send
        self._secrets = secrets
        self._is_sent = False
        self._head: Reply | None = None
        self._body = bytearray()
        self._is_whole = False

    def took(self) -> float:
        """The seconds since it has begun."""
        return steady() - self.deadline + self.timeout

    def result(self, perform: Callable[[], None]) -> Reply | Failure:
        """What is known after `perform`, whatever that raises."""
        failure = None
        try:
            perform()
        except Exception as problem:  # noqa: BLE001 - of any class: what counts is whether anything was sent
            failure = problem
        if self._head is not None:
            return replace(self._head, body=bytes(self._body[:BODY_LIMIT]), whole=self._is_whole)
        if failure is None or steady() >= self.deadline:
            missing = "an answer" if self._is_sent else "a connection"
            return Failure(self._is_sent, f"timed out after {self.timeout:g} s without {missing}")
        meaning = meaning_of(failure)
        text = excerpt(str(failure), self._secrets) if meaning.quoted else ""
        return Failure(self._is_sent and meaning.maybe_sent, f"{meaning.words}: {text}" if text else meaning.words)

    def perform(
        self, stream: httpcore.NetworkStream, location: Location, headers: Mapping[str, str], content: bytes
    ) -> None:
        """Send the request on `stream` and read the answer, until the deadline. Raises anything."""
        server = location.route.server
        # Not kept: with what it calls before it writes, it would be garbage that only a search finds.
        connection = Bounded(stream, self.deadline, lambda: self._release(stream, secure=server.secure))
        fields = {**_HEADERS, **{name.lower(): value for name, value in headers.items()}}
        fields["host"], fields["content-length"] = location.netloc, str(len(content))
        conversation = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LONGEST_HEAD)
        head = conversation.send(_post_of(location.target, tuple(fields.items())))
        body = conversation.send(h11.Data(data=content))
        conversation.send(h11.EndOfMessage())
        connection.write((head or b"") + (body or b""))
        try:
            self._read(conversation, connection)
        finally:
            self._is_sent = connection.released

    def _read(self, conversation: h11.Connection, connection: Bounded) -> None:
        """Read the answer; of the body no more than BODY_LIMIT and a bit. Raises anything."""
        while len(self._body) <= BODY_LIMIT:
            event = conversation.next_event()
            if event is h11.NEED_DATA:
                conversation.receive_data(connection.read(_CHUNK))
                continue
            match event:
                case h11.InformationalResponse():
                    pass
                case h11.Response():
                    version = b"HTTP/" + event.http_version
                    self._head = reply_of(version, event.status_code, event.reason, event.headers.raw_items())
                case h11.Data():
                    self._body += event.data
                case h11.EndOfMessage():
                    self._is_whole = True
                    return
                case _:
                    raise h11.RemoteProtocolError("the connection was closed without an answer")

    def _release(self, stream: httpcore.NetworkStream, *, secure: bool) -> None:
        """The point of no return: from here on the outcome is unknown, unless a status line arrives."""
        if not secure and not _is_loopback(stream.get_extra_info("server_addr")):
            raise _OffLoopback
        if not self._may_send():
            raise Withheld


@lru_cache(maxsize=16)
def _post_of(target: bytes, headers: tuple[tuple[str, str], ...]) -> h11.Request:
    """What h11 has checked once; the requests of a run differ in little more than their bodies."""
    return h11.Request(method="POST", target=target, headers=list(headers))


def _is_loopback(peer: tuple[str, int]) -> bool:
    """Whether the other end of a connection is on this machine: a name can resolve to any address."""
    return _is_loopback_address(peer[0].partition("%")[0])


@lru_cache(maxsize=64)
def _is_loopback_address(address: str) -> bool:
    return ip_address(address).is_loopback
