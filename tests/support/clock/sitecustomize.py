"""Loaded by every Python that has this directory in PYTHONPATH: its wall clock is ahead by TEST_CLOCK_AHEAD seconds."""

import os
import time

_AHEAD = float(os.environ.get("TEST_CLOCK_AHEAD") or 0)
_real = time.time

if _AHEAD:
    time.time = lambda: _real() + _AHEAD
