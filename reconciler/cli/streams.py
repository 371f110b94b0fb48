"""The standard streams: open, and of some width. Help needs them too, so nothing but `sys` is loaded."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO


def open_streams() -> None:
    """Open what is closed: else the next file, a record perhaps, would get the number of a stream."""
    sys.stdin = sys.stdin or os.fdopen(os.open(os.devnull, os.O_RDONLY), "r")
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def columns(stream: TextIO) -> int:
    """Return the width of a stream: COLUMNS, or that of its terminal; 80 if neither is known."""
    with suppress(ValueError):
        if (given := int(os.environ.get("COLUMNS", ""))) > 0:
            return given
    with suppress(ValueError, OSError):  # no terminal
        return os.get_terminal_size(stream.fileno()).columns or 80
    return 80


def lead_nowhere(stream: TextIO) -> None:
    """Send what is still buffered nowhere: it would fail once more at the end, and change the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
