"""The receiver as a function from request to response, and its report of each request."""

import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from reconciler.receiver.captured import Captured, line_of
from reconciler.receiver.endpoint import Answer
from reconciler.receiver.exchange import Request, Response
from reconciler.receiver.readable import unreadable
from reconciler.receiver.redeliveries import Redeliveries


class Behaviour(Struct, frozen=True):
    """How the receiver answers a notification that it could confirm.

    The first `fail_first` deliveries of each notification get a 503; the others get `status`, after `delay` seconds.
    `enforce`: a bad signature is refused, not only reported.
    """

    status: int = 200
    fail_first: int = 0
    delay: float = 0.0
    enforce: bool = True


class Delivery(Struct, frozen=True):
    """One request and the status it was answered with.

    `number` counts the deliveries of a notification, from 1; None for what was refused unread or cannot be read.
    `problem` is what was wrong with the request, or why it failed; `endpoint` what it was answered where it was passed
    on.
    """

    request: Captured
    method: str
    status: int
    number: int | None = None
    problem: str | None = None
    endpoint: Answer | None = None


class Receiver:
    """Answers requests, from any number of threads.

    `save` appends a line durably, or raises OSError; `report` gets every delivery before it is answered; `check` gives
    what is wrong with the signature of a request, None if it is right; `sleep` waits for a number of seconds, or less
    when the receiver is about to end. `pass_on` sends a request to an endpoint after it was saved: the receiver then
    answers as the endpoint did, to any body.
    """

    def __init__(
        self,
        save: Callable[[bytes], None],
        report: Callable[[Delivery], None],
        behaviour: Behaviour | None = None,
        check: Callable[[Request], str | None] | None = None,
        sleep: Callable[[float], object] = time.sleep,
        pass_on: Callable[[Request], Answer] | None = None,
    ) -> None:
        self._save = save
        self._report = report
        self._behaviour = behaviour or Behaviour()
        self._check = check
        self._sleep = sleep
        self._pass_on = pass_on
        self._redeliveries = Redeliveries()

    def remember(self, earlier: Iterable[Captured]) -> None:
        """Treat requests that were captured earlier as confirmed, but for those that were refused."""
        for captured in earlier:
            if captured.confirmed:
                self._redeliveries.count(captured.path, captured.body)
                self._redeliveries.confirm(captured.path, captured.body)

    def handle(self, request: Request) -> Response:
        """The response to any request: 2xx or 401 after it has been saved; 400 or 413 if it cannot be read."""
        delivery, response = self._judge(request, _captured(request))
        self._report(delivery)
        return response

    def _judge(self, request: Request, captured: Captured) -> tuple[Delivery, Response]:
        refusal = request.problem or _refuse_method(request)
        if refusal is not None:
            return _refused(request, captured, refusal)
        bad_signature = self._check(request) if self._check else None
        if self._check:
            captured = replace(captured, verified=bad_signature is None)
        if bad_signature is not None and self._behaviour.enforce:
            return self._refuse_signature(request, captured, Response(401, bad_signature))
        problem = unreadable(request.body)
        if problem is None:
            return self._receive(request, captured, bad_signature)
        if self._pass_on is None:
            return _refused(request, captured, Response(400, problem))
        return self._accept(request, captured, None, problem)

    def _refuse_signature(self, request: Request, captured: Captured, refusal: Response) -> tuple[Delivery, Response]:
        """Refuse, and save what may be a notification: it can be the only evidence of a create of unknown outcome."""
        captured = replace(captured, confirmed=False)
        failure = self._save_line(captured) if unreadable(request.body) is None else None
        return _refused(request, captured, failure or refusal)

    def _receive(self, request: Request, captured: Captured, bad_signature: str | None) -> tuple[Delivery, Response]:
        """Confirm a notification, or fail on purpose; a `bad_signature` is only reported."""
        number = self._redeliveries.count(captured.path, captured.body)
        if number <= self._behaviour.fail_first:
            failed = Response(503, f"simulated failure {number} of {self._behaviour.fail_first}")
            return _refused(request, captured, failed, number)
        return self._accept(request, captured, number, bad_signature)

    def _accept(
        self, request: Request, captured: Captured, number: int | None, problem: str | None
    ) -> tuple[Delivery, Response]:
        """Save a request, unless it is not to be confirmed, pass it on, and answer it."""
        response, answer = Response(self._behaviour.status), None
        if response.is_confirmation:
            captured = replace(captured, duplicate=self._redeliveries.confirm(captured.path, captured.body))
            failure = self._save_line(captured)
            if failure is not None:
                return _refused(request, captured, failure, number)
        if self._pass_on is not None:
            answer = self._pass_on(request)
            response = answer.response()
        self._sleep(self._behaviour.delay)
        return Delivery(captured, request.method, response.status, number, problem, answer), response

    def _save_line(self, captured: Captured) -> Response | None:
        """The answer if a request could not be saved, so that the service delivers it again."""
        try:
            self._save(line_of(captured))
        except OSError as problem:
            if captured.confirmed and not captured.duplicate:
                self._redeliveries.withdraw(captured.path, captured.body)
            return Response(503, f"could not save it: {problem.strerror or type(problem).__name__}")
        return None


def _refused(
    request: Request, captured: Captured, response: Response, number: int | None = None
) -> tuple[Delivery, Response]:
    return Delivery(captured, request.method, response.status, number, response.text), response


def _refuse_method(request: Request) -> Response | None:
    if request.method == "POST":
        return None
    return Response(405, "expected POST", (("Allow", "POST"),))


def _captured(request: Request) -> Captured:
    host = request.header("host")
    scheme = request.header("x-forwarded-proto")
    url = f"{scheme if scheme in ('http', 'https') else 'http'}://{host}{request.target}" if host else None
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return Captured(at, request.body, request.target, url, request.headers, fields=request.fields)
