"""`python -m reconciler`, and the console script."""

from __future__ import annotations

from reconciler.cli.main import main

if __name__ == "__main__":
    main()
