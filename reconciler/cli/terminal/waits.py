"""What an apply waits for, where no live line shows that it goes on: said now and then, so that nobody ends it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.applying.protocol import TargetRun

FIRST = 10.0
"""Seconds without an answer after which it is said."""

_NEXT = 30.0  # seconds until it is said again


class Waits:
    """Tells which answers a run waits for, after a while in which none has come."""

    def __init__(self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._tell = tell
        self._clock = clock
        self._seen: object = None
        self._due = 0.0

    def look(self, run: TargetRun) -> None:
        """To be called now and then with the run as it is."""
        now, awaited = self._clock(), run.creates.awaited
        seen = (awaited, len(run.results))
        if seen != self._seen:
            self._seen, self._due = seen, now + FIRST
        if awaited and now >= self._due:
            self._due = now + _NEXT
            more = f", and {len(awaited) - 1} more" if len(awaited) > 1 else ""
            self._tell(f"Waiting for the answer to the create of {awaited[0]}{more}")
