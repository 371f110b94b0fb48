"""Signal handling for commands that must not be cut off at any moment."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reconciler.errors import INTERRUPTING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def interrupts(ask: Callable[[], None]) -> Iterator[list[int]]:
    """Call `ask` for each interrupting signal inside the block; yield the list of signal numbers received.

    `ask` may run between any two steps of the main thread, so it may only set a flag or put to a SimpleQueue.
    """
    caught: list[int] = []

    def catch(number: int, _frame: object) -> None:
        ask()
        caught.append(number)

    before = {number: signal.getsignal(number) for number in INTERRUPTING}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as in the background of a shell without job control, or under nohup
            signal.signal(number, catch)
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
