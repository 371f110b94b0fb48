"""Looks at a server as a call would reach it, stage by stage, with a request that changes nothing: HEAD.

It takes the way that calls take: the proxies and certificates of the environment, `routes` and `connecting`. It has no
credentials to send.
"""

import socket
import ssl
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from enum import StrEnum
from threading import Event, Thread
from typing import TypeVar

import h11
import httpcore
import httpx
from msgspec import Struct
from msgspec.structs import replace

from reconciler import __version__
from reconciler.service.clock import steady
from reconciler.service.connecting import Connector
from reconciler.service.deadline import Bounded
from reconciler.service.redaction import excerpt
from reconciler.service.routes import Location, Routes
from reconciler.service.transport import UNUSABLE, meaning_of, unusable_environment

T = TypeVar("T")

_TICK = 1.0  # seconds between looks at the steady clock
_CHUNK = 1 << 16  # bytes that are read at once


class Stage(StrEnum):
    """The stages on the way to an answer, in their order."""

    DNS = "DNS"
    CONNECTION = "connection"
    TLS = "TLS"
    ANSWER = "answer"


class Problem(Struct, frozen=True):
    """Why a stage failed, in one line; `certificate` if the server's certificate is not accepted."""

    stage: Stage
    what: str
    certificate: bool = False


class Probe(Struct, frozen=True):
    """What a request showed. `proxied`: a proxy resolves the name, and connects.

    `expires_in` are the seconds for which the server's certificate remains valid, None without TLS. `status` is the
    HTTP status of the answer. `ahead` are the seconds by which the clock of this machine is ahead of the server's
    (negative: behind), as far as that is certain: the Date of an answer stands for a whole second, and answers take
    time. None if there is no Date.
    """

    secure: bool
    proxied: bool
    problem: Problem | None = None
    expires_in: float | None = None
    status: int | None = None
    ahead: float | None = None


class Prober:
    """Sends HEAD requests, from any number of threads; `timeout` is in seconds, for all stages of one."""

    def __init__(self, timeout: float) -> None:
        """Raises SettingsError if the environment's proxy or certificate settings cannot be used."""
        self._timeout = timeout
        try:
            self._routes = Routes()
            self._connector = Connector(httpx.create_ssl_context())
        except UNUSABLE as problem:
            raise unusable_environment(problem) from None

    def probe(self, url: str) -> Probe:
        """What a HEAD request for `url`, a valid URL, shows. Raises nothing."""
        location = self._routes.to(url)
        probe = Probe(location.route.server.secure, location.route.proxy is not None)
        deadline, stage = steady() + self._timeout, Stage.DNS
        try:
            _within(deadline, lambda: _resolve(location))
            stage = Stage.CONNECTION
            left = max(deadline - steady(), 0.001)
            stream = _within(deadline, lambda: self._connector.open(location.route, left))
            try:
                stage = Stage.ANSWER
                probe = replace(probe, expires_in=_expires_in(stream))
                return _answered(probe, location, Bounded(stream, deadline))
            finally:
                stream.close()
        except Exception as problem:  # noqa: BLE001 - of any class, as in `transport`
            return replace(probe, problem=self._problem(problem, stage))

    def _problem(self, problem: Exception, stage: Stage) -> Problem:
        if isinstance(problem, TimeoutError):
            return Problem(stage, f"timed out after {self._timeout:g} s")
        refusal = _tls_error(problem)
        if isinstance(refusal, ssl.SSLCertVerificationError):
            return Problem(Stage.TLS, excerpt(refusal.verify_message), certificate=True)
        if refusal is not None:
            reason = (refusal.reason or "no TLS").lower().replace("_", " ")
            return Problem(Stage.TLS, f"the handshake failed: {excerpt(reason)}")
        if isinstance(problem, socket.gaierror):
            return Problem(stage, f"the name cannot be resolved: {excerpt(problem.strerror or '')}")
        meaning = meaning_of(problem)
        text = excerpt(str(problem), self._routes.secrets) if meaning.quoted else ""
        return Problem(stage, f"{meaning.words}: {text}" if text else meaning.words)


def _resolve(location: Location) -> None:
    """Resolve the name that a connection starts with. Raises OSError."""
    server, proxy = location.route
    first = proxy.server if proxy else server
    socket.getaddrinfo(first.host, first.port, type=socket.SOCK_STREAM)


def _within(deadline: float, perform: Callable[[], T]) -> T:
    """What `perform` gives, if it is done by the deadline; raises what it raises, or else TimeoutError.

    A daemon thread performs it, which nobody waits for: name resolution has no timeout.
    """
    over, results, problems = Event(), list[T](), list[Exception]()

    def work() -> None:
        try:
            results.append(perform())
        except Exception as problem:  # noqa: BLE001 - raised again in the thread that waits
            problems.append(problem)
        over.set()

    Thread(target=work, name="probe", daemon=True).start()
    while not over.is_set():
        left = deadline - steady()
        if left <= 0:
            raise TimeoutError
        over.wait(min(left, _TICK))
    if problems:
        raise problems[0]
    return results[0]


def _tls_error(problem: BaseException | None) -> ssl.SSLError | None:
    """The TLS error that an exception of httpcore was raised for."""
    while problem is not None and not isinstance(problem, ssl.SSLError):
        problem = problem.__cause__ or problem.__context__
    return problem


def _expires_in(stream: httpcore.NetworkStream) -> float | None:
    """The seconds until the server's certificate expires, None without TLS."""
    session = stream.get_extra_info("ssl_object")
    certificate = session.getpeercert() if session is not None else None
    return ssl.cert_time_to_seconds(certificate["notAfter"]) - time.time() if certificate else None


def _answered(probe: Probe, location: Location, connection: Bounded) -> Probe:
    """Send the request and read the head of the answer. Raises anything."""
    conversation = h11.Connection(h11.CLIENT)
    headers = {"host": location.netloc, "user-agent": f"reconciler/{__version__}", "accept": "*/*"}
    request = h11.Request(method="HEAD", target=location.target, headers=[*headers.items(), ("connection", "close")])
    connection.write(conversation.send(request) or b"")
    conversation.send(h11.EndOfMessage())
    asked = time.time()
    while True:
        event = conversation.next_event()
        if event is h11.NEED_DATA:
            conversation.receive_data(connection.read(_CHUNK))
        elif isinstance(event, h11.Response):
            dates = [value.decode("latin-1") for name, value in event.headers if name == b"date"]
            ahead = _ahead(dates[0], asked, time.time()) if dates else None
            return replace(probe, status=event.status_code, ahead=ahead)
        elif not isinstance(event, h11.InformationalResponse):
            raise h11.RemoteProtocolError("the connection was closed without an answer")


def _ahead(date: str, asked: float, answered: float) -> float | None:
    """The seconds that this machine's clock is certainly ahead of a server that gave `date` between two moments."""
    try:
        server = parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None
    if asked > server + 1:
        return asked - server - 1
    return min(answered - server, 0.0)
