"""Normalises URLs for comparison, and recognises loopback hosts."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"https": 443, "http": 80}
_USUAL = re.compile(r"https?://[a-z0-9._-]+/[!-\"$-~]*")
"""A pattern that matches only URLs already in normal form, but not all of them."""


def is_placeholder(url: str) -> bool:
    """True if the host ends in .example (RFC 2606), as in the `config/` of a new project; no such host exists."""
    return (urlsplit(url).hostname or "").endswith(".example")


def normal_url(url: str) -> str:
    """Return `url` in normal form: scheme and host in lower case, without the default port, and with a path."""
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


@lru_cache(maxsize=1024)
def service_key(base_url: str) -> str:
    """Return the key of a service, which is the same for all spellings of its base URL (RFC 3986, section 6.2.2).

    The key is only for comparison: URLs are recorded and called as written.
    """
    key = normal_url(base_url).rstrip("/")
    scheme, _, rest = key.partition("://")
    host, slash, path = rest.partition("/")
    if "." not in path and "%" not in path and host[0:1] != "[" and not host.endswith(".") and ".:" not in host:
        return key
    return f"{scheme}://{_plain_host(host)}{slash}{_plain_path(path)}".rstrip("/")


def _plain_host(host: str) -> str:
    """Return a host and port without the final dot of an absolute name. An IPv6 address is shortened."""
    name, colon, port = host.partition("]:" if host.startswith("[") else ":")
    if not host.startswith("["):
        return f"{name.removesuffix('.')}{colon}{port}"
    try:
        return f"[{ip_address(name.strip('[]')).compressed}]{colon.strip(']')}{port}"
    except ValueError:
        return host


def _plain_path(path: str) -> str:
    """Return a path without its first slash, with unnecessary escapes decoded and `.` and `..` resolved."""
    segments: list[str] = []
    for segment in re.sub("%[0-9A-Fa-f]{2}", _plain_escape, path).split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment != ".":
            segments.append(segment)
    return "/".join(segments)


def _plain_escape(found: re.Match[str]) -> str:
    character = chr(int(found[0][1:], 16))
    plain = character.isascii() and (character.isalnum() or character in "-._~")
    return character if plain else found[0].upper()


def is_sandbox(base_url: str) -> bool:
    """True if the URL is plain http, which only a sandbox on loopback uses."""
    return base_url.lower().startswith("http:")


def is_loopback(host: str) -> bool:
    """True if a host is on this machine: a loopback address, or a name that RFC 6761 reserves for loopback."""
    try:
        return host == "localhost" or host.endswith(".localhost") or ip_address(host).is_loopback
    except ValueError:
        return False


ATTEMPT = "{attempt}"
"""The placeholder for the attempt's id in a template."""


def has_attempt(template: str) -> bool:
    """True if a template contains `{attempt}`, so that each create has its own URL."""
    return ATTEMPT in template


def filled(template: str, attempt: str) -> str:
    """Return the URL that a create with this attempt id sends."""
    return template.replace(ATTEMPT, attempt)
