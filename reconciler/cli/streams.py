"""Opens the standard streams, finds their width, and discards their output.

`--help` loads this module, so it imports only the standard library.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO


def open_streams() -> None:
    """Open every closed standard stream, so that no file opened later, such as a record, takes its place."""
    sys.stdin = sys.stdin or os.fdopen(os.open(os.devnull, os.O_RDONLY), "r")
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def columns(stream: TextIO) -> int:
    """Return the width of a stream in characters. COLUMNS overrides the terminal's width; the default is 80."""
    with suppress(ValueError):
        if (given := int(os.environ.get("COLUMNS", ""))) > 0:
            return given
    with suppress(ValueError, OSError):  # not a terminal
        return os.get_terminal_size(stream.fileno()).columns or 80
    return 80


def lead_nowhere(stream: TextIO) -> None:
    """Discard the buffered output and all later output of a stream.

    Otherwise a failed flush at interpreter exit would change the exit code.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
