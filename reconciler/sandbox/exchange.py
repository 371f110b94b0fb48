"""Requests and responses as values, and the manner in which a response is sent."""

import json
from collections.abc import Callable, Mapping
from enum import Enum, auto

from msgspec import Struct


class Manner(Enum):
    """How a response is sent: whole, or in one of the ways in which networks lose it."""

    WHOLE = auto()
    RESET = auto()  # nothing is sent, the connection is reset
    HANG = auto()  # nothing is sent, the connection stays open
    DRIP = auto()  # a byte a second
    HALF = auto()  # the head and half of the body, then a reset
    FLOOD = auto()  # the body, and white space up to 100 MB


class Request(Struct, frozen=True):
    """One request. `path` is without the query, `headers` have lower-case names.

    `read` gives the body; it raises Refusal for a body that is not accepted.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    read: Callable[[], bytes]


class Response(Struct, frozen=True):
    """One response; the shell adds Content-Length."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    manner: Manner = Manner.WHOLE


class Refusal(Exception):
    """The error that answers a request; caught in `handle`."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


def json_response(status: int, document: object, *headers: tuple[str, str]) -> Response:
    """A response with a JSON body."""
    return Response(status, json.dumps(document).encode(), (("Content-Type", "application/json"), *headers))


def error_response(status: int, error: str, description: str, *headers: tuple[str, str]) -> Response:
    """An error in the shape OAuth 2.0 gives it (RFC 6749, section 5.2), for the APIs too.

    The service's own error bodies are not documented (SERVICE.md, section 7).
    """
    return json_response(status, {"error": error, "error_description": description}, *headers)


def refusal(status: int, error: str, description: str, *headers: tuple[str, str]) -> Refusal:
    """The exception that answers a request with an error."""
    return Refusal(error_response(status, error, description, *headers))
