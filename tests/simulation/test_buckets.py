"""The simulation with its records in buckets that break their promises, by the real code of the store for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.broken_buckets import BROKEN, HARMLESS
from support.simulation.sim_bucket import BucketSimulation
from support.simulation.sim_service import Violation

from reconciler.errors import HeadMoved, StoreUnavailable
from reconciler.state.stores.objects import objects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reconciler.state.stores.objects.bucket import Bucket

ODDS = (0.1, 0.4)
"""How often a fault happens, in turns."""

BEYOND = sorted(BROKEN.keys() - HARMLESS)
_SOAK_CHUNK = 1_000


def simulation(broken: str, seed: int, *, tracing: bool = False) -> BucketSimulation:
    """The simulation of a seed."""
    return BucketSimulation(seed, broken, ODDS[seed % len(ODDS)], tracing=tracing)


def run_seeds(broken: str, seeds: range) -> None:
    """Run these simulations. Raises what the first that fails does, with a note on how to look into it."""
    for seed in seeds:
        try:
            simulation(broken, seed).run()
        except Exception as problem:
            problem.add_note(f"simulation({broken!r}, {seed}, tracing=True) tells the story")
            raise


def breaks(broken: str, seeds: range) -> bool:
    """Whether some of these simulations breaks a promise."""
    for seed in seeds:
        try:
            simulation(broken, seed).run()
        except Violation:
            return True
    return False


@pytest.mark.parametrize("broken", sorted(HARMLESS))
def test_no_seed_breaks_a_promise(broken: str) -> None:
    """Whatever the bucket does, and whatever else goes wrong: nothing twice, nothing forgotten, all comes right."""
    run_seeds(broken, range(20))


@pytest.mark.soak
@pytest.mark.parametrize("first", range(20, 10_020, _SOAK_CHUNK))
@pytest.mark.parametrize("broken", sorted(HARMLESS))
def test_no_seed_of_many_breaks_a_promise(broken: str, first: int) -> None:
    """The same for ten thousand seeds more of each."""
    run_seeds(broken, range(first, first + _SOAK_CHUNK))


@pytest.mark.parametrize("broken", BEYOND)
def test_what_no_client_can_survive(broken: str) -> None:
    """Some seed breaks a promise."""
    assert breaks(broken, range(200))


def test_a_store_that_believes_answers_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the object being read back and compared, calls are sent whose intents are stored nowhere."""

    def believe(bucket: Bucket, key: str, data: bytes, before: Mapping[str, bytes], where: str, until: float) -> None:
        answer = bucket.create(key, data, until)
        if answer.end == "conflict":
            raise HeadMoved("conflict", where=where)
        if answer.end != "created":
            raise StoreUnavailable("no answer", where=where)

    monkeypatch.setattr(objects, "write_once", believe)
    for broken in ("success with nothing stored", "half an object"):
        assert breaks(broken, range(20)), broken


def test_a_seed_tells_the_same_story_every_time() -> None:
    """A run under one seed is reproduced to the letter."""
    for broken in sorted(HARMLESS):
        trace = simulation(broken, 1, tracing=True).run().trace or []
        assert trace == simulation(broken, 1, tracing=True).run().trace
        assert any("is stored" in line for line in trace)
