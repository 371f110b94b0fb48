"""An apply dies, stops or is interrupted at a durable step; a person recovers from it as the messages say."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from random import Random
from types import ModuleType

import pytest
from support.machines import CODES, HERE, KINDS, THERE, Machine, Partner, Place, Places, Process, lowered, names
from support.notified import wait_until

from reconciler.cli.main import _interrupt

STEPS = 17
"""Steps of an apply of four subscriptions over two targets that makes one call at a time."""


def _want_more(machine: Machine, count: int) -> None:
    """Want so many subscriptions more, on every target."""
    wanted = machine.partner.wanted
    machine.declare({**wanted, **names(count, len(wanted))})


def _wait_until_stopped(process: Process) -> None:
    status = Path(f"/proc/{process.pid}/stat")
    assert wait_until(lambda: status.read_text().rpartition(")")[2].split()[0] == "T", 20)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("turn", range(3))
def test_an_apply_killed_at_any_step_is_recovered_from(tmp_path: Path, places: Places, kind: str, turn: int) -> None:
    """Killed at a durable step, nothing is lost or twice; resolved truthfully, all is there once."""
    steps = range(turn + 1, STEPS + 1, 3) if kind == "file" else (2 * turn + KINDS.index(kind), 7 + turn)
    with Partner(tmp_path / "p", places.make(kind), (HERE, THERE)) as partner:
        machine = partner.first(1)
        for step in steps:
            _want_more(machine, 2)
            ended = machine.apply("--parallelism", "1", failpoint=f"any:{step}:kill")
            assert ended.code == -signal.SIGKILL, ended
            machine.settle()
            partner.assert_at_most_once()
        machine.recover()
        machine.succeed("state", "verify")


@pytest.mark.parametrize(("kind", "what"), list(zip(KINDS, ("hup", "int", "term", "int"), strict=True)))
def test_an_interrupted_apply_records_what_its_calls_are(tmp_path: Path, places: Places, kind: str, what: str) -> None:
    """The exit code is 128 and the signal's number, no further call is started, and no outcome is left open."""
    with Partner(tmp_path / "p", places.make(kind), (HERE, THERE)) as partner:
        machine = partner.first(1)
        for number, step in enumerate(("before-append:2", "after-append:2", "before-send:2", "after-send:1"), 1):
            _want_more(machine, 1)
            ended = machine.apply("--parallelism", "1", failpoint=f"{step}:{what}")
            assert ended.code == CODES[what], ended
            assert partner.creates <= 2 * number
        assert machine.recover() == 0


def test_a_signal_while_the_program_loads_is_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even while the errors themselves are being loaded, the exit code is 128 and the signal's number."""
    monkeypatch.setitem(sys.modules, "reconciler.errors", ModuleType("reconciler.errors"))
    with pytest.raises(SystemExit) as ended:
        _interrupt(signal.SIGTERM, None)
    assert ended.value.code == 143


def test_a_call_that_is_not_answered_within_the_grace_is_unknown(partner: Partner) -> None:
    """Once the grace of an interrupted run has passed, the call in flight is recorded as unknown."""
    machine = partner.first(2)
    partner.sandbox.world.fail_next("hang-after")
    apply = machine.start("apply", "--auto-approve", failpoint="call_grace=0.1")
    assert wait_until(lambda: bool(partner.exists()), 20)
    apply.send_signal(signal.SIGTERM)
    assert machine.finish(apply).code == 143
    assert machine.recover() == 1


@pytest.mark.parametrize("step", ["before-send:1", "after-append:1"])
def test_a_call_whose_process_was_stopped_beyond_its_window_is_not_sent(partner: Partner, step: str) -> None:
    """Stopped before its call and continued after the send window, an apply sends nothing: not sent, exit 1."""
    machine = partner.first(1)
    apply = machine.start("apply", "--auto-approve", failpoint=lowered(0.1, f"{step}:stop"))
    _wait_until_stopped(apply)
    time.sleep(0.15)
    apply.send_signal(signal.SIGCONT)
    ended = machine.finish(apply)
    assert (ended.code, partner.creates) == (1, 0), ended
    assert machine.recover() == 0


def test_a_stopped_apply_is_overtaken_only_after_its_call_is_settled(tmp_path: Path, places: Places) -> None:
    """While a call may be in flight, others are refused; once someone said that it was not created, it is not sent."""
    with Partner(tmp_path / "p", places.make("git")) as partner:
        machine, other = partner.first(1), partner.machine("other")
        apply = machine.start("apply", "--auto-approve", failpoint="before-send:1:stop,freshness=0.1")
        _wait_until_stopped(apply)
        assert (other.apply().code, partner.creates) == (1, 0)
        early = other.run("state", "resolve", f"{HERE}/s0", "--not-created", "--yes")
        assert early.code == 1, early
        partner.wait(200)
        assert other.apply().code == 3
        other.succeed("state", "resolve", f"{HERE}/s0", "--not-created", "--yes")
        other.recover()
        apply.send_signal(signal.SIGCONT)  # its own clock did not move on: only a new look at the record stops it
        ended = machine.finish(apply)
        assert (ended.code, partner.creates) == (1, 1), ended
        partner.assert_done(machine)


FAULTS = {
    **dict.fromkeys(("reset-after", "500-after", "html", "half", "empty", "late"), 0.04),
    **dict.fromkeys(("reset-before", "503", "422", "401-once", "html-200"), 0.03),
    **dict.fromkeys(("token-503", "token-reset-after"), 0.03),
}


class Killing:
    """A project that applies and is killed, over and over, at a service that fails; `killed` counts how often."""

    def __init__(self, root: Path, place: Place, seed: int) -> None:
        self._random = Random(seed)
        self.killed = 0
        self.partner = Partner(root, place, (HERE, THERE), faults=FAULTS, seed=self._random.randrange(1 << 32))

    def run(self, kills: int, *, installed: bool = False) -> None:
        """Be killed so often, with more wanted all the time, and then apply until all is there."""
        random = self._random
        with self.partner as partner:
            machine = partner.first(2)
            machine.installed = installed
            while self.killed < kills:
                _want_more(machine, random.randint(0, 2))
                self._apply(machine)
                machine.settle()
                partner.assert_at_most_once()
            for _ in range(20):
                if machine.apply("--timeout", "2").code == 0:
                    break
                machine.settle()
            partner.assert_done(machine)
            machine.succeed("state", "verify")

    def _apply(self, machine: Machine) -> None:
        """Apply, killed at a durable step or at any moment, if it lasts that long."""
        random = self._random
        words = ("apply", "--auto-approve", "--parallelism", str(random.choice((1, 2, 4))), "--timeout", "2")
        if random.random() < 0.5:
            ended = machine.run(*words, failpoint=f"any:{random.randint(1, 20)}:kill")
        else:
            apply = machine.start(*words)
            time.sleep(random.choice((0.05, 0.1, 0.2)) * (machine.installed + 1) * random.random())
            apply.send_signal(random.choice((*[signal.SIGKILL] * 4, signal.SIGTERM, signal.SIGINT)))
            ended = machine.finish(apply)
        assert ended.code in (0, 1, 3, 130, 143, -signal.SIGINT, -signal.SIGTERM, -signal.SIGKILL), ended
        self.killed += ended.code == -signal.SIGKILL


@pytest.mark.parametrize("kind", KINDS)
def test_random_kills_create_nothing_twice(tmp_path: Path, places: Places, kind: str) -> None:
    """However often an apply is killed at a service that fails: no route twice, none lost, and in the end all there."""
    Killing(tmp_path / "p", places.make(kind), 7).run(5)


@pytest.mark.parametrize("kind", KINDS)
def test_kills_of_the_installed_executable_create_nothing_twice(tmp_path: Path, places: Places, kind: str) -> None:
    """As above, with what a user starts."""
    Killing(tmp_path / "p", places.make(kind), 8).run(3, installed=True)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_random_kills_create_nothing_twice(tmp_path: Path, places: Places, kind: str, seed: int) -> None:
    """As above, 25 kills for each seed and kind of place."""
    Killing(tmp_path / "p", places.make(kind), seed).run(25)
