"""Waits for a job that may hang, unless the run is interrupted."""

import threading
from collections.abc import Callable
from typing import TypeVar

from reconciler.applying.driver import Flag
from reconciler.errors import StoreUnavailable

T = TypeVar("T")

_TICK = 0.05  # seconds between two looks at the flag, which takes no lock and so wakes no waiting thread


def unless_interrupted(job: Callable[[], T], interrupted: Flag, patience: float) -> T:
    """The result of `job`, which runs in a thread; after an interrupt, wait `patience` seconds more at most.

    Raises what `job` raises, and StoreUnavailable if it was not waited for; its result is then ignored.
    """
    outcome: list[T | BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            outcome.append(job())
        except BaseException as problem:  # noqa: BLE001 - raised again by the thread that waits
            outcome.append(problem)
        done.set()

    threading.Thread(target=work, daemon=True).start()
    while not done.wait(_TICK):
        if interrupted.is_set():
            if patience <= 0:
                raise StoreUnavailable("interrupted while reading the state record")
            patience -= _TICK
    [result] = outcome
    if isinstance(result, BaseException):
        raise result
    return result
