"""What a URL may be: absolute, https (http on loopback only), and nothing in it that is not meant for the service."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final

from msgspec import Struct

from reconciler.model.url import is_loopback

LENGTH_LIMIT: Final = 2048

# Both cases are spelt out: to ignore case takes half as long again, and every subscription has a URL.
_URL = re.compile(
    r"([Hh][Tt][Tt][Pp][Ss]?)://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?(?:[/?][!-\"$-~]*)?"
)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_UNWRITABLE = r"[\x00-\x20\x7f-\x9f]"
_AUTHORITY = r"[^:/?#]+://([^/?#\\]*)"


class Fault(Struct, frozen=True):
    """What is wrong with a URL, to be put behind its field's name, and what to do."""

    what: str
    remedy: str


USER_INFO: Final = Fault(
    "contains credentials (user:password@)", "remove them; credentials are read from the environment"
)
_HOST = Fault("has an invalid host", "use a host name or an IP address, without a trailing dot")
_PORT = Fault("has an invalid port", "use 1 to 65535, or remove the port")


def fault(url: str) -> Fault | None:
    """What is wrong with a webhook URL, if anything is."""
    if len(url) > LENGTH_LIMIT:
        return Fault(f"is longer than {LENGTH_LIMIT} characters", "shorten it")
    match = _URL.fullmatch(url)
    if match is None:
        return _diagnose(url)
    scheme, host, port = match.groups()
    if port is not None and not 0 < int(port) < 65_536:
        return _PORT
    return _host_fault(scheme.lower(), host.lower())


def base_fault(url: str) -> Fault | None:
    """What is wrong with a URL that paths are put behind, if anything is."""
    found = fault(url)
    if found is None and "?" in url:
        return Fault("has a query, but paths are appended to it", "remove the ? and everything after it")
    return found


def _diagnose(url: str) -> Fault:
    """Why a URL is not of the one form that is taken. What is most telling comes first."""
    if re.search(_UNWRITABLE, url):
        return Fault("contains white space or a control character", "remove or percent-encode it")
    authority = re.match(_AUTHORITY, url)
    if authority is None:
        return Fault("is not an absolute URL", "write the full URL: https://host/path")
    if "@" in authority[1]:
        return USER_INFO
    if not url.lower().startswith(("https://", "http://")):
        return Fault("is neither https nor http", "write the full URL: https://host/path")
    if "#" in url:
        return Fault("has a fragment, which is never sent", "remove the # and everything after it")
    if not url.isascii():
        return Fault("contains non-ASCII characters", "write the host in punycode (xn--…), and percent-encode the path")
    host = authority[1].rpartition(":")[0]
    return _PORT if _URL.fullmatch(f"https://{host}") else _HOST


@lru_cache(maxsize=4096)
def _host_fault(scheme: str, host: str) -> Fault | None:
    """What is wrong with a host in lower case, alone or under this scheme."""
    if not _is_host(host):
        return _HOST
    if scheme == "http" and not is_loopback(host.strip("[]")):
        return Fault("uses http, which is allowed for loopback addresses only", "use https")
    return None


def _is_host(host: str) -> bool:
    labels = host.split(".")
    try:
        if host.startswith("["):
            IPv6Address(host[1:-1])
        elif labels[-1].isdigit():
            IPv4Address(host)
    except AddressValueError:
        return False
    return host.startswith("[") or (len(host) <= 253 and all(map(_LABEL.fullmatch, labels)))
