"""The whole product but for its threads, sockets and disks, under thousands of seeds."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.simulation.sim_service import Promise, Violation
from support.simulation.simulation import Simulation

_CHUNK = 250
_SOAK_CHUNK = 1000


def run_seeds(seeds: range) -> None:
    """Run these simulations. Raises what the first that fails does, with a note on how to look into it."""
    for seed in seeds:
        try:
            Simulation(seed).run()
        except Exception as problem:
            problem.add_note(f"Simulation({seed}, tracing=True) tells the story")
            raise


@pytest.mark.parametrize("first", range(0, 500, _CHUNK))
def test_no_seed_breaks_a_promise(first: int) -> None:
    """Whatever crashes, is lost or comes late: no route is created twice, nothing is forgotten, all comes right."""
    run_seeds(range(first, first + _CHUNK))


@pytest.mark.soak
@pytest.mark.parametrize("first", range(500, 102_500, _SOAK_CHUNK))
def test_no_seed_of_many_breaks_a_promise(first: int) -> None:
    """The same for a hundred thousand seeds more."""
    run_seeds(range(first, first + _SOAK_CHUNK))


def trace_of(seed: int) -> list[str]:
    """All that happens under one seed, line by line."""
    return Simulation(seed, tracing=True).run().trace or []


def digest_of_stories() -> str:
    """A hash over what happens under some seeds."""
    return hashlib.sha256(repr([trace_of(seed) for seed in range(8)]).encode()).hexdigest()


@pytest.mark.parametrize("seed", [1, 7, 1409])
def test_a_seed_tells_the_same_story_every_time(seed: int) -> None:
    """A run under one seed is reproduced to the letter, with all that happens in it."""
    trace = trace_of(seed)
    assert trace == trace_of(seed)
    assert len(trace) > 20


def test_different_seeds_tell_different_stories() -> None:
    """The stories are not all one."""
    assert 40 == len({tuple(trace_of(seed)) for seed in range(40)})


def test_a_seed_tells_the_same_story_in_every_process() -> None:
    """The order of hashes, which differs from process to process, has no part in it."""
    script = "import test_simulation; print(test_simulation.digest_of_stories())"
    here = Path(__file__).parent
    places = f"{here}{os.pathsep}{here.parent}"
    told = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": places},
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip()
        for hash_seed in ("1", "2")
    }
    assert {digest_of_stories()} == told


def test_a_failure_names_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sees a seed fail is told how to look into it."""

    def fail(self: Simulation) -> None:
        raise Violation(Promise.AT_REST, "not this time")

    monkeypatch.setattr(Simulation, "run", fail)
    with pytest.raises(Violation) as failure:
        run_seeds(range(42, 43))
    assert ["Simulation(42, tracing=True) tells the story"] == failure.value.__notes__
