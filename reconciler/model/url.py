"""How URLs compare, where host case and default port make no difference; and which hosts are loopback."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"https": 443, "http": 80}
_USUAL = re.compile(r"https?://[a-z0-9._-]+/[!-\"$-~]*")
"""A URL that is in its normal form as it was written; not every such URL."""


@lru_cache(maxsize=65_536)
def normal_url(url: str) -> str:
    """The form of `url` in which two URLs compare: scheme and host in lower case, no default port, a path."""
    if _USUAL.fullmatch(url):
        return url
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    host = (parts.hostname or "").lower()
    if ":" in host:
        host = f"[{host}]"
    port = "" if parts.port in (None, _DEFAULT_PORTS.get(scheme)) else f":{parts.port}"
    query = f"?{parts.query}" if "?" in url else ""
    return f"{scheme}://{host}{port}{parts.path or '/'}{query}"


def same_service(one: str, other: str) -> bool:
    """Whether two base URLs name one service: a trailing slash makes no difference either."""
    return service_key(one) == service_key(other)


def service_key(base_url: str) -> str:
    """What two base URLs of one service have in common."""
    return normal_url(base_url).rstrip("/")


def is_loopback(host: str) -> bool:
    """Whether a host never leaves this machine: an address, or a name that RFC 6761 reserves for that."""
    try:
        return host == "localhost" or host.endswith(".localhost") or ip_address(host).is_loopback
    except ValueError:
        return False
