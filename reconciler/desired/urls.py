"""Checks URLs: they must be absolute, use https (or http on loopback), and have no unwanted parts."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final

from msgspec import Struct

from reconciler.model.url import ATTEMPT, filled, is_loopback

LENGTH_LIMIT: Final = 2048

# Both cases are spelt out: ignoring case takes half as long again, and every subscription has a URL.
_URL = re.compile(
    r"([Hh][Tt][Tt][Pp][Ss]?)://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?(?:[/?][!-\"$-~]*)?"
)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_SOME_ATTEMPT = "0" * 32


class Fault(Struct, frozen=True):
    """The fault of a URL: its name, a phrase that follows the field's name in a message, and a remedy."""

    name: str
    what: str
    remedy: str


USER_INFO: Final = Fault(
    "url-user-info", "contains credentials (user:password@)", "remove them; credentials are read from the environment"
)
TOO_LONG = Fault("url-too-long", f"is longer than {LENGTH_LIMIT} characters", "shorten it")
_HOST = Fault("url-host", "has an invalid host", "use a host name or an IP address, without a trailing dot")
_PORT = Fault("url-port", "has an invalid port", "use 1 to 65535, or remove the port")
_HTTP = Fault("url-http", "uses http, which is allowed for loopback addresses only", "use https")
_QUERY = Fault("url-query", "has a query, but paths are appended to it", "remove the ? and everything after it")
_WHOLE = "write the full URL: https://host/path"

_DIAGNOSES: Final = (
    (r"[\x00-\x20\x7f-\x9f]",
     Fault("url-unwritable", "contains white space or a control character", "remove or percent-encode it")),
    (r"^(?![^:/?#]+://)", Fault("url-not-absolute", "is not an absolute URL", _WHOLE)),
    (r"^[^:/?#]+://[^/?#\\]*@", USER_INFO),
    (r"^(?![Hh][Tt][Tt][Pp][Ss]?://)", Fault("url-scheme", "is neither https nor http", _WHOLE)),
    (r"#", Fault("url-fragment", "has a fragment, which is never sent", "remove the # and everything after it")),
    (r"://[^/?#\\]*\{attempt\}",
     Fault("attempt-in-host", f"has {ATTEMPT} in the host", "put it into the path or the query")),
    (r"[^\x00-\x7f]", Fault("url-not-ascii", "contains non-ASCII characters",
                            "write the host in punycode (xn--…), and percent-encode the path")),
    (r"://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):[^/?#\\]*([/?]|$)", _PORT),
    (r"", _HOST),
)  # fmt: skip
"""The reasons why a URL is not allowed; the most helpful reason comes first."""


def fault(url: str) -> Fault | None:
    """Return the fault of a webhook URL or of a template with `{attempt}`, or None if there is no fault."""
    if len(url) > LENGTH_LIMIT - len(_SOME_ATTEMPT) and len(filled(url, _SOME_ATTEMPT)) > LENGTH_LIMIT:
        return TOO_LONG
    match = _URL.fullmatch(url)
    if match is None:
        return next(reason for pattern, reason in _DIAGNOSES if re.search(pattern, url))
    scheme, host, port = match.groups()
    if port is not None and not 0 < int(port) < 65_536:
        return _PORT
    return _host_fault(scheme.lower(), host.lower())


def base_fault(url: str) -> Fault | None:
    """Return the fault of a base URL, to which paths are appended, or None if there is no fault."""
    return fault(url) or (_QUERY if "?" in url else None)


@lru_cache(maxsize=4096)
def _host_fault(scheme: str, host: str) -> Fault | None:
    """Return the fault of a lower-case host with this scheme, or None if there is no fault."""
    labels = host.split(".")
    try:
        if host.startswith("["):
            IPv6Address(host[1:-1])
        elif labels[-1].isdigit():
            IPv4Address(host)
    except AddressValueError:
        return _HOST
    if not host.startswith("[") and (len(host) > 253 or not all(map(_LABEL.fullmatch, labels))):
        return _HOST
    return _HTTP if scheme == "http" and not is_loopback(host.strip("[]")) else None
