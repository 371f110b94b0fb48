"""Requests and responses as values, and in what manner a response goes over the wire."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Manner(Enum):
    """How a response goes out: whole, or in one of the ways in which networks lose them."""

    WHOLE = auto()
    RESET = auto()  # nothing of it, the connection is reset
    HANG = auto()  # nothing of it, the connection stays open
    DRIP = auto()  # a byte a second
    HALF = auto()  # the head and half of the body, then a reset
    FLOOD = auto()  # the body, and white space up to 100 MB


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `path` is without the query, `headers` have lower-case names.

    `read` gives the body, once it is wanted; it raises Refusal for a body that is not taken.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    read: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Response:
    """One response; Content-Length is put in by whoever sends it."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    manner: Manner = Manner.WHOLE


class Refusal(Exception):
    """A request that is answered with an error; never leaves `handle`."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


def json_response(status: int, document: object, *headers: tuple[str, str]) -> Response:
    """A response with a JSON body."""
    return Response(status, json.dumps(document).encode(), (("Content-Type", "application/json"), *headers))


def error_response(status: int, error: str, description: str, *headers: tuple[str, str]) -> Response:
    """An error in the shape OAuth 2.0 gives it (RFC 6749, section 5.2), which serves for the APIs too.

    The service's own error bodies are not shown (SERVICE.md, section 7).
    """
    return json_response(status, {"error": error, "error_description": description}, *headers)


def refusal(status: int, error: str, description: str, *headers: tuple[str, str]) -> Refusal:
    """The exception that answers a request with an error."""
    return Refusal(error_response(status, error, description, *headers))
