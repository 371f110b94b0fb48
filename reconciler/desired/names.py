"""How targets, patterns of targets and subscriptions are written (`[a-z0-9][a-z0-9-]*`)."""

from __future__ import annotations

import re
from typing import Final

_SEGMENT = "[a-z0-9][a-z0-9-]*"

NAME: Final = re.compile(_SEGMENT)
TARGET: Final = re.compile(f"{_SEGMENT}/{_SEGMENT}")
PATTERN: Final = re.compile(rf"({_SEGMENT}|\*)/({_SEGMENT}|\*)")
ADDRESS_PATTERN: Final = re.compile(rf"{_SEGMENT}|({_SEGMENT}|\*)/({_SEGMENT}|\*)/({_SEGMENT}|\*)")
VARIABLE: Final = re.compile("[a-z][a-z0-9_]*")

SPELLING: Final = "use a-z, 0-9 and -, starting with a letter or digit"
