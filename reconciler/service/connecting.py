"""Opens one connection: name resolution, TCP, the tunnel of a proxy, TLS.

What is raised are the exceptions of httpcore, as everywhere below `transport`.
"""

import ssl
from base64 import b64encode
from functools import lru_cache

import httpcore

from reconciler.service.clock import steady
from reconciler.service.deadline import Bounded
from reconciler.service.routes import Proxy, Route, Server

_PROTOCOLS = ["http/1.1"]


class Connector:
    """Opens connections; those with TLS to servers that `context` trusts."""

    def __init__(self, context: ssl.SSLContext) -> None:
        context.set_alpn_protocols(_PROTOCOLS)
        self._context = context
        self._network = httpcore.SyncBackend()

    def open(self, route: Route, timeout: float) -> httpcore.NetworkStream:
        """A connection along `route`; each phase may take `timeout` seconds, but name resolution any time.

        Raises an exception of httpcore.
        """
        server, proxy = route
        first = proxy.server if proxy else server
        stream = self._network.connect_tcp(first.host, first.port, timeout=timeout)
        if proxy:
            stream = _tunnel(stream, proxy, server, timeout)
        return _secured(stream, self._context, server, timeout) if server.secure else stream


@lru_cache(maxsize=1)
def _proxy_context() -> ssl.SSLContext:
    context = httpcore.default_ssl_context()
    context.set_alpn_protocols(_PROTOCOLS)
    return context


def _secured(
    stream: httpcore.NetworkStream, context: ssl.SSLContext, server: Server, timeout: float
) -> httpcore.NetworkStream:
    return stream.start_tls(context, server.host, timeout)


def _tunnel(stream: httpcore.NetworkStream, proxy: Proxy, server: Server, timeout: float) -> httpcore.NetworkStream:
    """The connection to a proxy, once it leads to the server (RFC 9110, section 9.3.6)."""
    if proxy.server.secure:
        stream = _secured(stream, _proxy_context(), proxy.server, timeout)
    place = f"[{server.host}]" if ":" in server.host else server.host
    target = f"{place}:{server.port}".encode()
    headers = [(b"Host", target), (b"Accept", b"*/*")]
    if proxy.login:
        headers.append((b"Proxy-Authorization", b"Basic " + b64encode(b":".join(proxy.login))))
    scheme = b"https" if proxy.server.secure else b"http"
    url = httpcore.URL(scheme=scheme, host=proxy.server.host.encode(), port=proxy.server.port, target=target)
    try:
        bounded = Bounded(stream, steady() + timeout)
        answer = httpcore.HTTP11Connection(url.origin, bounded).handle_request(
            httpcore.Request(b"CONNECT", url, headers=headers)
        )
        if not 200 <= answer.status < 300:
            reason = answer.extensions.get("reason_phrase", b"").decode("ascii", errors="ignore")
            raise httpcore.ProxyError(f"{answer.status} {reason}")  # noqa: TRY301 - closed like any other
    except httpcore.TimeoutException:
        stream.close()
        raise httpcore.ConnectTimeout from None
    except BaseException:
        stream.close()
        raise
    return stream


def is_untouched(stream: httpcore.NetworkStream) -> bool:
    """Whether nothing was received on a connection that was opened for later, and its other end not closed.

    Reading is what shows it, since a server sends tickets after a handshake over TLS that are no data: nor is what
    carries them through the TLS of a proxy.
    """
    try:
        stream.read(1, 0.0)
    except httpcore.ReadError as problem:
        return isinstance(problem.__cause__, BlockingIOError | ssl.SSLWantReadError)
    return False
