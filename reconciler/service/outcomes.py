"""Decides the outcome of a call from its response or the lack of a response. No other module decides it.

The status decides first. The body matters only if a 2xx response holds an HTML page, which a proxy or gateway may
have sent in place of the API: such a page says nothing about the call.
"""

from __future__ import annotations

import re
import time
import zlib
from contextlib import suppress
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from reconciler.model.outcome import Answer, Outcome
from reconciler.service.redaction import error_text, excerpt
from reconciler.service.transport import Failure, Reply

if TYPE_CHECKING:
    from collections.abc import Collection

_MOVED = (301, 307, 308)  # these ask to send the POST elsewhere; 302 and 303 may answer a POST that was processed
_MAYBE_DONE = (408, 499)  # a server or a proxy timed out, perhaps while the service was still processing the call
_SECONDS = re.compile(r"[+-]?\d{1,9}(\.\d{0,9})?")
_PAGE_TYPES = {"text/html", "application/xhtml+xml"}
_CONSIDERED, _INFLATED = 1 << 16, 1 << 12  # bytes of a body that are searched for HTML, as received or decompressed
_PAGE_START = re.compile(rb"(?:\s+|<!--.*?-->|<\?.*?\?>)*+<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL)
_MARKS = re.compile(rb"\A(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)")


def outcome_of(result: Reply | Failure, secrets: Collection[str]) -> Answer:
    """Return the answer for the result of a call; its detail contains none of `secrets`."""
    if isinstance(result, Failure):
        outcome = Outcome.UNKNOWN if result.sent else Outcome.NOT_SENT
        return Answer(outcome, detail=excerpt(result.reason, secrets))
    outcome = _outcome_of_reply(result)
    return Answer(
        outcome,
        status=result.status,
        detail=_detail(result, outcome, secrets),
        date=excerpt(result.headers["date"], secrets, 40) if "date" in result.headers else None,
        retry_after=_seconds(result.headers.get("retry-after", "")) if result.status == 429 else None,
        body=result.body,
        head=result.head,
    )


def _outcome_of_reply(reply: Reply) -> Outcome:
    status = reply.status
    if 200 <= status < 300:
        return Outcome.UNKNOWN if _is_page(reply) else Outcome.CREATED
    if status in _MOVED or (400 <= status < 500 and status not in _MAYBE_DONE):
        return Outcome.REJECTED
    return Outcome.UNKNOWN


def _detail(reply: Reply, outcome: Outcome, secrets: Collection[str]) -> str | None:
    if outcome is Outcome.CREATED:
        return None if reply.whole else f"the response was cut off after {len(reply.body)} bytes"
    try:
        named = f"HTTP {reply.status} {HTTPStatus(reply.status).phrase}"
    except ValueError:
        named = f"HTTP {reply.status}"
    if 200 <= reply.status < 300:
        return f"{named} with an HTML page: a proxy may have answered instead of the API"
    if reply.status in _MOVED:
        location = excerpt(_host(reply.headers.get("location", "")), secrets)
        return f"{named}: redirect to {location} not followed; check the address"
    text = error_text(reply.body, secrets)
    return f"{named}: {text}" if text else named


def _host(location: str) -> str:
    try:
        return urlsplit(location).hostname or "another path"
    except ValueError:
        return "an unreadable address"


def _is_page(reply: Reply) -> bool:
    """True if the content type or the first bytes of a response, possibly compressed, are those of an HTML page."""
    kinds = {kind.partition(";")[0].strip().lower() for kind in reply.headers.get("content-type", "").split(",")}
    if kinds & _PAGE_TYPES:
        return True
    candidates = [reply.body[:_CONSIDERED]]
    for window in (32 + zlib.MAX_WBITS, -zlib.MAX_WBITS):  # gzip or zlib by their first bytes, or raw deflate
        with suppress(zlib.error):
            candidates.append(zlib.decompressobj(window).decompress(candidates[0], _INFLATED))
    # In UTF-16 and UTF-32 at least every other byte of a tag is zero.
    return any(_PAGE_START.match(_MARKS.sub(b"", body.replace(b"\0", b""))) for body in candidates)


def _seconds(retry_after: str) -> float | None:
    """Return the delay in seconds from a Retry-After header (RFC 9110, section 10.2.3), or None if it is invalid."""
    text = retry_after.strip()
    if _SECONDS.fullmatch(text):
        return max(0.0, float(text))
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
