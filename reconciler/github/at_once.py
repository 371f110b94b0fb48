"""Makes calls at once, and waits for them no longer than it may."""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from reconciler.errors import GitHubError, ReconcilerError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Given = TypeVar("Given")
Result = TypeVar("Result")

_THREADS = 8


def at_once(
    job: Callable[[Given], Result], inputs: Sequence[Given], seconds: float
) -> tuple[list[Result], list[ReconcilerError]]:
    """The results of `job` for all inputs, in any order, and the errors of those that failed.

    What has no result after so many seconds counts as failed; it ends with the process, in a thread of its own.
    """
    until = time.monotonic() + seconds
    pending = deque(inputs)
    ended: SimpleQueue[Result | ReconcilerError] = SimpleQueue()

    def work() -> None:
        while pending:
            with suppress(IndexError):
                given = pending.popleft()
                try:
                    ended.put(job(given))
                except ReconcilerError as problem:
                    ended.put(problem)
                except Exception as problem:  # noqa: BLE001 - an answer of another shape: its text may hold anything
                    ended.put(GitHubError(f"unexpected answer ({type(problem).__name__})", where="GitHub"))

    for _ in range(min(_THREADS, len(inputs))):
        Thread(target=work, name="github", daemon=True).start()
    results: list[Result] = []
    problems: list[ReconcilerError] = []
    try:
        for _ in inputs:
            end = ended.get(timeout=max(0.0, until - time.monotonic()))
            if isinstance(end, ReconcilerError):
                problems.append(end)
            else:
                results.append(end)
    except Empty:
        problems.append(GitHubError(f"no answer within {seconds:g} s", where="GitHub"))
    finally:
        pending.clear()
    return results, problems
