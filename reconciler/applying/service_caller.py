"""Makes the calls of one target, and saves each response before its outcome is reported."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.applying.events import Answered
from reconciler.errors import ReconcilerError
from reconciler.model.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.applying.events import Send
    from reconciler.service.api import Service

log = logging.getLogger("reconciler.applying")


class ServiceCaller:
    """The create calls of one target. `keep` saves a response for an attempt and says where (`Settled.response`).

    A response is saved whole, as an HTTP message: its headers may hold what its body does not.
    """

    def __init__(self, service: Service, keep: Callable[[str, bytes], str]) -> None:
        self._service = service
        self._keep = keep

    def authorise(self) -> None:
        """Raises TokenError if no token is available."""
        self._service.authorise()

    def expect(self, calls: int, at_once: int) -> None:
        """So many creates are left, `at_once` in flight at most."""
        self._service.expect_creates(calls, at_once)

    def expect_none(self) -> None:
        self._service.expect_no_creates()

    def create(self, send: Send, may_send: Callable[[], bool]) -> Answered:
        """One create call. The response is saved before the outcome is reported, since it may come only once."""
        answer = self._service.create_subscription(send.request, may_send, renew=send.renew)
        if answer.status == 409:
            advice = f"if it already exists, run: reconciler state import {send.address}"
            answer = replace(answer, detail=f"{answer.detail}; {advice}")
        settled, response = replace(answer, head=b"", body=b""), answer.head + answer.body
        if answer.outcome is not Outcome.CREATED or not response:
            return Answered(send.attempt, settled)
        try:
            return Answered(send.attempt, settled, self._keep(send.attempt, response))
        except Exception as problem:  # noqa: BLE001 - whatever it was, the subscription exists
            why = str(problem) if isinstance(problem, ReconcilerError) else type(problem).__name__
            detail = f"created, but its response could not be saved: {why}"
            log.error("%s: %s; the response is lost", send.address, detail)  # noqa: TRY400 - see `why`
            return Answered(send.attempt, replace(settled, detail=detail), lost=True)
