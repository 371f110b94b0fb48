"""The fail points themselves: what a text means, and that one for production means nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from support.stopped_process import wait_until_stopped

from reconciler.applying.context import Limits
from reconciler.errors import SettingsError
from reconciler.operations.failpoints import Failpoints

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def caught() -> Iterator[list[int]]:
    """The signals that came during a test."""
    numbers: list[int] = []
    watched = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda one, _: numbers.append(one)) for number in watched}
    yield numbers
    for number, handler in before.items():
        signal.signal(number, handler)


def test_without_a_text_nothing_happens(caught: list[int]) -> None:
    """An unset variable leaves every step and every limit as it is."""
    points = Failpoints("")
    points.reach("before-send", lambda: len(caught))
    assert [] == caught
    assert Limits() == points.limited(Limits())


def test_a_point_acts_once_at_its_step_and_number(caught: list[int]) -> None:
    """The second time its step is reached it acts; not at the first, the third, or at other steps."""
    points = Failpoints("before-send:2:term")
    seen = []
    for step in ("before-send", "after-send", "before-send", "before-send"):
        points.reach(step, lambda: len(caught))
        seen.append(list(caught))
    assert [[], [], [signal.SIGTERM], [signal.SIGTERM]] == seen


def test_any_counts_all_steps(caught: list[int]) -> None:
    """`any:3` is the third step of whatever kind."""
    points = Failpoints("any:3:int")
    points.reach("before-append", lambda: len(caught))
    points.reach("after-append", lambda: len(caught))
    assert [] == caught
    points.reach("before-send", lambda: len(caught))
    assert [signal.SIGINT] == caught


def test_two_signals_come_one_after_the_other(caught: list[int]) -> None:
    """`int2` is seen as two interrupts, not as one."""
    Failpoints("before-send:1:int2").reach("before-send", lambda: len(caught))
    assert [signal.SIGINT] * 2 == caught


def test_points_are_joined_by_commas(caught: list[int]) -> None:
    """Several points hold side by side, and so do a point and a limit."""
    points = Failpoints("before-send:1:int,after-send:1:term,margin=2")
    points.reach("before-send", lambda: len(caught))
    points.reach("after-send", lambda: len(caught))
    assert [signal.SIGINT, signal.SIGTERM] == caught
    assert Limits(margin=2.0) == points.limited(Limits())


def test_the_step_goes_on_once_the_signal_was_handled(caught: list[int]) -> None:
    """However long the main thread is busy elsewhere, the step waits, so that what follows it sees the interrupt."""
    points = Failpoints("before-send:1:int")
    handled: list[int] = []
    step = threading.Thread(target=lambda: points.reach("before-send", lambda: len(handled)))
    step.start()
    step.join(0.3)
    assert step.is_alive()
    handled.extend(caught)
    step.join(4)  # less than it would wait for a signal that nobody handles
    assert not step.is_alive()
    assert [signal.SIGINT] == handled


STOPPED = """
import os, threading
from reconciler.operations.failpoints import Failpoints
points = Failpoints("before-append:1:stop")
def step():
    points.reach("before-append", lambda: 0)
    os.write(1, b"gone on")
thread = threading.Thread(target=step)
thread.start()
thread.join()
"""


def test_a_step_that_stops_does_not_go_on() -> None:
    """Not for a moment, in any thread: it could take a lock that nobody would get."""
    for _ in range(10):
        with subprocess.Popen([sys.executable, "-c", STOPPED], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            wait_until_stopped(process.pid)
            os.set_blocking(process.stdout.fileno(), False)
            with pytest.raises(BlockingIOError):
                os.read(process.stdout.fileno(), 1)
            process.send_signal(signal.SIGCONT)
            assert 0 == process.wait(60)
            assert b"gone on" == os.read(process.stdout.fileno(), 99)


def test_a_number_is_a_sleep() -> None:
    """Seconds in the place of a signal make the step take that long."""
    started = time.monotonic()
    Failpoints("before-send:1:0.2").reach("before-send", lambda: 0)
    assert time.monotonic() - started >= 0.2


def test_limits_take_the_place_of_the_usual_ones() -> None:
    """The limits named are replaced, the others stay."""
    points = Failpoints("send_window=1,margin=0,grace=0.5")
    assert Limits(parallelism=2, send_window=1, margin=0, grace=0.5) == points.limited(Limits(parallelism=2))


@pytest.mark.parametrize(
    "text",
    [
        "kill",
        "before-send:kill",
        "before-send:x:kill",
        "sometimes:1:kill",
        "any:1:die",
        "parallelism=2",
        "margin=x",
        "send_window=60.1",
        "grace=-1",
        "margin=nan",
    ],
)
def test_an_unreadable_text_is_refused(text: str) -> None:
    """A text that means nothing is an error that names the variable, never a run without the failure it asked for."""
    with pytest.raises(SettingsError, match="RECONCILER_TEST_FAILPOINT"):
        Failpoints(text)


def test_a_service_that_is_not_on_loopback_has_no_fail_points() -> None:
    """They could keep an outcome from being recorded, so they are refused wherever one counts."""
    addresses = ("http://127.0.0.1:8080", "https://api.service.example/v1")
    Failpoints("").refuse_real_services(addresses)
    Failpoints("any:1:kill").refuse_real_services(["http://localhost:1", "http://[::1]:2", addresses[0]])
    with pytest.raises(SettingsError, match=r"it is set, and api\.service\.example is not on loopback"):
        Failpoints("any:1:kill").refuse_real_services(addresses)
    with pytest.raises(SettingsError, match="RECONCILER_TEST_FAILPOINT"):
        Failpoints("margin=0").refuse_real_services(addresses)
