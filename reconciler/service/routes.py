"""Where a URL leads: to which server, with TLS or without, and through which of the environment's proxies."""

from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies

import httpx

_PORTS = {"http": 80, "https": 443}
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_KINDS = ("http", "https", "all")


class Server(NamedTuple):
    """A server, or a proxy: `secure` says whether TLS is spoken with it."""

    secure: bool
    host: str
    port: int


class Proxy(NamedTuple):
    """A proxy that opens a tunnel; `login` is what it is given for that: a name and a password, or nothing."""

    server: Server
    login: tuple[bytes, bytes] | None

    def __repr__(self) -> str:
        return f"Proxy({self.server})"


class Route(NamedTuple):
    """The server of a URL, and the proxy on the way, if there is one."""

    server: Server
    proxy: Proxy | None


class Location(NamedTuple):
    """A URL, as a request needs it: `netloc` is for the Host header, `target` the path and the query."""

    route: Route
    netloc: str
    target: bytes


class Routes:
    """The routes that the environment asks for, in HTTPS_PROXY, ALL_PROXY and NO_PROXY, which httpx reads likewise.

    Plain http is for loopback, where no proxy can help, and one would read the credentials.
    """

    def __init__(self) -> None:
        """Raises ValueError and httpx.InvalidURL for a setting that cannot be used."""
        given = {kind: url for kind, url in getproxies().items() if kind in _KINDS and url}
        exempted = [entry.strip() for entry in getproxies().get("no", "").split(",")]
        proxies = {} if "*" in exempted else {kind: _proxy(url) for kind, url in given.items()}
        self._proxy = proxies.get("https", proxies.get("all"))
        self._exempted = [httpx.URL(_pattern(entry)) for entry in exempted if entry and entry != "*"]
        self.secrets = [secret for url in given.values() for secret in _secrets(url)]

    def to(self, url: str) -> Location:
        """Where `url` leads. Raises httpx.InvalidURL and httpx.UnsupportedProtocol."""
        parsed = httpx.URL(url)
        if parsed.scheme not in _PORTS or not parsed.host:
            raise httpx.UnsupportedProtocol("the URL is neither http nor https")
        proxied = parsed.scheme == "https" and not self._is_exempted(parsed)
        return Location(
            Route(_server(parsed), self._proxy if proxied else None), parsed.netloc.decode("ascii"), parsed.raw_path
        )

    def _is_exempted(self, url: httpx.URL) -> bool:
        return url.host in _LOOPBACK or any(_matches(pattern, url) for pattern in self._exempted)


def _server(url: httpx.URL) -> Server:
    return Server(url.scheme == "https", url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme])


def _proxy(url: str) -> Proxy:
    proxy = httpx.Proxy(_whole(url))
    if proxy.url.scheme not in _PORTS:
        raise ValueError("a proxy must be one for HTTP")
    return Proxy(_server(proxy.url), proxy.raw_auth)


def _whole(url: str) -> str:
    """The URL of a proxy, which may be given without its scheme."""
    return url if "://" in url else f"http://{url}"


def _pattern(entry: str) -> str:
    """An entry of NO_PROXY as a URL whose host may begin with `*`: a domain stands for those below it too."""
    if "://" in entry:
        return entry
    try:
        address = ip_address(entry.partition("/")[0])
    except ValueError:
        return f"all://{entry}" if entry.lower() == "localhost" else f"all://*{entry}"
    return f"all://{entry}" if address.version == 4 else f"all://[{entry}]"


def _matches(pattern: httpx.URL, url: httpx.URL) -> bool:
    if pattern.scheme not in ("all", url.scheme) or pattern.port not in (None, url.port):
        return False
    if not pattern.host.startswith("*"):
        return pattern.host in ("", url.host)
    domain = pattern.host[1:]
    return url.host == domain or url.host.endswith(domain if domain.startswith(".") else f".{domain}")


def _secrets(url: str) -> list[str]:
    """The password of a proxy, alone and as it is sent; a user name without one is a key."""
    parts = urlsplit(_whole(url))
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return [password or user, f"{user}:{password}"] if user or password else []
