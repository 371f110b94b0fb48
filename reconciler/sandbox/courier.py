"""Delivers due notifications in a few threads and reports the results to the world."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from socket import SHUT_RDWR
from threading import Lock, Thread, Timer
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from reconciler.model.url import is_loopback
from reconciler.sandbox.events import SIGNATURE_HEADER, sign_notification

if TYPE_CHECKING:
    from socket import socket
    from urllib.parse import SplitResult

    from reconciler.sandbox.events import Delivery, Subscription
    from reconciler.sandbox.world import World

ANSWER_WITHIN = 5.0  # seconds; only described as timely (service description, section 8)
_WORKERS = 8
_DRAINED = 64 * 1024  # bytes of an answer to read, so that the endpoint can finish writing it
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


class Courier:
    """Delivers notifications from `start` until `close`, and only to plain http URLs on loopback."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._closed, self._lock = False, Lock()
        self._open: set[socket] = set()
        self._pool = ThreadPoolExecutor(_WORKERS, "sandbox-delivery")
        self._driver = Thread(target=self._drive, name="sandbox-courier", daemon=True)

    def start(self) -> None:
        self._driver.start()

    def close(self) -> None:
        """Abort the deliveries in progress; a later sandbox with the same directory repeats them."""
        with self._world.changed:
            self._closed = True
            self._world.changed.notify_all()
        if self._driver.ident is not None:
            self._driver.join()
        with self._lock:
            for connection in self._open:
                _cut(connection)
        self._pool.shutdown(cancel_futures=True)
        self._world.create_late()

    def _drive(self) -> None:
        while True:
            due = self._world.take_due()
            for delivery, subscription in due:
                self._pool.submit(self._attempt, delivery, subscription)
            with self._world.changed:
                left = self._world.seconds_left()
                if self._closed:
                    return
                if left is None or left > 0:
                    self._world.changed.wait(left)

    def _attempt(self, delivery: Delivery, to: Subscription) -> None:
        parts = urlsplit(to.url)
        if parts.scheme != "http" or not is_loopback(parts.hostname or ""):
            detail = "not delivered: not an http URL on loopback"
            self._world.settle(delivery, to, None, detail, final=True)
            return
        try:
            status, detail = self._post(parts, delivery.body, to.secret), "answered"
        except TimeoutError:
            status, detail = None, f"no answer within {ANSWER_WITHIN:g} s"
        except (OSError, HTTPException) as problem:
            status, detail = None, f"no answer: {type(problem).__name__}"
        if status is not None or not self._closed:
            self._world.settle(delivery, to, status, detail, final=False)

    def _post(self, parts: SplitResult, body: bytes, secret: str) -> int:
        """Send a notification and return the status of the answer. Raises OSError and HTTPException."""
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {"Content-Type": "application/json", SIGNATURE_HEADER: sign_notification(body, secret)}
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=ANSWER_WITHIN)
        connection.connect()
        connected: socket = connection.sock
        # The connection's own timeout restarts with each byte; the timer limits the whole call.
        timer = Timer(ANSWER_WITHIN, _cut, (connected,))
        timer.daemon = True
        timer.start()
        try:
            with self._lock:
                self._open.add(connected)
            if self._closed:
                raise ConnectionAbortedError
            connection.request("POST", quote(path, safe=_PRINTABLE), body, {**headers, "Connection": "close"})
            response = connection.getresponse()
            with suppress(OSError, HTTPException):
                response.read(_DRAINED)
            return response.status
        finally:
            timer.cancel()
            with self._lock:
                self._open.discard(connected)
            connection.close()


def _cut(connection: socket) -> None:
    with suppress(OSError):
        connection.shutdown(SHUT_RDWR)
