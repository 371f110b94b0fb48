"""The clocks of this machine."""

from __future__ import annotations

import sys
import time
from functools import cache
from pathlib import Path

from reconciler.values import Instant

# Linux leaves sleep out of CLOCK_MONOTONIC and counts it in CLOCK_BOOTTIME; macOS counts it in CLOCK_MONOTONIC.
_STEADY = time.CLOCK_BOOTTIME if sys.platform == "linux" else time.CLOCK_MONOTONIC

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def steady() -> float:
    """Return seconds on a clock that is never set and counts sleep; comparable within one boot of one machine."""
    return time.clock_gettime(_STEADY)


def now() -> Instant:
    """Return this moment on both clocks."""
    return Instant(wall=time.time(), steady=steady())


@cache
def boot_id() -> str:
    """Return the identifier of this boot of this machine; "" if the system has none."""
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
