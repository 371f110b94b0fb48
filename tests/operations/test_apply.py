"""What surrounds a run: the signals that end it."""

from __future__ import annotations

import signal

import pytest

from reconciler.operations.apply import interrupts

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("number", SIGNALS)
def test_each_signal_asks_for_the_end(number: signal.Signals) -> None:
    """Ctrl-C, the runner's, and a terminal that is closed: each time it comes; afterwards it is handled as before."""
    asked: list[str] = []
    before = signal.signal(number, lambda *_: asked.append("before"))
    try:
        with interrupts(lambda: asked.append("end")) as caught:
            signal.raise_signal(number)
            signal.raise_signal(number)
        signal.raise_signal(number)
        assert (["end", "end", "before"], [number, number]) == (asked, caught)
        signal.signal(number, signal.SIG_IGN)
        with interrupts(lambda: asked.append("end")) as caught:
            signal.raise_signal(number)
        assert (3, []) == (len(asked), caught)
    finally:
        signal.signal(number, before)
