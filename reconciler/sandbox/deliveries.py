"""Delivers events to each subscription that has the code, with retries, in a few threads."""

import time
from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from itertools import count as count_up
from threading import Condition, Thread
from urllib.parse import urlsplit
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from reconciler.errors import Refused
from reconciler.model.url import is_loopback
from reconciler.posting import NoAnswer, Post
from reconciler.sandbox.checks import is_event_code
from reconciler.sandbox.events import Attempted, Commit, DeliveryAttempt, Event, Notified, Triggered
from reconciler.sandbox.notification import SIGNATURE_HEADER, notification_body, sign_notification
from reconciler.sandbox.world import World

ATTEMPTS = 4  # the first one, and 3 retries (SERVICE.md, section 8)
ANSWER_WITHIN = 5.0  # seconds; only described as timely (SERVICE.md, section 8)
WORKERS = 8
MAX_COUNT = 10_000


class _Delivery(Struct, frozen=True):
    """One notification for one subscription; `number` is that of the next attempt, from 1."""

    id: str
    subscription: Commit
    code: str
    body: bytes
    number: int = 1


class Deliveries:
    """The queue of notifications. A failed one waits `retry_interval` seconds without delaying the others."""

    def __init__(self, world: World, retry_interval: float = 15.0) -> None:
        self._world = world
        self._retry_interval = retry_interval
        self._changed = Condition()
        self._waiting: list[tuple[float, int, _Delivery]] = []
        self._order = count_up()
        self._unfinished = 0
        self._in_flight: set[Post] = set()
        self._workers: list[Thread] = []
        self._closed = False

    def trigger(
        self, code: str, properties: Mapping[str, object] | None = None, target: str | None = None, count: int = 1
    ) -> int:
        """Trigger `count` events, on one target or on all; returns the number of deliveries started.

        Raises Refused for an invalid code or count, or an unknown target.
        """
        self._check(code, target, count)
        subscribed = [subscription for subscription in self._world.subscriptions(target) if code in subscription.codes]
        bodies = [notification_body(code, properties) for _ in range(count)]
        deliveries = [_Delivery(str(uuid4()), to, code, body) for body in bodies for to in subscribed]
        self._world.remember(Triggered([Notified(one.id, one.subscription.id, code, one.body) for one in deliveries]))
        for delivery in deliveries:
            self._begin(delivery)
        return len(deliveries)

    def restore(self, events: Iterable[Event]) -> None:
        """Continue the deliveries that an earlier run has not ended, each when it is due."""
        subscriptions = {commit.id: commit for commit in self._world.commits}
        pending: dict[str, tuple[_Delivery, float]] = {}
        for event in events:
            if isinstance(event, Triggered):
                for one in event.notified:
                    pending[one.id] = _Delivery(one.id, subscriptions[one.subscription_id], one.code, one.body), 0.0
            elif isinstance(event, Attempted):
                delivery, _ = pending.pop(event.id)
                if event.due is not None:
                    pending[event.id] = replace(delivery, number=event.attempt.number + 1), event.due
        for delivery, due in pending.values():
            self._begin(delivery, max(0.0, due - time.time()))

    def wait_idle(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds until every delivery has succeeded or been given up; whether they have."""
        with self._changed:
            return self._changed.wait_for(lambda: self._unfinished == 0, timeout)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            posts = list(self._in_flight)
        for post in posts:
            post.cut()
        for worker in self._workers:
            worker.join(ANSWER_WITHIN + 1)

    def _check(self, code: str, target: str | None, count: int) -> None:
        if not is_event_code(code):
            raise Refused("expected an event code of three capital letters and five digits", where=code)
        if target is not None and target not in self._world.targets:
            served = ", ".join(self._world.targets)
            raise Refused("the sandbox does not serve this target", where=target, remedy=f"use one of: {served}")
        if not 1 <= count <= MAX_COUNT:
            raise Refused(f"invalid count {count}", where=code, remedy=f"use 1 to {MAX_COUNT}")

    def _begin(self, delivery: _Delivery, delay: float = 0.0) -> None:
        with self._changed:
            self._unfinished += 1
        self._schedule(delivery, delay)

    def _schedule(self, delivery: _Delivery, delay: float) -> None:
        with self._changed:
            if self._closed:
                return
            heappush(self._waiting, (time.monotonic() + delay, next(self._order), delivery))
            if len(self._workers) < WORKERS:
                worker = Thread(target=self._work, name="sandbox-delivery", daemon=True)
                self._workers.append(worker)
                worker.start()
            self._changed.notify_all()

    def _work(self) -> None:
        while (delivery := self._next()) is not None:
            status, detail, done = self._attempt(delivery)
            again = not done and delivery.number < ATTEMPTS
            attempt = _logged(delivery, status, detail)
            if done or status is not None or not self._closed:  # if `close` cut it off, whoever continues repeats it
                due = time.time() + self._retry_interval if again else None
                self._world.remember(Attempted(delivery.id, attempt, due))
            self._world.log_delivery(attempt)
            if again:
                self._schedule(replace(delivery, number=delivery.number + 1), self._retry_interval)
            else:
                self._finish()

    def _next(self) -> _Delivery | None:
        """The next delivery, after waiting until it is due; None if the sandbox closes."""
        with self._changed:
            while not self._closed:
                left = self._waiting[0][0] - time.monotonic() if self._waiting else None
                if left is not None and left <= 0:
                    return heappop(self._waiting)[2]
                self._changed.wait(left)
            return None

    def _attempt(self, delivery: _Delivery) -> tuple[int | None, str, bool]:
        """The status, what to log, and whether the delivery is done: answered with a 2xx, or not to be sent."""
        if not is_loopback(urlsplit(delivery.subscription.url).hostname or ""):
            return None, "not delivered: not a loopback URL", True
        try:
            status = self._post(delivery)
        except NoAnswer as problem:
            return None, str(problem), False
        return status, "answered", 200 <= status < 300

    def _post(self, delivery: _Delivery) -> int:
        headers = [
            ("Content-Type", "application/json"),
            (SIGNATURE_HEADER, sign_notification(delivery.body, delivery.subscription.secret)),
        ]
        post = Post(delivery.subscription.url, delivery.body, headers, ANSWER_WITHIN)
        with self._changed:
            self._in_flight.add(post)
        try:
            return post.send()
        finally:
            with self._changed:
                self._in_flight.discard(post)

    def _finish(self) -> None:
        with self._changed:
            self._unfinished -= 1
            self._changed.notify_all()


def _logged(delivery: _Delivery, status: int | None, detail: str) -> DeliveryAttempt:
    """An attempt as it is logged."""
    to = delivery.subscription
    return DeliveryAttempt(time.time(), to.id, to.target, delivery.code, to.url, delivery.number, status, detail)
