"""Injects faults into creates, token requests and leads.

The names below are for creates. The prefix `token-` makes them faults of the token endpoint, where "created" means that
the token was issued; the prefix `lead-` makes them faults of leads.

=================  ==============================================================================================
reset-before       not processed: the connection is reset
hang               not processed: no answer until the client disconnects, or for 300 s
400 … 503          not processed; the name is the status: 400, 401, 403, 404, 408, 409, 422, 429, 499, 500, 503
401-once           not processed: a 401, and the token is revoked; a new token is exempt; creates only
429-retry-after    not processed: a 429 with a Retry-After of 1 s; 429-forever: of three years
html-200           not processed: a 200 with an HTML page, like the login page of a captive portal
redirect           not processed: a 307 to another host; redirect-303: a 303 to another host
reset-after        created, then the connection is reset
late               the connection is reset, and the subscription is created two seconds later; creates only
hang-after         created, then no answer
drip               created, then the answer is sent at one byte per second
half               created, then the connection is reset after the headers and half of the body
500-after          created, then a 500; 502-after: created, then a 502
html               created, then a 502 with an HTML page
empty              created, and answered with an empty body
huge               created, and answered with a body of 32 MiB
=================  ==============================================================================================

A fault that prevents the creation applies to every request. The other faults only change the answer to a valid request;
an invalid request is refused as usual.
"""

from __future__ import annotations

import json
import struct
import time
from collections import deque
from enum import Enum, auto
from random import Random
from socket import SO_LINGER, SOL_SOCKET
from typing import TYPE_CHECKING, assert_never

from msgspec import Struct

from reconciler.errors import Message, SettingsError, Step
from reconciler.http_messages import Response
from reconciler.http_server import send_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from socket import socket


DRIP_INTERVAL = 1.0  # seconds
HANG_SECONDS = 300.0


class Manner(Enum):
    """The way in which a response is lost."""

    RESET = auto()  # nothing is sent; the connection is reset
    HANG = auto()  # nothing is sent; the connection stays open
    DRIP = auto()  # one byte per second
    HALF = auto()  # the headers and half of the body, then a reset


class Spoiled(Response, frozen=True, kw_only=True):
    """A response that is lost entirely or in part."""

    manner: Manner


def transmit(connection: socket, head: bytes, response: Response) -> None:
    """Send a response; `manner` determines how a `Spoiled` response is sent.

    Raises OSError if the client has disconnected.
    """
    if not isinstance(response, Spoiled):
        send_whole(connection, head, response)
        return
    match response.manner:
        case Manner.RESET:
            pass
        case Manner.HANG:
            _is_gone(connection, HANG_SECONDS)
        case Manner.DRIP:
            data = head + response.body
            while data and not _is_gone(connection, DRIP_INTERVAL):
                connection.sendall(data[:1])
                data = data[1:]
        case Manner.HALF:
            connection.sendall(head + response.body[: len(response.body) // 2])
            time.sleep(0.05)  # a reset may discard bytes that the client has not read yet
        case _:
            assert_never(response.manner)
    if response.manner in (Manner.RESET, Manner.HALF):
        connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def _is_gone(connection: socket, seconds: float) -> bool:
    """Wait up to `seconds` for the client to disconnect, and return True if it has disconnected."""
    connection.settimeout(seconds)
    try:
        while connection.recv(65_536):
            pass
    except TimeoutError:
        return False
    return True


_HTML = (("Content-Type", "text/html; charset=utf-8"),)
_PAGE = b"<!DOCTYPE html><html><head><title>Gateway</title></head><body><h1>Something else answered</h1></body></html>"
_STATUSES = (400, 401, 403, 404, 408, 409, 422, 429, 499, 500, 503)
_KINDS = ("create", "token", "lead")


class Fault(Struct, frozen=True):
    """A fault to inject. `processed` is true if the request is processed, and `spoil` changes its response.

    `revokes` means that the request's token is revoked. `late` means that the subscription is created later.
    """

    spoil: Callable[[Response], Response]
    processed: bool = False
    revokes: bool = False
    late: bool = False


def error_response(status: int, error: str, description: str, *headers: tuple[str, str]) -> Response:
    """Return an error response in the format of OAuth 2.0 (RFC 6749, section 5.2), which all endpoints use.

    The service's own error bodies are not documented (service description, section 7).
    """
    body = json.dumps({"error": error, "error_description": description}).encode()
    return Response(status, body, (("Content-Type", "application/json"), *headers))


def _lost(manner: Manner) -> Callable[[Response], Response]:
    return lambda response: Spoiled(response.status, response.body, response.headers, manner=manner)


def _instead(answer: Response) -> Callable[[Response], Response]:
    return lambda _: answer


def _error(status: int, *headers: tuple[str, str]) -> Callable[[Response], Response]:
    return _instead(error_response(status, "sandbox_fault", f"injected fault {status}", *headers))


def _with_body(change: Callable[[bytes], bytes]) -> Callable[[Response], Response]:
    return lambda response: Response(response.status, change(response.body), response.headers)


FAULTS: Mapping[str, Fault] = {
    "reset-before": Fault(_lost(Manner.RESET)),
    "hang": Fault(_lost(Manner.HANG)),
    **{str(status): Fault(_error(status)) for status in _STATUSES},
    "401-once": Fault(_error(401), revokes=True),
    "429-retry-after": Fault(_error(429, ("Retry-After", "1"))),
    "429-forever": Fault(_error(429, ("Retry-After", "99999999"))),
    "html-200": Fault(_instead(Response(200, _PAGE, _HTML))),
    "redirect": Fault(_error(307, ("Location", "/elsewhere"))),
    "redirect-303": Fault(_error(303, ("Location", "/elsewhere"))),
    "late": Fault(_lost(Manner.RESET), late=True),
    "reset-after": Fault(_lost(Manner.RESET), processed=True),
    "hang-after": Fault(_lost(Manner.HANG), processed=True),
    "drip": Fault(_lost(Manner.DRIP), processed=True),
    "half": Fault(_lost(Manner.HALF), processed=True),
    "500-after": Fault(_error(500), processed=True),
    "502-after": Fault(_error(502), processed=True),
    "html": Fault(_instead(Response(502, _PAGE, _HTML)), processed=True),
    "empty": Fault(_with_body(lambda _: b""), processed=True),
    "huge": Fault(_with_body(lambda body: body + b" " * (1 << 25)), processed=True),
}

_ANYWHERE = [name for name, fault in FAULTS.items() if not fault.revokes and not fault.late]
FAULT_NAMES = (*FAULTS, *(f"{kind}-{name}" for kind in _KINDS[1:] for name in _ANYWHERE))


class FaultPlan:
    """Chooses a fault, or none, for each request: a fault set with `fail_next` comes first, otherwise chance decides.

    `probabilities` maps fault names to numbers from 0 to 1; the numbers for one endpoint add up to at most 1. With
    the same `seed`, each endpoint repeats its sequence of faults. Raises SettingsError for an unknown name or an
    invalid probability.
    """

    def __init__(self, probabilities: Mapping[str, float], seed: int | None = None) -> None:
        self._scripted = {kind: deque[tuple[str, str | None]]() for kind in _KINDS}
        self._odds: dict[str, list[tuple[str, float]]] = {kind: [] for kind in _KINDS}
        self._random = {kind: Random(None if seed is None else f"{seed}/{kind}") for kind in _KINDS}  # noqa: S311
        for full_name, probability in sorted(probabilities.items()):
            kind, name = _parse_name(full_name)
            if not 0 <= probability <= 1:
                steps = (Step("use a number from 0 to 1"),)
                raise SettingsError(Message("bad-probability", f"not a probability: {probability}", full_name, steps))
            self._odds[kind].append((name, probability))
        for kind, odds in self._odds.items():
            if sum(probability for _, probability in odds) > 1 + 1e-9:
                what = f"the fault probabilities of {kind} requests add up to more than 1"
                raise SettingsError(Message("bad-probability", what, ", ".join(name for name, _ in odds)))

    def fail_next(self, full_name: str, count: int = 1, target: str | None = None) -> None:
        """Inject this fault into the next `count` requests (to `target`, if given). Raises SettingsError."""
        kind, name = _parse_name(full_name)
        self._scripted[kind].extend([(name, target)] * count)

    def draw(self, kind: str, targets: Collection[str], *, spared: bool = False) -> Fault | None:
        """Return the fault for the next request to one of `targets`, or None.

        If `spared` is true, a fault that revokes the token is not chosen at random.
        """
        for scripted in self._scripted[kind]:
            if scripted[1] is None or scripted[1] in targets:
                self._scripted[kind].remove(scripted)
                return FAULTS[scripted[0]]
        point = self._random[kind].random()
        for name, probability in self._odds[kind]:
            point -= probability
            if point < 0:
                return None if spared and FAULTS[name].revokes else FAULTS[name]
        return None


def _parse_name(full_name: str) -> tuple[str, str]:
    if full_name not in FAULT_NAMES:
        steps = (Step(f"valid faults: {', '.join(FAULT_NAMES)}"),)
        raise SettingsError(Message("unknown-fault", "unknown fault", full_name, steps))
    kind, _, name = full_name.partition("-")
    return (kind, name) if kind in _KINDS[1:] else (_KINDS[0], full_name)
