"""Files that are named as arguments, where `-` is standard input."""

import sys
from pathlib import Path
from typing import NoReturn


def read_input(path: Path, limit: int = -1) -> bytes:
    """The bytes of a file, at most `limit` of them if it is not negative. Raises OSError."""
    if str(path) == "-":
        return sys.stdin.buffer.read(limit)
    with path.open("rb") as file:
        return file.read(limit)


def refuse_constant(name: str) -> NoReturn:
    """For `parse_constant` of `json.loads`: Python accepts NaN and Infinity; JSON has neither."""
    raise ValueError(name)
