"""Several real processes work on one record at once, and each route is created once all the same."""

from __future__ import annotations

import signal
import time
from collections import Counter
from threading import Event, Thread
from typing import TYPE_CHECKING, Self

import pytest
from support.project import Project, finish
from support.sandbox_pace import hold_creates, slow_down
from support.sandbox_project import HERE, THERE, SandboxProject, subscriptions
from support.stopped_process import wait_until_stopped

from reconciler.model.outcome import Outcome
from reconciler.model.record import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from support.project import Finished
    from support.warm import Started

STOP = "before-append:1:stop"


def start_together(starts: Sequence[Callable[[], Started]]) -> list[Finished]:
    """Start commands that stop before their first append, and let them go on all at once, planned on one head."""
    processes = [start() for start in starts]
    for process in processes:
        wait_until_stopped(process.pid)
    for process in processes:
        process.send_signal(signal.SIGCONT)
    return [finish(process) for process in processes]


def test_eight_applies_of_one_plan_create_each_route_once(tmp_path: Path) -> None:
    """Eight processes that planned the same thing share it out between them, and ask for one token."""
    with SandboxProject(tmp_path, subscriptions(5)) as scene:
        ended = start_together([lambda: scene.start_apply(failpoint=STOP)] * 8)
        assert {0, 1} >= {one.code for one in ended}, ended
        assert 0 in {one.code for one in ended}
        assert 1 == len(scene.sandbox.world.tokens)
        scene.assert_done()
        scene.project.step("state", "verify")


def test_the_loser_of_a_race_is_done_where_the_winner_was(tmp_path: Path) -> None:
    """What another apply took is skipped, and counts as done once that apply is done with it."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        ended = start_together([lambda: scene.start_apply("--format", "json", failpoint=STOP)] * 2)
        assert [0, 0] == [one.code for one in ended], ended
        outcomes = Counter(one.document["results"][0]["outcome"] for one in ended)
        assert Counter(created=1, skipped=1) == outcomes
        scene.assert_done()


def test_the_loser_fails_where_the_winner_does_not_settle(tmp_path: Path) -> None:
    """What another apply took, and has not settled by the end, counts as not done: 1, since 3 is for one's own."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        answers = hold_creates(scene.sandbox)
        loser = scene.start_apply(failpoint=STOP)
        wait_until_stopped(loser.pid)
        winner = scene.start_apply()
        scene.wait_until_committed()
        loser.send_signal(signal.SIGCONT)
        lost = finish(loser)
        assert 1 == lost.code
        assert "another run is still applying this address; apply again once that run has ended" in lost.out
        answers.set()
        assert 0 == finish(winner).code
        scene.assert_done()


def test_the_loser_waits_in_a_job(tmp_path: Path) -> None:
    """Where nobody would apply again, what another apply took is waited for as long as its call may take."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        answers = hold_creates(scene.sandbox)
        scene.project.environment["CI"] = "true"
        loser = scene.start_apply("--unsealed", failpoint=STOP)
        wait_until_stopped(loser.pid)
        winner = scene.start_apply("--unsealed")
        scene.wait_until_committed()
        loser.send_signal(signal.SIGCONT)
        time.sleep(8)  # longer than at a terminal
        answers.set()
        assert [0, 0] == [finish(one).code for one in (winner, loser)]
        scene.assert_done()


@pytest.mark.parametrize("count", [2, pytest.param(6, marks=pytest.mark.soak)])
def test_applies_to_different_targets_leave_each_other_alone(tmp_path: Path, count: int) -> None:
    """Applies to two targets at once both succeed, and no one is kept waiting or sent back."""
    with SandboxProject(tmp_path, subscriptions(3), (HERE, THERE)) as scene:
        starts = [
            lambda target=target: scene.start_apply("-t", target, failpoint=STOP)
            for target in (HERE, THERE) * (count // 2)
        ]
        assert {0} == {one.code for one in start_together(starts)}
        scene.assert_done()


def test_codes_added_meanwhile_are_created_once(tmp_path: Path) -> None:
    """Eight processes, half of which want one code more: what both want is created once, what is missing is added."""
    with SandboxProject(tmp_path, subscriptions(2)) as scene:
        scene.declare(scene.wanted, "fewer")
        scene.declare({**scene.wanted, "s0": ["ONB10000", "LOA10000"]})
        starts = [
            lambda folder=folder: scene.start_apply("--config", folder, failpoint=STOP)
            for folder in ("fewer", "config") * 4
        ]
        ended = start_together(starts)
        assert {0, 1} >= {one.code for one in ended}, ended
        scene.assert_at_most_once()
        scene.project.step("apply", "--auto-approve")
        scene.assert_done()


class Meddler(Thread):
    """Does something to the record over and over, from beginning to end of a `with` block."""

    def __init__(self, act: Callable[[], Finished]) -> None:
        super().__init__(daemon=True)
        self.codes: Counter[int] = Counter()
        self._act = act
        self._over = Event()

    def run(self) -> None:
        while not self._over.wait(0.02):
            self.codes[self._act().code] += 1

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()


def test_resolving_does_not_touch_what_a_living_apply_has_in_flight(tmp_path: Path) -> None:
    """Someone who keeps saying --not-created during an apply is refused, and nothing is created again."""
    with SandboxProject(tmp_path, subscriptions(6)) as scene:
        slow_down(scene.sandbox, lambda: 0.05)
        with Meddler(lambda: scene.project.step("state", "resolve", "*/*/*", "--not-created", code=None)) as meddler:
            assert 0 == scene.run_apply("--parallelism", "1").code
            scene.project.step("apply", "--auto-approve")
        assert {1} == set(meddler.codes)
        scene.assert_done()


def test_renaming_during_an_apply_creates_nothing_twice(tmp_path: Path) -> None:
    """A subscription that changes its name to and fro meanwhile is never created under the name it does not have."""
    with SandboxProject(tmp_path, subscriptions(4)) as scene:
        slow_down(scene.sandbox, lambda: 0.05)
        names = [f"{HERE}/s0", f"{HERE}/other"]

        def rename() -> Finished:
            done = scene.project.step("state", "mv", *names, code=None)
            if done.code == 0:
                names.reverse()
            return done

        with Meddler(rename) as meddler:
            for _ in range(3):
                assert {0, 1} >= {scene.run_apply("--parallelism", "1").code}
                scene.assert_at_most_once()
        assert meddler.codes[0]
        if names[0] == f"{HERE}/other":
            scene.project.step("state", "mv", *names)
        scene.project.step("apply", "--auto-approve")
        scene.assert_done()


def test_removals_during_an_apply_leave_each_route_once(tmp_path: Path) -> None:
    """While the operator removes a subscription again and again, each apply brings it back once."""
    with SandboxProject(tmp_path, subscriptions(3)) as scene:
        address, url = f"{HERE}/s0", "https://hooks.partner.example/s0"

        def remove() -> Finished:
            done = scene.project.step("state", "retire", address, code=None)
            if done.code == 0:
                for commit in scene.sandbox.world.subscriptions():
                    if commit.url == url:
                        scene.sandbox.world.remove_subscription(commit.id)
                # An apply may have restored it meanwhile; the operator has deleted it all the same.
                return scene.project.step("state", "removed", address, "--force", code=None)
            return done

        with Meddler(remove) as meddler:
            for _ in range(4):
                assert {0, 1} >= {scene.run_apply("--parallelism", "1").code}
        assert meddler.codes[0]
        scene.project.step("apply", "--auto-approve")
        scene.assert_done()


@pytest.mark.parametrize(("step", "timeout"), [("after-append", 1), ("before-send", 1), ("before-send", 30)])
def test_a_runner_that_sleeps_past_its_time_sends_nothing(tmp_path: Path, step: str, timeout: int) -> None:
    """One that is suspended between intent and call, and given up meanwhile, does not send once it wakes."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        failpoint = f"send_window=1,margin=0,{step}:1:stop"
        sleeper = scene.start_apply("--timeout", str(timeout), failpoint=failpoint)
        wait_until_stopped(sleeper.pid)
        (attempt,) = scene.unresolved()
        assert not scene.was_created(attempt)
        time.sleep(max(0.0, attempt.send_by + min(timeout, 1) - time.time()) + 0.1)
        force = ["--force"] if time.time() < attempt.settled_by else []
        scene.project.step("state", "resolve", attempt.address, "--not-created", *force)
        scene.project.step("apply", "--auto-approve")
        sleeper.send_signal(signal.SIGCONT)
        # 3 where its call could not be in flight any more: the run may see that before its thread says "not sent".
        assert finish(sleeper).code in ({0, 1} if timeout > 1 else {0, 1, 3})
        assert 1 == scene.sandbox.world.requests["create", HERE]
        scene.assert_done()


def test_a_runner_that_sleeps_after_its_call_still_records_it(tmp_path: Path) -> None:
    """What is known when it wakes goes into the record, over the person's word, which was the same."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        sleeper = scene.start_apply(failpoint="after-send:1:stop")
        wait_until_stopped(sleeper.pid)
        assert 1 == scene.settle()
        scene.project.step("apply", "--auto-approve")
        sleeper.send_signal(signal.SIGCONT)
        assert 0 == finish(sleeper).code
        assert [Outcome.CREATED] == [attempt.outcome for attempt in scene.attempts()]
        scene.assert_done()


def test_a_wrong_word_about_a_sleeping_runner_comes_to_light(tmp_path: Path) -> None:
    """Where somebody elsewhere was wrong to say --not-created, both are live in the end; the plan names the second."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        sleeper = scene.start_apply(failpoint="after-send:1:stop")
        wait_until_stopped(sleeper.pid)
        elsewhere = Project(scene.project.path, {**scene.project.environment, "XDG_DATA_HOME": str(tmp_path / "else")})
        elsewhere.step("state", "resolve", f"{HERE}/s0", "--not-created", "--force")
        elsewhere.step("apply", "--auto-approve")
        sleeper.send_signal(signal.SIGCONT)
        finish(sleeper)
        assert [Status.LIVE] * 2 == [attempt.status for attempt in scene.attempts()]
        plan = scene.project.step("plan", "--format", "json", "--detailed-exitcode")
        assert [f"{HERE}/s0"] == [one["address"] for one in plan.document["surplus"]]
