"""`reconciler` in the drill's shell, as a program: it notes that it is run, and then is this program.

Nothing stands between the shell and the command, so that signals and prompts work as they do elsewhere.
"""

import os
import sys
from pathlib import Path

from reconciler.operations.drills.commands import note_command

if __name__ == "__main__":
    note_command(Path(sys.argv[1]), sys.argv[2:])
    os.execv(sys.executable, [sys.executable, "-m", "reconciler", *sys.argv[2:]])  # noqa: S606 - what the person typed
