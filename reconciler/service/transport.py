"""One HTTP exchange, and whether its request can have reached the service.

The one module that knows httpx, and the end of all its exceptions: an exchange gives a `Reply` or a `Failure`.

Each exchange runs in a thread of its own while the caller's thread watches the clock. httpx has a timeout for each
phase, which a header that drips a byte a second never meets, and name resolution has none at all; a caller that waits
can always stop waiting. Past the deadline a request that was not sent can no longer be, and one that was has its socket
shut down.
"""

import contextlib
import logging
import re
import socket
import threading
from collections.abc import Callable, Collection, Mapping
from http.cookiejar import DefaultCookiePolicy
from ipaddress import ip_address
from typing import Any, NamedTuple, Self
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies

import httpx
from msgspec.structs import replace

from reconciler import __version__
from reconciler.errors import SettingsError
from reconciler.service.clock import steady
from reconciler.service.exchange import BODY_LIMIT, Failure, Reply, reply_of
from reconciler.service.redaction import excerpt

logger = logging.getLogger("reconciler.service")

# At DEBUG httpcore logs every header it receives, cookies and echoes among them; at INFO httpx logs whole URLs.
for _name in ("httpcore", "httpx"):
    logging.getLogger(_name).setLevel(logging.WARNING)

_HOST_AND_PATH = re.compile(r"\w+://(?:[^/?#]*@)?([^?#]*)")

_TICK = 1.0  # seconds between looks at the steady clock: the one that threads wait on stops while the machine sleeps
_GRACE = 2.0  # seconds for a thread whose socket was shut down to notice


class _Withheld(Exception):
    """Raised inside httpx to keep the request, or the rest of it, from being written."""


class _OffLoopback(Exception):
    """Raised inside httpx where a plain request would leave this machine."""


class Meaning(NamedTuple):
    """What an exception of httpx means: may the request have been sent, which words say so, is its text quoted."""

    maybe_sent: bool
    words: str
    quoted: bool = False


# By the most particular class. Only texts that come from the system or a proxy's status line are quoted: that of a
# LocalProtocolError holds the header it complains about.
MEANINGS: Mapping[type[BaseException], Meaning] = {
    httpx.ConnectError: Meaning(False, "no connection", quoted=True),
    httpx.ConnectTimeout: Meaning(False, "connection timed out"),
    httpx.PoolTimeout: Meaning(False, "timed out waiting for a free connection"),
    httpx.ProxyError: Meaning(False, "the proxy refused the connection", quoted=True),
    httpx.LocalProtocolError: Meaning(False, "the request is not valid HTTP"),
    httpx.UnsupportedProtocol: Meaning(False, "the URL is neither http nor https"),
    httpx.InvalidURL: Meaning(False, "the URL is invalid"),
    httpx.ReadTimeout: Meaning(True, "read timed out"),
    httpx.ReadError: Meaning(True, "connection closed before the answer"),
    httpx.WriteTimeout: Meaning(True, "write timed out"),
    httpx.WriteError: Meaning(True, "connection lost while sending the request"),
    httpx.CloseError: Meaning(True, "connection lost while closing"),
    httpx.RemoteProtocolError: Meaning(True, "the connection was closed without an answer, or the answer was not HTTP"),
    httpx.DecodingError: Meaning(True, "the answer could not be decoded"),
    httpx.TooManyRedirects: Meaning(True, "too many redirects"),
    httpx.HTTPError: Meaning(True, "HTTP error"),
    httpx.CookieConflict: Meaning(True, "conflicting cookies"),
    httpx.StreamError: Meaning(True, "the answer could not be read"),
    _OffLoopback: Meaning(False, "http is allowed for loopback addresses only"),
    _Withheld: Meaning(True, "stopped before the request was sent completely"),
    BaseException: Meaning(True, "the request failed"),
}


def meaning_of(problem: BaseException) -> Meaning:
    """The entry of MEANINGS for the most particular class that `problem` is of."""
    return next(MEANINGS[kind] for kind in type(problem).__mro__ if kind in MEANINGS)


def always() -> bool:
    """Allow every request: for calls that change nothing, or that are made manually."""
    return True


class Transport:
    """Sends requests, from any number of threads, over connections that are used once.

    If the server closes a kept-alive connection just as a request is sent, the outcome is unknown and must be resolved
    manually; a new connection costs milliseconds. No redirect is followed, no cookie kept, nothing retried.
    """

    def __init__(self) -> None:
        """Raises SettingsError if the environment's proxy or certificate settings cannot be used."""
        try:
            self._proxy_secrets = _proxy_secrets()
            self._client = httpx.Client(
                headers={
                    "user-agent": f"reconciler/{__version__}",
                    "accept-encoding": "identity",
                    "connection": "close",
                },
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
                # Plain http is for loopback, where no proxy can help, and one would read the credentials.
                mounts={"http://": None, **{f"all://{host}": None for host in ("127.0.0.1", "[::1]", "localhost")}},
                follow_redirects=False,
            )
        except (httpx.InvalidURL, ValueError, ImportError, OSError) as problem:
            raise SettingsError(
                f"the proxy or certificate settings of the environment cannot be used ({type(problem).__name__})",
                remedy="check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR",
            ) from None
        self._client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()

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

        `may_send` is called, from another thread, just before the first byte is written; if it returns false, nothing
        is sent. The reason of a failure contains none of `secrets`, nor of the proxy's credentials.
        """
        started = steady()
        exchange = _Exchange(timeout, may_send, [*secrets, *self._proxy_secrets])
        exchange.start(self._client, url, headers, content)
        result = exchange.result()
        summary = result.status if isinstance(result, Reply) else result.reason
        location = _HOST_AND_PATH.match(url)
        logger.debug("POST %s: %s, %.3f s", location[1] if location else "", summary, steady() - started)
        return result


class _Exchange:
    """One request in flight. `_lock` guards what both its own thread and the waiting thread change."""

    def __init__(self, timeout: float, may_send: Callable[[], bool], secrets: Collection[str]) -> None:
        self._secrets = secrets
        self._timeout = timeout
        self._deadline = steady() + timeout
        self._may_send = may_send
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._overdue = False
        self._sent = False
        self._socket: socket.socket | None = None
        self._head: Reply | None = None
        self._body = bytearray()
        self._whole = False
        self._failure = Failure(sent=False, reason="the call was not started")

    def start(self, client: httpx.Client, url: str, headers: Mapping[str, str], content: bytes) -> None:
        # A daemon, since one that hangs in name resolution must not keep the program from ending.
        thread = threading.Thread(target=self._run, args=(client, url, headers, content), daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the system gives no more threads
            self._done.set()

    def result(self) -> Reply | Failure:
        """Wait for the end or the deadline, whichever comes first, and give what is known then."""
        if not self._ends_in_time():
            self._cut()
        with self._lock:
            if self._head is not None:
                body = bytes(self._body[:BODY_LIMIT])
                return replace(self._head, body=body, whole=self._whole and not self._overdue)
            if self._overdue:
                return Failure(
                    self._sent,
                    f"timed out after {self._timeout:g} s without {'an answer' if self._sent else 'a connection'}",
                )
            return self._failure

    def _ends_in_time(self) -> bool:
        while (left := self._deadline - steady()) > 0:
            if self._done.wait(min(left, _TICK)):
                return True
        return self._done.is_set()

    def _cut(self) -> None:
        with self._lock:
            self._overdue = True
        if self._socket is not None:
            with contextlib.suppress(OSError):  # closed already, or in the middle of a TLS handshake
                # Not the method of an SSLSocket, which drops the TLS state that the other thread is reading with.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
                self._done.wait(_GRACE)

    def _run(self, client: httpx.Client, url: str, headers: Mapping[str, str], content: bytes) -> None:
        try:
            request = client.build_request(
                "POST", url, headers=dict(headers), content=content, timeout=self._timeout,
                extensions={"trace": self._trace},
            )  # fmt: skip
            response = client.send(request, stream=True)
            try:
                self._read(response)
            finally:
                response.close()
        except Exception as problem:  # noqa: BLE001  of any class: what counts is whether anything was sent
            meaning = meaning_of(problem)
            text = excerpt(str(problem), self._secrets) if meaning.quoted else ""
            words = f"{meaning.words}: {text}" if text else meaning.words
            self._failure = Failure(self._sent and meaning.maybe_sent, words)
        finally:
            self._done.set()

    def _read(self, response: httpx.Response) -> None:
        for chunk in response.iter_raw():
            self._body += chunk
            if len(self._body) > BODY_LIMIT:
                return
        self._whole = True

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        """Follow httpcore through the exchange; the CONNECT that a proxy gets first is not the request."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._socket = info["return_value"].get_extra_info("socket")
        elif event == "http11.send_request_headers.started" and info["request"].method != b"CONNECT":
            if info["request"].url.scheme == b"http" and not _is_loopback(self._socket):
                raise _OffLoopback
            self._release()
        elif event == "http11.send_request_body.started" and steady() >= self._deadline:
            raise _Withheld  # the machine slept between the headers and the body
        elif event == "http11.receive_response_headers.complete" and self._sent:
            # Taken here and not from the response, since httpx can still stumble, over a Location for instance.
            self._head = reply_of(*info["return_value"])

    def _release(self) -> None:
        """The point of no return: from here on the outcome is unknown, unless a status line arrives."""
        with self._lock:
            if self._overdue or not self._may_send():
                raise _Withheld
            self._sent = True


def _is_loopback(connection: socket.socket | None) -> bool:
    """Whether the other end of a connection is on this machine: a name can resolve to any address."""
    return connection is not None and ip_address(connection.getpeername()[0].partition("%")[0]).is_loopback


def _proxy_secrets() -> list[str]:
    """The passwords of the environment's proxies, alone and as they are sent; a user name without one is a key."""
    secrets = []
    for url in [url for name, url in getproxies().items() if name in ("http", "https", "all")]:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        if user or password:
            secrets += [password or user, f"{user}:{password}"]
    return secrets
