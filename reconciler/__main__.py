"""Starts the command line, for `python -m reconciler` and for the console script."""

from __future__ import annotations

import gc
import signal

_COLLECTOR_THRESHOLD = 200_000
"""The number of new objects between two garbage collections. With the default of 700, a large configuration and a long
record, collections take longer than the planning itself, although almost no object is garbage. A finite number bounds
the memory of a long run."""

gc.set_threshold(_COLLECTOR_THRESHOLD)

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during loading needs no report and no entry

from reconciler.cli.main import main  # noqa: E402 - loaded with these settings

if __name__ == "__main__":
    main()
