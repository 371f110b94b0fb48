"""Starts the command line, for `python -m reconciler` and for the console script."""

from __future__ import annotations

import gc
import signal

_COLLECTOR_THRESHOLD = 200_000
"""Objects between two searches for garbage. By default they are 700, and to search what was loaded, a large
configuration and a long journal takes longer than to plan: next to nothing of it is garbage. With a bound, a long run
stays bounded too."""

gc.set_threshold(_COLLECTOR_THRESHOLD)

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a Ctrl-C while loading needs no report and no record

from reconciler.cli.main import main  # noqa: E402 - loaded under the above

if __name__ == "__main__":
    main()
