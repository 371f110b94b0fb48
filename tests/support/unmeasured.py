"""Processes whose own modules and functions are looked at."""

from __future__ import annotations

import os


def unmeasured() -> dict[str, str]:
    """Return the environment for a process that no coverage is measured of: that loads modules of its own."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COV")}
