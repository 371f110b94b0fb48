"""Reads the clocks of this machine."""

from __future__ import annotations

import sys
import time
from functools import cache
from pathlib import Path

from reconciler.values import Instant

# On Linux, CLOCK_MONOTONIC stops during sleep and CLOCK_BOOTTIME does not; on macOS, CLOCK_MONOTONIC does not stop.
_STEADY = time.CLOCK_BOOTTIME if sys.platform == "linux" else time.CLOCK_MONOTONIC

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def steady() -> float:
    """Return the time in seconds on a monotonic clock that also runs while the machine sleeps.

    Values are comparable only until the machine is restarted.
    """
    return time.clock_gettime(_STEADY)


def now() -> Instant:
    """Return the current time on the wall clock and on the steady clock."""
    return Instant(wall=time.time(), steady=steady())


@cache
def boot_id() -> str:
    """Return the identifier of the current boot, or "" if the system does not provide it."""
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
