"""The program dies at random moments, again and again, at a service where all sorts of things go wrong."""

from __future__ import annotations

import signal
import time
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest
from support.project import finish
from support.sandbox_pace import slow_down
from support.sandbox_project import HERE, THERE, SandboxProject, subscriptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.project import Finished

FAULTS = {
    **dict.fromkeys(("reset-after", "500-after", "html", "half", "empty", "hang-after"), 0.03),
    **dict.fromkeys(("refuse", "reset-before", "503", "422", "429", "401-once", "html-200"), 0.02),
    **dict.fromkeys(("token-503", "token-reset-after"), 0.03),
}
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
SLOWEST = 0.03  # seconds


def kill_at_random(scene: SandboxProject, random: Random) -> Finished:
    """An apply that is killed at a random step, or gets a random signal at a random time; or ends before that."""
    arguments = ("--timeout", "1", "--parallelism", str(random.choice((1, 2, 4))))
    if random.random() < 0.6:
        return scene.apply(*arguments, failpoint=f"any:{random.randint(1, 24)}:kill")
    apply = scene.start_apply(*arguments)
    time.sleep(random.uniform(0.1, 0.8))
    apply.send_signal(random.choice(SIGNALS))
    return finish(apply)


def kill_until_done(path: Path, random: Random, count: int) -> Counter[str]:
    """Apply `count` subscriptions to each of two targets, killed over and over, until all are there; what happened."""
    told: Counter[str] = Counter()
    with SandboxProject(path, subscriptions(count), (HERE, THERE), FAULTS, random.randrange(1 << 32)) as scene:
        slow_down(scene.sandbox, lambda: random.random() * SLOWEST)
        while scene.due_code():
            ended = kill_at_random(scene, random)
            assert ended.code in {0, 1, 3, 130, 143, -signal.SIGINT, -signal.SIGTERM, -signal.SIGKILL}, ended
            scene.assert_at_most_once()
            told.update(runs=1, kills=ended.code < 0, interrupted=ended.code in (130, 143), settled=scene.settle())
        scene.assert_done()
        scene.project.step("state", "verify")
    told["routes"] = 2 * count
    return told


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 10))])
def test_no_random_kill_creates_twice_or_loses(tmp_path: Path, seed: int) -> None:
    """However often an apply is killed: no route twice, none lost, and in the end all of them there."""
    told = kill_until_done(tmp_path, Random(seed), 10)
    assert told["kills"]


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(100, 150))
def test_a_thousand_random_kills_create_nothing_twice(
    tmp_path: Path, seed: int, record_property: Callable[[str, object], None]
) -> None:
    """As above, twenty kills for each seed; the counts are in the report."""
    random, told = Random(seed), Counter[str]()
    while told["kills"] < 20:
        told += kill_until_done(tmp_path / str(told["runs"]), random, 16)
    for name, number in told.items():
        record_property(name, number)
    print("random kills:", dict(told))  # noqa: T201
