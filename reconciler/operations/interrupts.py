"""Interrupts for commands that must not be cut off in the middle of something."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from reconciler.errors import INTERRUPTING


@contextmanager
def interrupts(ask: Callable[[], None]) -> Iterator[list[int]]:
    """While inside, interrupting signals call `ask` instead; gives the numbers of those that came.

    `ask` runs between any two steps of the main thread: it may set a flag or put to a SimpleQueue, and no more.
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


@contextmanager
def ignored() -> Iterator[None]:
    """While inside, interrupts from the terminal are left to the program that has it."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
