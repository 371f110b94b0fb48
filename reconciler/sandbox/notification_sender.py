"""Sends due notifications from a few threads, and records the results in the `World`."""

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

ANSWER_WITHIN = 5.0  # seconds; the service only asks for a timely answer (service description, section 8)
_WORKERS = 8
_ANSWER_LIMIT = 64 * 1024  # bytes of an answer to read, so that the endpoint can finish writing it
_UNQUOTED = "".join(map(chr, range(0x21, 0x7F)))  # URLs are sent unchanged, except what HTTP forbids


class NotificationSender:
    """Sends notifications from `start` until `close`, but only to plain http URLs with loopback addresses."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._closed, self._lock = False, Lock()
        self._open: set[socket] = set()
        self._pool = ThreadPoolExecutor(_WORKERS)
        self._scheduler = Thread(target=self._schedule, daemon=True)

    def start(self) -> None:
        self._scheduler.start()

    def close(self) -> None:
        """Abort the deliveries in progress. A later sandbox with the same directory repeats them."""
        with self._world.changed:
            self._closed = True
            self._world.changed.notify_all()
        if self._scheduler.ident is not None:
            self._scheduler.join()
        with self._lock:
            for sock in self._open:
                _cut(sock)
        self._pool.shutdown(cancel_futures=True)
        self._world.create_late()

    def _schedule(self) -> None:
        while True:
            due = self._world.take_due()
            for delivery, subscription in due:
                self._pool.submit(self._deliver, delivery, subscription)
            with self._world.changed:
                left = self._world.seconds_left()
                if self._closed:
                    return
                self._world.changed.wait(left)

    def _deliver(self, delivery: Delivery, subscription: Subscription) -> None:
        parts = urlsplit(subscription.url)
        if parts.scheme != "http" or not is_loopback(parts.hostname or ""):
            detail = "not delivered: not an http URL on loopback"
            self._world.settle(delivery, subscription, None, detail, final=True)
            return
        try:
            status, detail = self._post(parts, delivery.body, subscription.secret), "answered"
        except TimeoutError:
            status, detail = None, f"no answer within {ANSWER_WITHIN:g} s"
        except (OSError, HTTPException) as problem:
            status, detail = None, f"no answer: {type(problem).__name__}"
        if status is not None or not self._closed:
            self._world.settle(delivery, subscription, status, detail, final=False)

    def _post(self, parts: SplitResult, body: bytes, secret: str) -> int:
        """Send a notification and return the status of the answer. Raises OSError or HTTPException if there is none."""
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {"Content-Type": "application/json", SIGNATURE_HEADER: sign_notification(body, secret)}
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=ANSWER_WITHIN)
        connection.connect()
        sock: socket = connection.sock
        # The connection's own timeout restarts with each byte; the timer limits the whole call.
        timer = Timer(ANSWER_WITHIN, _cut, (sock,))
        timer.start()
        try:
            with self._lock:
                self._open.add(sock)
            if self._closed:
                raise ConnectionAbortedError
            connection.request("POST", quote(path, safe=_UNQUOTED), body, {**headers, "Connection": "close"})
            response = connection.getresponse()
            with suppress(OSError, HTTPException):
                response.read(_ANSWER_LIMIT)
            return response.status
        finally:
            timer.cancel()
            with self._lock:
                self._open.discard(sock)
            connection.close()


def _cut(sock: socket) -> None:
    with suppress(OSError):
        sock.shutdown(SHUT_RDWR)
