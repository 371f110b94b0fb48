"""When a sandbox answers: later than it commits, or slowly."""

from __future__ import annotations

import time
from threading import Event
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.sandbox import Sandbox
    from reconciler.sandbox.exchange import Request, Response


def hold_creates(sandbox: Sandbox) -> Event:
    """Have creates be committed, and answered only once the event is set."""
    handle, released = sandbox._server.handle, Event()

    def handle_and_hold(request: Request) -> Response:
        response = handle(request)
        if request.path.endswith("/webhooksubscription"):
            released.wait(60)
        return response

    sandbox._server.handle = handle_and_hold
    return released


def slow_down(sandbox: Sandbox, delay: Callable[[], float]) -> None:
    """Have a sandbox wait, in seconds, before and after it does what it is asked to."""
    handle = sandbox._server.handle

    def handle_slowly(request: Request) -> Response:
        time.sleep(delay())
        response = handle(request)
        time.sleep(delay())
        return response

    sandbox._server.handle = handle_slowly
