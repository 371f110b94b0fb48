"""One file per command: parse, call, render.

The only room that imports click. `operations` holds what each command does.
"""

import os
from contextlib import suppress
from typing import TextIO


def columns(stream: TextIO) -> int:
    """How wide a stream is: as COLUMNS says, or its terminal; 80 where neither does.

    `shutil` would load three libraries for compression.
    """
    width = 0
    with suppress(ValueError):
        width = int(os.environ.get("COLUMNS", ""))
    if width <= 0:
        with suppress(ValueError, OSError):  # no terminal
            width = os.get_terminal_size(stream.fileno()).columns
    return width if width > 0 else 80
