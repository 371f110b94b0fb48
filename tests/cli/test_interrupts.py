"""Signals while something must not be cut off, and after it."""

from __future__ import annotations

import os
import signal

from reconciler.operations.interrupts import interrupts


def test_handlers_are_put_back() -> None:
    """Inside, a signal asks; afterwards it does what it did before."""
    before, asked = signal.getsignal(signal.SIGINT), list[str]()
    with interrupts(lambda: asked.append("asked")) as caught:
        os.kill(os.getpid(), signal.SIGINT)
    assert ([signal.SIGINT], ["asked"]) == (caught, asked)
    assert before is signal.getsignal(signal.SIGINT)


def test_ignored_signals_stay_ignored() -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupts(lambda: None) as caught:
            os.kill(os.getpid(), signal.SIGHUP)
        assert ([], signal.SIG_IGN) == (caught, signal.getsignal(signal.SIGHUP))
    finally:
        signal.signal(signal.SIGHUP, before)
