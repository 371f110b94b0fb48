"""URLs with `{attempt}`: which attempt a notification is for."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import urlsplit

from reconciler.model.url import ATTEMPT, normal_url


def attempt_of(url: str, template: str) -> str | None:
    """Return the id of the attempt in a URL: the 32 hex digits at `{attempt}` in the template.

    `url` may also be a path with its query, as a request has it. None if the URL does not fit the template, or that has
    no `{attempt}`.
    """
    fit = _fit(url, template)
    return fit.group(1) if fit is not None and fit.re.groups else None


def fits(url: str, template: str) -> bool:
    """True if a URL, or a path with its query, is the template with the id of some attempt in it."""
    return _fit(url, template) is not None


def _fit(url: str, template: str) -> re.Match[str] | None:
    try:
        is_path = url.startswith("/")
        return _pattern(template, is_path).fullmatch(url if is_path else normal_url(url))
    except ValueError:  # not a URL
        return None


@lru_cache(maxsize=65_536)
def _pattern(template: str, is_path: bool) -> re.Pattern[str]:
    normal = normal_url(template)
    if is_path:
        parts = urlsplit(normal)
        normal = parts.path + (f"?{parts.query}" if "?" in normal else "")
    first, *others = normal.split(ATTEMPT)
    rest = [
        ("(?P<id>[0-9a-f]{32})" if number == 0 else "(?P=id)") + re.escape(part) for number, part in enumerate(others)
    ]
    return re.compile(re.escape(first) + "".join(rest))
