"""The program dies, or is told to end, at every durable step; and a person recovers from it as the documents say."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest
from support.project import finish
from support.sandbox_pace import hold_creates
from support.sandbox_project import HERE, THERE, SandboxProject, subscriptions

from reconciler.model.outcome import Outcome
from reconciler.model.record import Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CODES = {"kill": -signal.SIGKILL, "term": 143, "int": 130, "int2": 130}

ONE, TWO = (HERE,), (HERE, THERE)
COUNTS = {ONE: 3, TWO: 2}
"""How many subscriptions each target is to have."""


def steps_of(targets: tuple[str, ...], appends: int, sends: int) -> list[tuple[tuple[str, ...], str]]:
    """Every durable step of an apply that makes one call at a time, as STEP:N."""
    counts = {"before-append": appends, "after-append": appends, "before-send": sends, "after-send": sends}
    return [(targets, f"{step}:{number}") for step, count in counts.items() for number in range(1, count + 1)]


STEPS = [*steps_of(ONE, appends=4, sends=3), *steps_of(TWO, appends=6, sends=4)]


def cases() -> Sequence[object]:
    """Every step with every signal; by default a kill after each step, which leaves what is there before the next.

    The other signals take turns.
    """
    found = []
    for index, (targets, step) in enumerate(STEPS):
        for turn, what in enumerate(CODES):
            killed = what == "kill" and (step.startswith("after") or step == "before-append:1")
            usual = targets == ONE and (killed or index % 6 == turn - 1)
            usual = usual or (what == "kill" and step in ("after-append:3", "after-append:4"))
            marks = () if usual else pytest.mark.soak
            found.append(pytest.param(targets, f"{step}:{what}", id=f"{len(targets)}-{step}-{what}", marks=marks))
    return found


@pytest.mark.parametrize(("targets", "failpoint"), cases())
def test_an_apply_ended_at_any_step_is_recovered_from(tmp_path: Path, targets: tuple[str, ...], failpoint: str) -> None:
    """Whatever the step and the signal: nothing is lost or twice, and after resolving truthfully all is there once."""
    with SandboxProject(tmp_path, subscriptions(COUNTS[targets]), targets) as scene:
        ended = scene.apply("--parallelism", "1", failpoint=failpoint)
        assert CODES[failpoint.rpartition(":")[2]] == ended.code, ended
        scene.recover()


@pytest.mark.parametrize("targets", [ONE, TWO])
def test_the_steps_above_are_all_there_are(tmp_path: Path, targets: tuple[str, ...]) -> None:
    """A run that makes one call at a time never comes to one step more than those tried above."""
    count = len(targets) * COUNTS[targets]
    appends = count + len(targets)
    beyond = f"before-append:{appends + 1}:kill,before-send:{count + 1}:kill,any:{2 * (count + appends) + 1}:kill"
    with SandboxProject(tmp_path, subscriptions(COUNTS[targets]), targets) as scene:
        assert 0 == scene.apply("--parallelism", "1", failpoint=beyond).code
        assert {(targets, f"after-append:{appends}"), (targets, f"after-send:{count}")} < set(STEPS)
        scene.assert_done()


USUAL = (("after-append", 2), ("after-send", 4))


@pytest.mark.parametrize(
    "failpoint",
    [
        pytest.param(
            f"{step}:{number}:{what}", marks=() if what == "kill" and (step, number) in USUAL else pytest.mark.soak
        )
        for step, last in (("before-append", 3), ("after-append", 3), ("before-send", 6), ("after-send", 6))
        for number in range(1, last + 1)
        for what in CODES
    ],
)
def test_calls_that_go_out_side_by_side_are_recovered_from(tmp_path: Path, failpoint: str) -> None:
    """With four calls in flight, no more than four are left open, and all of them can be settled."""
    with SandboxProject(tmp_path, subscriptions(6)) as scene:
        ended = scene.apply(failpoint=failpoint)
        assert CODES[failpoint.rpartition(":")[2]] == ended.code, ended
        assert scene.recover() <= 4
        scene.project.step("state", "verify")


@pytest.mark.parametrize("what", ["int", "term"])
def test_a_signal_just_before_the_call_keeps_it_from_being_sent(tmp_path: Path, what: str) -> None:
    """An interrupted run starts no further call, not even one whose intent is recorded: it is recorded as not sent."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        assert CODES[what] == scene.apply(failpoint=f"before-send:1:{what}").code
        assert 0 == scene.sandbox.world.requests["create", HERE]
        assert [Outcome.NOT_SENT] == [attempt.outcome for attempt in scene.attempts()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_waits_for_the_call_in_flight(tmp_path: Path, number: signal.Signals) -> None:
    """A call that is answered within the grace of an interrupted run is recorded as created, and no other begun."""
    with SandboxProject(tmp_path, subscriptions(3)) as scene:
        answers = hold_creates(scene.sandbox)
        apply = scene.start_apply("--parallelism", "1")
        scene.wait_until_committed()
        apply.send_signal(number)
        answers.set()
        assert 128 + number == finish(apply).code
        assert [Status.LIVE] == [attempt.status for attempt in scene.attempts()]
        assert 0 == scene.recover()


@pytest.mark.parametrize(
    ("failpoint", "signals"), [("grace=0.3", [signal.SIGINT]), ("", [signal.SIGINT] * 2), ("", [signal.SIGTERM] * 2)]
)
def test_a_call_that_is_not_waited_for_any_longer_is_unknown(
    tmp_path: Path, failpoint: str, signals: list[signal.Signals]
) -> None:
    """Once the grace has passed, or a second signal comes, the call in flight is recorded as what it is: unknown."""
    with SandboxProject(tmp_path, subscriptions(2)) as scene:
        answers = hold_creates(scene.sandbox)
        apply = scene.start_apply("--parallelism", "1", failpoint=failpoint)
        scene.wait_until_committed()
        for number in signals:
            apply.send_signal(number)
            time.sleep(0.3)
        assert 128 + signals[0] == finish(apply, timeout=4).code
        assert [Status.UNKNOWN] == [attempt.status for attempt in scene.attempts()]
        answers.set()
        assert 1 == scene.recover()


def test_what_may_still_be_in_flight_is_not_settled_without_force(tmp_path: Path) -> None:
    """Before its call is settled at the latest, an open intent is settled by force only, and the refusal says when."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        assert -signal.SIGKILL == scene.apply(failpoint="before-send:1:kill").code
        refused = scene.project.run("state", "resolve", f"{HERE}/s0", "--not-created")
        assert 1 == refused.code
        assert "may still be in flight" in refused.err
        assert "wait until 20" in refused.err
        assert 1 == scene.recover()


def test_what_is_overdue_is_settled_without_force(tmp_path: Path) -> None:
    """Once the call is settled at the latest, a person's word is enough; until it comes, nothing is sent."""
    with SandboxProject(tmp_path, subscriptions(1)) as scene:
        scene.apply("--timeout", "0.1", failpoint="send_window=0.1,margin=0,after-append:1:kill")
        time.sleep(0.3)
        assert 3 == scene.apply().code
        scene.assert_at_most_once()
        scene.project.step("state", "resolve", f"{HERE}/s0", "--not-created")
        assert 0 == scene.recover()


def test_a_connection_that_is_dropped_ends_an_apply_as_a_signal_does(tmp_path: Path) -> None:
    """SIGHUP is 129: nothing more is begun, and what was answered is recorded."""
    with SandboxProject(tmp_path, subscriptions(2)) as scene:
        done = scene.apply("--parallelism", "1", failpoint="before-append:2:hup")
        assert 129 == done.code, done
        assert 1 == len(scene.sandbox.world.commits)
        scene.recover()


def test_nohup_goes_on(tmp_path: Path) -> None:
    """Where SIGHUP is ignored it stays so."""
    with SandboxProject(tmp_path, subscriptions(2)) as scene:
        done = scene.run_under(["nohup"], "apply", "--auto-approve", failpoint="before-append:2:hup")
        assert 0 == done.code, done
        scene.assert_done()
