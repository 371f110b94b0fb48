"""Waits for what may hang, for as long as nobody interrupts."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

from reconciler.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.applying.driver import Flag

T = TypeVar("T")

_TICK = 0.05  # seconds between two looks at the flag, which takes no lock and so cannot wake anybody


def unless_interrupted(job: Callable[[], T], interrupted: Flag, patience: float) -> T:
    """What `job` gives, which a thread does; once interrupted, it is waited for so many seconds more.

    Raises what `job` raises, and StoreUnavailable where it was not waited for; it then goes on unheard.
    """
    outcome: list[T | BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            outcome.append(job())
        except BaseException as problem:  # noqa: BLE001 - raised again by whoever waits
            outcome.append(problem)
        done.set()

    threading.Thread(target=work, daemon=True).start()
    while not done.wait(_TICK):
        if interrupted.is_set():
            if patience <= 0:
                raise StoreUnavailable("interrupted while the state record was read")
            patience -= _TICK
    [result] = outcome
    if isinstance(result, BaseException):
        raise result
    return result
