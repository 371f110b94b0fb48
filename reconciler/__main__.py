"""`python -m reconciler`, and the console script."""

from __future__ import annotations

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # while it loads there is nothing to say to Ctrl-C, and to record

from reconciler.cli.main import main

if __name__ == "__main__":
    main()
