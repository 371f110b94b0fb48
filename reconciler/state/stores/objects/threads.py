"""Runs requests at once, and waits for them in a way that a signal ends."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from reconciler.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Given = TypeVar("Given")
Result = TypeVar("Result")

_REMEDY = "check the connection, then run the command again"


def at_once(
    job: Callable[[Given], Result], inputs: Sequence[Given], most: int, until: float, where: str
) -> list[Result]:
    """The results of `job` for all inputs, in their order, from `most` threads at most.

    Raises what a job raises, and StoreUnavailable at `until` (of `time.monotonic`); what is still running is then
    ignored, and ends with the process.
    """
    pending = deque(enumerate(inputs))
    ended = queue.SimpleQueue[tuple[int, Result] | BaseException]()

    def work() -> None:
        while pending:
            with suppress(IndexError):
                number, given = pending.popleft()
                ended.put(_ended(job, number, given))

    for _ in range(min(most, len(inputs))):
        threading.Thread(target=work, daemon=True).start()
    results = {}
    try:
        for _ in inputs:
            end = ended.get(timeout=max(0.0, until - time.monotonic()))
            if isinstance(end, BaseException):
                raise end
            results[end[0]] = end[1]
    except queue.Empty:
        raise StoreUnavailable("the object store did not answer in time", where=where, remedy=_REMEDY) from None
    finally:
        pending.clear()
    return [results[number] for number in range(len(inputs))]


def _ended(job: Callable[[Given], Result], number: int, given: Given) -> tuple[int, Result] | BaseException:
    try:
        return number, job(given)
    except BaseException as problem:  # noqa: BLE001 - raised again by the thread that waits
        return problem
