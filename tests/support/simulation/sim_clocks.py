"""The clocks of one machine: a wall clock that is set now and then, and a steady one; both may stand still."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.clock import Instant

if TYPE_CHECKING:
    import random

EPOCH = 1_800_000_000.0
SKEW = 7.0
"""Seconds by which the wall clock of a machine may be off, either way: less than half of the margin of an intent."""
MINUTES = 300.0
"""The same where nobody looks after the clocks."""


_ROUNDING = 1e-6  # seconds, so that a moment that was waited for has come


class Clocks:
    """`stood_still` is how long both clocks did, in all; `behind`: how much of it the wall clock has not caught up."""

    def __init__(self, rng: random.Random, *, kept: bool) -> None:
        self._rng = rng
        self._off_at_most = SKEW if kept else MINUTES
        self._skew = 0.0
        self.stood_still = 0.0
        self.behind = 0.0
        self.set()

    def set(self) -> None:
        """The wall clock is set, which is as good as it gets here."""
        self._skew = self._rng.uniform(-self._off_at_most, self._off_at_most)
        self.behind = 0.0

    def stand_still(self, seconds: float) -> None:
        """The machine is suspended by what it runs on, and notices nothing."""
        self.stood_still += seconds
        self.behind += seconds

    def read(self, time: float) -> Instant:
        """What the clocks show at a moment of the simulation, in seconds since its beginning."""
        return Instant(EPOCH + time + self._skew - self.behind, time - self.stood_still)

    def until(self, steady: float, time: float) -> float:
        """In how many seconds, from that moment on, the steady clock shows `steady`; 0 where it has."""
        return max(0.0, steady - (time - self.stood_still)) + _ROUNDING
