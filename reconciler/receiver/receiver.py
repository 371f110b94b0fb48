"""Receives notifications: answers each request and reports it."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.http_messages import Response
from reconciler.notifications.captured import Captured, code_of, line_of
from reconciler.values import stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from reconciler.http_messages import Request

UNVERIFIED_BUDGET = 64 * 1024 * 1024
"""The limit for unverified notifications on disk, in bytes."""

_REMEMBERED = 50_000  # notifications whose repeated deliveries are recognised


class Refusal(Struct, frozen=True):
    """The reason for refusing a request, and the status: 404 for an unknown path, 401 for a bad signature."""

    status: int
    text: str


class Behaviour(Struct, frozen=True):
    """Defines how the receiver answers acceptable notifications.

    The first `fail_first` deliveries of each notification get a 503; later deliveries get `status` after `delay`
    seconds. With `enforce`, a request with a bad signature is refused rather than only reported.
    """

    status: int = 200
    fail_first: int = 0
    delay: float = 0.0
    enforce: bool = True


class Delivery(Struct, frozen=True):
    """A request, and the status of its answer.

    `number` counts the deliveries of a notification from 1; it is None for a refused request. `problem` says why the
    delivery failed or what is wrong with it.
    """

    request: Captured
    method: str
    status: int
    number: int | None = None
    problem: str | None = None


class Receiver:
    """Answers requests from any number of threads.

    `save` appends a line durably or raises OSError. `report` receives every delivery before it is answered. `check`
    returns the reason to refuse a request, or None if the signature is valid. `sleep` waits for a number of seconds.
    """

    def __init__(
        self,
        save: Callable[[bytes], None],
        report: Callable[[Delivery], None],
        behaviour: Behaviour | None = None,
        check: Callable[[Request], Refusal | None] | None = None,
        sleep: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._save, self._report, self._check, self._sleep, self._clock = save, report, check, sleep, clock
        self._behaviour = behaviour or Behaviour()
        self._lock, self._unverified = Lock(), 0
        self._deliveries: OrderedDict[bytes, int] = OrderedDict()

    def remember(self, earlier: Iterable[Captured]) -> None:
        """Count the bytes of earlier unverified notifications, and the deliveries of all other earlier ones."""
        for captured in earlier:
            if captured.verified is False:
                self._unverified += len(line_of(captured))
            else:
                self._count(captured)

    def handle(self, request: Request) -> Response:
        """Handle a request and return the response. A 2xx means that the notification has been saved."""
        is_sound = request.problem is None and request.method == "POST"
        refusal = self._check(request) if self._check and is_sound else None
        verified = refusal is None if self._check and is_sound else None
        host = request.header("host")
        scheme = "https" if request.header("x-forwarded-proto") == "https" else "http"  # as tunnels report it
        url = f"{scheme}://{host}{request.target}" if host else None
        at, code = stamp(self._clock()), code_of(request.body)
        captured = Captured(at, code, request.target, url, verified, request.body, request.headers)
        delivery = self._refuse(request, captured, refusal) or self._receive(request, captured, refusal)
        self._report(delivery)
        allow = (("Allow", "POST"),) if delivery.status == 405 else ()
        text = f"{delivery.problem}\n" if delivery.problem else ""
        return Response(delivery.status, text.encode(), (("Content-Type", "text/plain; charset=utf-8"), *allow))

    def _refuse(self, request: Request, captured: Captured, refusal: Refusal | None) -> Delivery | None:
        """Return the refusal of a request, or None if the request is acceptable.

        A request is refused if it is not a notification, its path is unknown or, with `enforce`, its signature is bad.
        """
        if request.problem is not None:
            return Delivery(
                captured, request.method, request.problem.status, None, request.problem.body.decode().strip()
            )
        if request.method != "POST":
            return Delivery(captured, request.method, 405, None, "expected POST")
        unreadable = _unreadable(request.body)
        if refusal is not None and (self._behaviour.enforce or refusal.status == 404):
            # The notification may be the only evidence of a create whose outcome is unknown and whose secret was lost.
            failure = self._keep(captured) if refusal.status == 401 and not unreadable else None
            text = f"{refusal.text}; {failure}" if failure else refusal.text
            return Delivery(captured, request.method, refusal.status, None, text)
        return Delivery(captured, request.method, 400, None, unreadable) if unreadable else None

    def _receive(self, request: Request, captured: Captured, refusal: Refusal | None) -> Delivery:
        """Accept a notification, or fail as configured. A bad signature is only reported."""
        number = self._count(captured)
        if number <= self._behaviour.fail_first:
            problem = f"simulated failure {number} of {self._behaviour.fail_first}"
            return Delivery(captured, request.method, 503, number, problem)
        if 200 <= self._behaviour.status < 300:
            failure = self._keep(captured)
            if failure is not None:
                return Delivery(captured, request.method, 503, number, failure)
        self._sleep(self._behaviour.delay)
        text = refusal.text if refusal else None
        return Delivery(captured, request.method, self._behaviour.status, number, text)

    def _keep(self, captured: Captured) -> str | None:
        """Save a notification. Return None if it is on disk, otherwise the reason why it was not saved."""
        line = line_of(captured)
        size = len(line) if captured.verified is False else 0
        with self._lock:
            if size and self._unverified + size > UNVERIFIED_BUDGET:
                return f"not kept: there are {UNVERIFIED_BUDGET} bytes of unverified notifications already"
            self._unverified += size
        try:
            self._save(line)
        except OSError as problem:
            with self._lock:
                self._unverified -= size
            return f"could not save the notification: {problem.strerror or type(problem).__name__}"
        return None

    def _count(self, captured: Captured) -> int:
        """Count a delivery, and return its number, from 1, among the deliveries of the same notification."""
        digest = sha256(captured.body)
        digest.update(captured.path.encode())
        with self._lock:
            number = self._deliveries.pop(digest.digest(), 0) + 1
            self._deliveries[digest.digest()] = number
            if len(self._deliveries) > _REMEMBERED:
                self._deliveries.popitem(last=False)
        return number


def _unreadable(body: bytes) -> str | None:
    """Return the reason why a body cannot be a notification, or None. The fields of the body are not checked."""
    try:
        # Numbers stay text: parsing a long int is expensive. `int` refuses NaN and Infinity, which are not JSON.
        document = json.loads(body.decode(), parse_int=str, parse_float=str, parse_constant=int)
    except (ValueError, RecursionError) as problem:
        at = f" (line {problem.lineno}, column {problem.colno})" if isinstance(problem, json.JSONDecodeError) else ""
        return f"the body is not JSON{at}" if body else "the body is empty"
    return None if isinstance(document, dict) else "the body is not a JSON object"
