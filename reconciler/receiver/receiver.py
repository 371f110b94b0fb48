"""The receiver as one function from request to response, and what it tells of each request."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from reconciler.receiver.captured import Captured, line_of
from reconciler.receiver.exchange import Response
from reconciler.receiver.readable import unreadable
from reconciler.receiver.repeats import Repeats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from reconciler.receiver.exchange import Request


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How the receiver answers what it could confirm.

    `fail_first`: that many deliveries of each notification get a 503; `status` is for the others, and `delay`, in
    seconds, passes before it. `enforce`: a signature that is not right is refused, not only told.
    """

    status: int = 200
    fail_first: int = 0
    delay: float = 0.0
    enforce: bool = True


@dataclass(frozen=True, slots=True)
class Signature:
    """What became of verifying a signature: None as `problem` where it is right."""

    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One request and its answer, to be told. `number` counts the deliveries of a notification, from 1; None where the
    request was none. `problem` says what was wrong with it, or why it failed.
    """

    request: Captured
    method: str
    status: int
    number: int | None = None
    problem: str | None = None


class Receiver:
    """Answers requests, from any number of threads.

    `keep` appends a line durably, or raises OSError; `tell` gets every delivery before it is answered; `verify` says
    whether the signature of a request is right; `sleep` waits so many seconds, or less when the receiver is to end.
    """

    def __init__(
        self,
        keep: Callable[[bytes], None],
        tell: Callable[[Delivery], None],
        behaviour: Behaviour | None = None,
        verify: Callable[[Request], Signature] | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._keep = keep
        self._tell = tell
        self._behaviour = behaviour or Behaviour()
        self._verify = verify
        self._sleep = sleep
        self._repeats = Repeats()

    def remember(self, earlier: Iterable[Captured]) -> None:
        """Take requests for confirmed that were captured before, but for those that were refused."""
        for one in earlier:
            if not one.confirmed:
                continue
            self._repeats.count(one.path, one.body)
            self._repeats.confirm(one.path, one.body)

    def handle(self, request: Request) -> Response:
        """The response to a request, whatever it is: 2xx, or 401, once it is kept; 400 or 413 if unreadable."""
        delivery, response = self._judge(request, _captured(request))
        self._tell(delivery)
        return response

    def _judge(self, request: Request, captured: Captured) -> tuple[Delivery, Response]:
        refusal = request.problem or _refuse_method(request)
        if refusal is not None:
            return _refused(request, captured, refusal)
        signature = self._verify(request) if self._verify else None
        doubt = signature.problem if signature else None
        if signature is not None:
            captured = replace(captured, verified=doubt is None)
        if doubt is not None and self._behaviour.enforce:
            return self._refuse_signature(request, captured, Response(401, doubt))
        problem = unreadable(request.body)
        if problem is not None:
            return _refused(request, captured, Response(400, problem))
        return self._receive(request, captured, doubt)

    def _refuse_signature(self, request: Request, captured: Captured, refusal: Response) -> tuple[Delivery, Response]:
        """Refuses, and keeps what may be a notification: of an unknown create there may be no more than its events."""
        captured = replace(captured, confirmed=False)
        failure = self._keep_line(captured) if unreadable(request.body) is None else None
        return _refused(request, captured, failure or refusal)

    def _receive(self, request: Request, captured: Captured, doubt: str | None) -> tuple[Delivery, Response]:
        """Confirms a notification, or fails on purpose. `doubt` is what is wrong with it all the same."""
        number = self._repeats.count(captured.path, captured.body)
        if number <= self._behaviour.fail_first:
            failed = Response(503, f"failed on purpose, {number} of {self._behaviour.fail_first}")
            return _refused(request, captured, failed, number)
        response = Response(self._behaviour.status)
        if response.is_confirmation:
            captured = replace(captured, duplicate=self._repeats.confirm(captured.path, captured.body))
            failure = self._keep_line(captured)
            if failure is not None:
                return _refused(request, captured, failure, number)
        self._sleep(self._behaviour.delay)
        return Delivery(captured, request.method, response.status, number, doubt), response

    def _keep_line(self, captured: Captured) -> Response | None:
        """The answer where a request could not be kept: the service is to deliver it again."""
        try:
            self._keep(line_of(captured))
        except OSError as problem:
            if captured.confirmed and not captured.duplicate:
                self._repeats.withdraw(captured.path, captured.body)
            return Response(503, f"it could not be kept: {problem.strerror or type(problem).__name__}")
        return None


def _refused(
    request: Request, captured: Captured, response: Response, number: int | None = None
) -> tuple[Delivery, Response]:
    return Delivery(captured, request.method, response.status, number, response.text), response


def _refuse_method(request: Request) -> Response | None:
    if request.method == "POST":
        return None
    return Response(405, "notifications are POSTed (SERVICE.md, section 4.4)", (("Allow", "POST"),))


def _captured(request: Request) -> Captured:
    host = request.header("host")
    scheme = request.header("x-forwarded-proto")
    url = f"{scheme if scheme in ('http', 'https') else 'http'}://{host}{request.target}" if host else None
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return Captured(at, request.body, request.target, url, request.headers)
