"""Signals that ask a command to end, for the commands that must not be cut off in the middle of something."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, the runner or the system, and a terminal or connection that is gone."""


@contextmanager
def interrupts(ask: Callable[[], None]) -> Iterator[list[int]]:
    """While inside, signals that ask for an end call `ask` instead; gives the numbers of those that came.

    `ask` runs between any two steps of the main thread: it may set a flag or put to a SimpleQueue, and no more.
    """
    caught: list[int] = []

    def catch(number: int, _frame: object) -> None:
        caught.append(number)
        ask()

    before = {number: signal.getsignal(number) for number in ASKING}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as in the background of a shell without job control, or under nohup
            signal.signal(number, catch)
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
