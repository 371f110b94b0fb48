"""What the state record costs a command that only reads it."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ["asyncio", "cryptography", "httpx", "importlib.metadata", "logging", "pydantic", "pyrage", "tempfile"]

SCRIPT = f"""
import sys
before = set(sys.modules)
import reconciler.state.stores.location, reconciler.state.heads.tracking, reconciler.state.heads.remembered
import reconciler.state.private.responses
print(sorted(set({HEAVY!r}) & (set(sys.modules) - before)))
"""


def test_lean() -> None:
    """Importing the room loads nothing that sealing, calling or serving would need."""
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
