"""Checks of requests; each gives the value that it checked, or raises the refusal that answers the request."""

import json
import re
from typing import NoReturn
from urllib.parse import urlsplit

from reconciler.sandbox.exchange import Request, refusal

_EVENT_CODE = re.compile(r"[A-Z]{3}[0-9]{5}")
_JSON = "application/json"


def bearer_token(request: Request) -> str:
    """The token in the authorization header. Refuses with 401."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise refusal(401, "invalid_token", "no Bearer token was sent", ("WWW-Authenticate", "Bearer"))
    return token.strip()


def check_accept(request: Request) -> None:
    """Refuse with 406 a request that does not name JSON in `accept`."""
    if _JSON not in _media_types(request.headers.get("accept", "")):
        raise refusal(406, "not_acceptable", f"accept must be {_JSON}")


def json_object(request: Request) -> dict[str, object]:
    """The request's body. Refuses another content type with 415, and what is not a JSON object with 400.

    Numbers with a fraction or an exponent are returned as strings, as written.
    """
    if _media_types(request.headers.get("content-type", "")) != [_JSON]:
        raise refusal(415, "unsupported_media_type", f"content-type must be {_JSON}")
    try:
        document = json.loads(request.read().decode(), parse_float=str, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise refusal(400, "invalid_request", "the body is not JSON") from None
    if not isinstance(document, dict):
        raise refusal(400, "invalid_request", "the body is not a JSON object")
    return document


def subscription_of(document: dict[str, object]) -> tuple[tuple[str, ...], str]:
    """Event codes and URL of a create request (SERVICE.md, section 2.2). Refuses with 400 anything else."""
    if set(document) != {"eventCodes", "webhookUrl"}:
        raise refusal(400, "invalid_request", "expected exactly the fields eventCodes and webhookUrl")
    codes, url = document["eventCodes"], document["webhookUrl"]
    if not isinstance(codes, list) or not codes:
        raise refusal(400, "invalid_request", "eventCodes must be a non-empty array")
    if not all(is_event_code(code) for code in codes):
        raise refusal(400, "invalid_request", "expected event codes of three capital letters and five digits")
    if not isinstance(url, str) or not _is_absolute_url(url):
        raise refusal(400, "invalid_request", "webhookUrl must be an absolute http or https URL")
    return tuple(codes), url


def is_event_code(value: object) -> bool:
    """Whether a value has the form of an event code."""
    return isinstance(value, str) and _EVENT_CODE.fullmatch(value) is not None


def _is_absolute_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and has_host and text.isprintable() and " " not in text


def _media_types(header: str) -> list[str]:
    return [media_type.partition(";")[0].strip().lower() for media_type in header.split(",")]


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)
