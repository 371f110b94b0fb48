"""The protocol: outcomes that are appended together, since an append may be a push."""

from __future__ import annotations

import pytest
from support.applying_bench import CREATED, Bench, kinds, wanting

from reconciler.applying.context import Limits
from reconciler.applying.events import InterruptAsked

PUSH = 1.0  # seconds an append takes here
NAMES = tuple(chr(ord("A") + number) for number in range(40))


def push(bench: Bench) -> list[str]:
    """An append, which takes its time; what it held."""
    bench.steady += PUSH
    return kinds(bench.append())


def four_in_flight(names: tuple[str, ...] = NAMES) -> Bench:
    """A run whose first create is over, with four calls in flight."""
    bench = Bench(wanting(*names))
    bench.start()
    push(bench)
    bench.answer(CREATED)
    push(bench)
    assert 4 == len(bench.sends)
    return bench


@pytest.mark.parametrize("pause", [0.0, 0.1, 0.3])
def test_forty_creates_are_a_dozen_appends(pause: float) -> None:
    """Four at a time, however far apart their answers are within the time of an append."""
    bench = Bench(wanting(*NAMES))
    bench.start()
    appends = 0
    while not bench.run.finished:
        if bench.appends:
            push(bench)
            appends += 1
        else:
            bench.answer(CREATED)
            bench.wait(pause)
    assert 12 == appends
    assert {"created"} == set(bench.outcomes.values())


def test_an_outcome_waits_no_longer_than_an_append_takes() -> None:
    """While other calls hang it is appended all the same, and its place is taken by the next create."""
    bench = four_in_flight()
    bench.answer(CREATED)
    assert [] == bench.appends
    assert bench.steady + PUSH == bench.run.wake_at
    bench.wait(PUSH)
    assert ["outcome", "intent"] == push(bench)


def test_an_outcome_does_not_wait_long_for_a_slow_store() -> None:
    """There is a limit, however long an append takes."""
    bench = four_in_flight()
    bench.answer(CREATED)
    bench.wait(PUSH)
    bench.steady += 30
    bench.append()
    bench.answer(CREATED)
    bench.wait(Limits().batch_delay)
    assert ["outcome", "intent"] == push(bench)


def test_the_last_outcome_in_flight_waits_for_nothing() -> None:
    """Nobody is left to wait for."""
    bench = four_in_flight()
    for _ in range(4):
        bench.answer(CREATED)
    assert ["outcome"] * 4 + ["intent"] * 4 == push(bench)


def test_an_interrupted_run_does_not_wait() -> None:
    """What is known is recorded at once."""
    bench = four_in_flight()
    bench.answer(CREATED)
    bench.hear(InterruptAsked())
    assert ["outcome"] == push(bench)
    bench.answer(CREATED)
    assert ["outcome"] == push(bench)
