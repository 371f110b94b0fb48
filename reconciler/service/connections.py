"""Connections that are used once: opened when a call asks for one, or ahead of it.

If a server closes a connection that it kept alive just as a request is sent, the outcome is unknown and must be
resolved manually. So each call has a connection that has carried nothing. Opening it takes three round trips with TLS,
a call takes two: so that the calls of an apply need not wait, the next ones are opened while it does other things.

Name resolution has no timeout. It is done by threads that nobody has to wait for.
"""

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator

import httpcore

from reconciler.service.clock import steady
from reconciler.service.connecting import is_untouched
from reconciler.service.routes import Route

LONGEST_IDLE = 2.0
"""Seconds after which a connection that was opened ahead is not used any more.

Servers and load balancers give a client 5 seconds or more to begin its first request. The call must have arrived before
that, however slow the network is; and a call that takes longer than this gains nothing by the time for a handshake.
"""

_AHEAD = 4  # connections opened ahead at most, for each call that may be in flight
_TICK = 1.0  # seconds between looks at the steady clock


class NotStarted(Exception):
    """The system gives no more threads."""


Connect = Callable[[Route, float], httpcore.NetworkStream]


class Opening:
    """A connection that is being opened by a thread, until it is open or has failed, or is not wanted any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._underway = threading.Lock()  # held until it is over: an Event takes several locks and more time
        self._underway.acquire()
        self._is_unwanted = False
        self._stream: httpcore.NetworkStream | None = None
        self._opened_at = 0.0
        self._problem: BaseException | None = None

    def perform(self, connect: Connect, route: Route, timeout: float) -> None:
        """Open it; called by the thread."""
        try:
            stream = connect(route, timeout)
        except BaseException as problem:  # noqa: BLE001 - raised again in the thread that waits
            self._problem = problem
        else:
            with self._lock:
                self._stream, self._opened_at = stream, steady()
                if self._is_unwanted:
                    stream.close()
        self._underway.release()

    def wait(self, deadline: float) -> httpcore.NetworkStream | None:
        """The connection, None if it is not open at the deadline (steady seconds). Raises what opening it raised."""
        while self.is_pending:
            left = deadline - steady()
            if left <= 0:
                self.close()
                return None
            if self._underway.acquire(timeout=min(left, _TICK)):
                self._underway.release()
        if self._problem is not None:
            raise self._problem
        return self._stream

    def close(self) -> None:
        """Close it, now or as soon as it is open."""
        with self._lock:
            self._is_unwanted = True
            if self._stream is not None:
                self._stream.close()

    @property
    def is_pending(self) -> bool:
        return self._underway.locked()

    @property
    def is_open(self) -> bool:
        return self._stream is not None

    @property
    def is_too_old(self) -> bool:
        return self.is_open and steady() - self._opened_at > LONGEST_IDLE

    @property
    def is_usable(self) -> bool:
        """Whether it is open and as good as new."""
        return self._stream is not None and not self.is_too_old and is_untouched(self._stream)


class _Ahead:
    """The connections opened ahead along one route, the oldest first.

    `wanted` is how many there should be. Every call that finds none open makes it one more; one that got too old makes
    it none, since calls are slow then, or the store is, and handshakes count for nothing.
    """

    def __init__(self) -> None:
        self.openings: list[Opening] = []
        self.wanted: int | None = None
        self._limit = 0

    def missing(self, calls: int, at_once: int) -> int:
        """How many to open for so many `calls` that are left, of which `at_once` may be in flight."""
        self._limit = _AHEAD * at_once
        self.wanted = at_once if self.wanted is None else self.wanted
        return max(0, min(calls, self.wanted) - len(self.openings))

    def take(self) -> Opening | None:
        """The oldest that is open and not too old, or else the oldest that is being opened.

        One that has failed is dropped: that was before the call was made, which tries again.
        """
        for opening in [opening for opening in self.openings if not opening.is_pending]:
            self.openings.remove(opening)
            if opening.is_open and not opening.is_too_old:
                return opening
            self.wanted = 0 if opening.is_too_old else self.wanted
            opening.close()
        if self.wanted is not None:
            self.wanted = min(self.wanted + 1, self._limit)
        return self.openings.pop(0) if self.openings else None


class Connections:
    """Opens connections with `connect`, which is given a route and the seconds that each phase may take."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._ahead: dict[Route, _Ahead] = {}
        self._openers = _Openers()

    @contextlib.contextmanager
    def take(self, route: Route, timeout: float, deadline: float) -> Iterator[httpcore.NetworkStream | None]:
        """A connection that has carried nothing, closed at the end; None if there is none at the deadline.

        Raises what opening it raised, and NotStarted.
        """
        while (opening := self._take_ahead(route)) is not None:
            with contextlib.closing(opening):
                stream = opening.wait(deadline)
                if stream is None or opening.is_usable:
                    yield stream
                    return
        with contextlib.closing(self._open(route, timeout)) as opening:
            yield opening.wait(deadline)

    def expect(self, route: Route, calls: int, at_once: int, timeout: float) -> None:
        """So many `calls` along `route` are left, `at_once` of them in flight at most: open connections ahead.

        Never more than `calls`. Raises nothing: what fails is noticed by the call, which tries again and reports it.
        """
        with self._lock:
            ahead = self._ahead.setdefault(route, _Ahead())
            with contextlib.suppress(NotStarted):
                for _ in range(ahead.missing(calls, at_once)):
                    ahead.openings.append(self._open(route, timeout))

    def forget(self, route: Route) -> None:
        """No more calls are made along `route`: close what was opened ahead."""
        with self._lock:
            ahead = self._ahead.pop(route, None)
        for opening in ahead.openings if ahead else ():
            opening.close()

    def close(self) -> None:
        for route in list(self._ahead):
            self.forget(route)
        self._openers.stop()

    def _take_ahead(self, route: Route) -> Opening | None:
        with self._lock:
            return self._ahead[route].take() if route in self._ahead else None

    def _open(self, route: Route, timeout: float) -> Opening:
        opening = Opening()
        self._openers.do(lambda: opening.perform(self._connect, route, timeout))
        return opening


class _Openers:
    """Daemon threads, as many as jobs are done at once: one that hangs must neither delay another, nor the end."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = self._size = 0

    def do(self, job: Callable[[], None]) -> None:
        """Raises NotStarted."""
        with self._lock:
            if self._idle:
                self._idle -= 1
            else:
                self._start()
        self._jobs.put(job)

    def _start(self) -> None:
        try:
            threading.Thread(target=self._work, name="opener", daemon=True).start()
        except RuntimeError:
            raise NotStarted from None
        self._size += 1

    def stop(self) -> None:
        for _ in range(self._size):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            with self._lock:
                self._idle += 1
