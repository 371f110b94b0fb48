"""What the program says to and reads from GitHub, by calls of its API: commit statuses, comments, issues."""

import sys

# httpx imports its command line where click and rich are installed; rich takes longer to load than all else of it.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
