"""Waits for library calls that neither a signal nor a timeout can interrupt."""

from __future__ import annotations

import time
from collections import deque
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

_THREADS = 8


def at_once(jobs: Sequence[Callable[[], T]], patience: float) -> list[T]:
    """Run jobs in parallel and return their results in order.

    Raises the exception of a failed job, and TimeoutError after `patience` seconds. In both cases, jobs that have not
    begun are cancelled. Running jobs continue, but nothing waits for them, and they do not keep the process alive.
    """
    until = time.monotonic() + patience
    pending = deque(enumerate(jobs))
    ended = SimpleQueue[tuple[int, T] | BaseException]()

    def work() -> None:
        while True:
            try:
                number, job = pending.popleft()
            except IndexError:
                return
            try:
                ended.put((number, job()))
            except BaseException as problem:  # noqa: BLE001 - raised again by the thread that waits
                ended.put(problem)

    for _ in range(min(_THREADS, len(jobs))):
        Thread(target=work, daemon=True).start()
    results = {}
    try:
        for _ in jobs:
            end = ended.get(timeout=max(0.0, until - time.monotonic()))
            if isinstance(end, BaseException):
                raise end
            results[end[0]] = end[1]
    except Empty:
        raise TimeoutError(f"no answer (waited {patience:g} s)") from None
    finally:
        pending.clear()
    return [results[number] for number in range(len(jobs))]
