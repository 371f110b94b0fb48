"""The outcome of a call: the one place where a status or a failure turns into an outcome."""

import json
import re
import time
from collections.abc import Collection
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from itertools import islice
from urllib.parse import urlsplit

from reconciler.model.outcome import Answer, Outcome
from reconciler.service.exchange import Failure, Reply
from reconciler.service.pages import is_page
from reconciler.service.redaction import excerpt, reveals

_MOVED = (301, 307, 308)
_MAYBE_DONE = (408, 499)  # a server or proxy timed out, perhaps while the service still processed the call
_SECONDS = re.compile(r"[+-]?\d{1,9}(\.\d{0,9})?")
_MOST_FIELDS = 16
_CONSIDERED_FIELDS = 64  # more would delay the recording of the outcome
_FIELD_LENGTH = 128  # characters
_OPAQUE = re.compile(r"[\w+=~-]{65,}")
_CREDENTIAL_NAME = re.compile(
    r"session|token|secret|password|credential|(sign\w*|hmac|private|api|access|verification)[_-]?key", re.IGNORECASE
)
_SHORTEST_CREDENTIAL = 8  # characters: any text may contain a shorter one
_MOST_CREDENTIALS = 16
_ERROR_TEXTS = ("message", "error", "title", "detail", "error_description")


def outcome_of(result: Reply | Failure, secrets: Collection[str]) -> Answer:
    """The outcome of the call that gave `result`; the detail contains none of `secrets`."""
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
        return Outcome.UNKNOWN if is_page(reply.headers, reply.body) else Outcome.CREATED
    if status in _MOVED or (400 <= status < 500 and status not in _MAYBE_DONE):
        return Outcome.REJECTED
    return Outcome.UNKNOWN


def _detail(reply: Reply, outcome: Outcome, secrets: Collection[str]) -> str | None:
    if outcome is Outcome.CREATED:
        return None if reply.whole else f"the response was cut off after {len(reply.body)} bytes"
    if 200 <= reply.status < 300:
        return f"{_named(reply.status)} with an HTML page: a proxy may have answered instead of the API"
    if reply.status in _MOVED:
        location = excerpt(_host(reply.headers.get("location", "")), secrets)
        return f"{_named(reply.status)}: redirect to {location} not followed; check the address"
    text = error_text(reply.body, secrets)
    return f"{_named(reply.status)}: {text}" if text else _named(reply.status)


def _named(status: int) -> str:
    """The status with the name that the standard gives it, not the server."""
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def _host(location: str) -> str:
    try:
        return urlsplit(location).hostname or "another path"
    except ValueError:
        return "an unreadable address"


def json_object(body: bytes) -> dict[str, object]:
    """The JSON object that `body` is, or an empty one for anything else."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def error_text(body: bytes, secrets: Collection[str]) -> str:
    """The text of a JSON error, from the members that such errors usually have (API errors are not documented)."""
    error = json_object(body)
    texts = [text for name in _ERROR_TEXTS if isinstance(text := error.get(name), str) and text.strip()]
    return excerpt(", ".join(dict.fromkeys(texts)), [*secrets, *_credentials_in(error)])


def harmless_fields(
    body: bytes, sent: Collection[str], secrets: Collection[str] = ()
) -> dict[str, str | int | float | bool]:
    """What of a response may be stored unencrypted: its top-level identifiers, and scalars equal to what was `sent`.

    At most 16 fields of 128 characters, and none that may be a credential: a token, a long opaque text, one of
    `secrets` in any spelling, or the value of a field named like one, such as a session id, anywhere in the response.
    """
    response = json_object(body)
    hidden = {*secrets, *_credentials_in(response).difference(sent)}
    candidates = (
        (name, value)
        for name, value in response.items()
        if isinstance(value, str | int | float) and (_is_identifier(name, value) or value in sent)
        if len(name) <= _FIELD_LENGTH and _is_plain(name) and _is_plain(value)
    )
    harmless = (
        (name, value)
        for name, value in islice(candidates, _CONSIDERED_FIELDS)
        if not reveals(name, hidden) and not reveals(str(value), hidden)
    )
    return dict(islice(harmless, _MOST_FIELDS))


def _credentials_in(document: object) -> set[str]:
    """The texts, up to a limit, of fields named like a credential, such as a subscription's secret."""
    credentials: set[str] = set()
    unvisited = [document]
    while unvisited and len(credentials) < _MOST_CREDENTIALS:
        match unvisited.pop():
            case dict() as fields:
                unvisited += fields.values()
                named = (text for name, text in fields.items() if _CREDENTIAL_NAME.search(name))
                long = (text for text in named if isinstance(text, str) and len(text) >= _SHORTEST_CREDENTIAL)
                credentials.update(islice(long, _MOST_CREDENTIALS))
            case list() as items:
                unvisited += items
    return credentials


def _is_identifier(name: str, value: str | float) -> bool:
    text = str(value)
    return (
        (name == "id" or name.endswith("Id"))
        and not _CREDENTIAL_NAME.search(name)
        and len(text) <= _FIELD_LENGTH
        and not _OPAQUE.search(text)
    )


def _is_plain(value: str | float) -> bool:
    """Whether a journal can hold the value: finite, without control characters and lone surrogates."""
    if isinstance(value, str):
        return value.isprintable()
    return abs(value) < 2**63


def _seconds(retry_after: str) -> float | None:
    """The seconds that a Retry-After, in seconds or as a date (RFC 9110, section 10.2.3), asks for; None if invalid."""
    text = retry_after.strip()
    if _SECONDS.fullmatch(text):
        return max(0.0, float(text))
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
