"""Calls that run side by side, and that nobody waits for without an end."""

from __future__ import annotations

import threading
import time

import pytest

from reconciler.stores import objects
from reconciler.stores.git import branch
from reconciler.stores.waiting import at_once


def test_results_in_order() -> None:
    """The results come in the order of the jobs, of more jobs than threads too, and of none."""
    last = threading.Event()
    jobs = [lambda: not last.wait(5), *(lambda number=number: number for number in range(1, 30))]
    assert list(range(31)) == at_once([*jobs, lambda: (30, last.set())[0]], 5)  # type: ignore[func-returns-value]
    assert at_once([], 5) == []


@pytest.mark.parametrize("problem", [IndexError("x"), ValueError("x"), KeyboardInterrupt()])
def test_failure(problem: BaseException) -> None:
    """The exception of a job is raised, of any class."""

    def fail() -> None:
        raise problem

    with pytest.raises(type(problem)):
        at_once([lambda: None, fail], 5)


@pytest.mark.parametrize("pauses", [branch._PAUSES, objects._PAUSES])
def test_pauses(pauses: tuple[float, ...]) -> None:
    """A store is looked at at once; one that lags soon again, and once more before a person would give up."""
    assert (0.0, 0.2, 1.0) == pauses


def test_no_end() -> None:
    """A job that does not end is left alone, and those that have not begun never do."""
    end, begun = threading.Event(), []

    def hang() -> None:
        begun.append(threading.current_thread())
        end.wait()

    with pytest.raises(TimeoutError):
        at_once([hang] * 20, 0.05)
    end.set()
    for thread in begun[:8]:
        thread.join()
    assert [True] * 8 == [thread.daemon for thread in begun]


def test_one_bound_for_all() -> None:
    """Many jobs that each end in time are not waited for longer than one that does not."""
    with pytest.raises(TimeoutError):
        at_once([lambda: time.sleep(0.05)] * 400, 0.1)
