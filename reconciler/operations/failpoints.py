"""Fail points let a test kill, stop or delay the program at a durable step, and lower its limits.

`RECONCILER_TEST_FAILPOINT` is a comma-separated list of items:

- `STEP:N:ACTION` runs ACTION when STEP is reached for the N-th time. STEP is before-append, after-append, before-send,
  after-send, or `any`, which counts every step. ACTION is kill, stop (SIGSTOP), int, term, hup, or a number of
  seconds to sleep.
- `LIMIT=SECONDS` lowers a limit of the run: send_window, freshness, margin, call_grace or store_grace.

Fail points are for tests only: they are refused unless every service is on loopback.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from reconciler.applying.events import Limits
from reconciler.errors import Message, SettingsError, Step
from reconciler.model.url import is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

VARIABLE: Final = "RECONCILER_TEST_FAILPOINT"
_ANY = "any"
_STEPS = (_ANY, "before-append", "after-append", "before-send", "after-send")
_LIMITS = ("send_window", "freshness", "margin", "call_grace", "store_grace")
_SIGNALS = {
    "kill": signal.SIGKILL, "stop": signal.SIGSTOP, "int": signal.SIGINT, "term": signal.SIGTERM, "hup": signal.SIGHUP,
}  # fmt: skip
_HANDLING = 5.0  # seconds to wait until the main thread has handled a signal


class _Point(Struct, frozen=True):
    """Sleeps for `seconds`, then sends `signal`, when `step` is reached for the `number`-th time."""

    step: str
    number: int
    signal: signal.Signals | None = None
    seconds: float = 0.0

    def happen(self, handled: Callable[[], int]) -> None:
        time.sleep(self.seconds)
        if self.signal is None:
            return
        awaited = handled() + callable(signal.getsignal(self.signal))
        until = time.monotonic() + _HANDLING
        if self.signal is signal.SIGSTOP:  # a signal to the process could stop this thread after the step
            signal.pthread_kill(get_ident(), self.signal)
        else:
            os.kill(os.getpid(), self.signal)
        while handled() < awaited and time.monotonic() < until:
            time.sleep(0.001)


class Failpoints:
    """The fail points of a run, parsed from a string that may be empty. Raises SettingsError for an invalid string."""

    def __init__(self, text: str) -> None:
        self._points: list[_Point] = []
        self._limits: dict[str, float] = {}
        self._reached: Counter[str] = Counter()
        self._lock = Lock()
        try:
            for item in filter(None, text.split(",")):
                self._read(item)
        except ValueError:
            raise _refusal("expected STEP:N:WHAT or LIMIT=SECONDS, with no limit above its default") from None

    def refuse_real_services(self, addresses: Iterable[str]) -> None:
        """Raise SettingsError if there are fail points and one of these URLs is not on loopback."""
        real = sorted({host for url in addresses if not is_loopback(host := str(urlsplit(url).hostname))})
        if real and (self._points or self._limits):
            raise _refusal(f"it is set, and {', '.join(real)} is not on loopback")

    def reach(self, step: str, handled: Callable[[], int]) -> None:
        """Count a durable step and run its fail points. Any thread may call this.

        `handled` returns the number of signals that have been handled.
        """
        with self._lock:
            self._reached[step] += 1
            self._reached[_ANY] += 1
            due = [
                point
                for point in self._points
                if point.step in (step, _ANY) and point.number == self._reached[point.step]
            ]
        for point in due:
            point.happen(handled)

    def limited(self, limits: Limits) -> Limits:
        """Return `limits` as lowered by the fail points."""
        return replace(limits, **self._limits)

    def _read(self, item: str) -> None:
        """Parse an item. Raises ValueError if it is invalid."""
        name, equals, seconds = item.partition("=")
        if equals:
            self._limits[name] = float(seconds)
            if name not in _LIMITS or not 0 <= self._limits[name] <= getattr(Limits(), name):
                raise ValueError  # a higher limit would weaken the guarantees
            return
        step, number, what = item.split(":")
        if step not in _STEPS:
            raise ValueError
        sent = _SIGNALS.get(what)
        self._points.append(_Point(step, int(number), sent, 0.0 if sent else float(what)))


def _refusal(what: str) -> SettingsError:
    return SettingsError(Message("failpoint", what, VARIABLE, (Step("unset it: it is meant for tests"),)))
