"""`state copy`, killed at each of its steps, between every two kinds of place, with another machine at the old one."""

from __future__ import annotations

import shutil
import signal
import time
from itertools import permutations
from pathlib import Path
from random import Random

import pytest
from support.git_world import run_git
from support.machines import AFTER_LOSS, KINDS, Machine, Partner, Place, Places, names

STEPS = [f"{when}-append:{number}" for number in (1, 2, 3) for when in ("before", "after")]
PAIRS = [("file", "file"), *permutations(KINDS, 2)]


def _to(partner: Partner, places: Places, kind: str) -> str:
    """Return another place, which every machine can reach."""
    place = places.make(kind)
    partner.place.environment.update(place.environment)
    return "other.jsonl" if kind == "file" else place.name


def _lets_pass(machine: Machine, place: str) -> bool:
    """True if an apply at the place would send something."""
    done = machine.run("plan", "--format", "json", "--state", place)
    return done.code == 0 and any(change["request"] for change in done.document["changes"])


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("source", "kind"), PAIRS)
def test_a_copy_killed_at_any_step_is_completed_by_running_it_again(
    tmp_path: Path, places: Places, source: str, kind: str, step: str
) -> None:
    """At no step do two places let a create pass; an apply at the old one loses nothing, and creates nothing twice."""
    with Partner(tmp_path / "p", places.make(source)) as partner:
        machine = partner.recovered()
        machine.declare(names(2))
        other = machine if source == "file" else partner.machine("other")
        old, new = partner.place.name, _to(partner, places, kind)
        ended = machine.run("state", "copy", old, new, "--yes", failpoint=f"{step}:kill")
        assert ended.code == -signal.SIGKILL, ended
        assert not (_lets_pass(other, old) and _lets_pass(machine, new))
        # Or this machine has seen the new place.
        is_open = step == STEPS[0] or (other is not machine and step in STEPS[:3])
        assert other.apply().code == (0 if is_open else 1)
        machine.succeed("state", "copy", old, new, "--yes")
        machine.succeed("state", "copy", old, new, "--yes")
        machine.declare(names(3))
        closed = other.apply("--state", old)
        assert (closed.code, new in closed.out) == (1, True), closed
        machine.declare(partner.wanted, state=new)
        machine.recover()


@pytest.mark.parametrize(("source", "kind"), [PAIRS[0], ("file", "git"), ("git", "s3"), ("postgresql", "git")])
def test_a_copy_killed_at_any_moment_is_completed_by_running_it_again(
    tmp_path: Path, places: Places, source: str, kind: str
) -> None:
    """However often it is killed, also between the pushes of two branches, nothing is lost or created twice."""
    random = Random(f"{source} {kind}")
    for turn in range(4):
        with Partner(tmp_path / f"p{turn}", places.make(source)) as partner:
            machine = partner.first(1)
            other = machine if source == "file" else partner.machine("other")
            old, new = partner.place.name, _to(partner, places, kind)
            _push_one_by_one(partner.place)
            for number in range(2, 6):
                copy = machine.start("state", "copy", old, new, "--yes")
                time.sleep(random.random() * (0.2 if "git" in {source, kind} else 0.05))
                copy.kill()
                assert machine.finish(copy).code in (0, -signal.SIGKILL)
                for each in {machine, other}:
                    each.declare(names(number), state=old)
                assert not (_lets_pass(other, old) and _lets_pass(machine, new))
                other.apply()
            machine.succeed("state", "copy", old, new, "--yes")
            machine.declare(partner.wanted, state=new)
            machine.recover()


def _push_one_by_one(place: Place) -> None:
    """Have the server of a git place refuse to move two branches at once."""
    if place.origin is not None:
        run_git(place.origin, "config", "receive.advertiseAtomic", "false")


def test_a_copy_whose_first_push_was_cut_in_two_is_completed_by_another(partner: Partner, places: Places) -> None:
    """A server takes the branch, and not yet the one with its head: the next run makes both."""
    machine = partner.recovered()
    to = places.make("git")
    assert to.origin is not None
    _push_one_by_one(to)
    hook = to.origin / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\n[ "${1%-head}" = "$1" ]\n')
    hook.chmod(0o755)
    failed = machine.run("state", "copy", partner.place.name, to.name, "--yes")
    assert (failed.code, "state copy" in failed.err) == (1, True), failed
    hook.unlink()
    machine.succeed("state", "copy", partner.place.name, to.name, "--yes")
    machine.declare(names(2), state=to.name)
    machine.recover()


@pytest.mark.parametrize(("source", "kind"), [PAIRS[0], ("git", "s3"), ("s3", "postgresql"), ("postgresql", "git")])
def test_an_apply_there_during_a_copy_loses_nothing(tmp_path: Path, places: Places, source: str, kind: str) -> None:
    """What it could not append to the closed record is in its recovery file, and the copy loses nothing."""
    with Partner(tmp_path / "p", places.make(source)) as partner:
        machine = partner.first(4)
        other = machine if source == "file" else partner.machine("other")
        old, new = partner.place.name, _to(partner, places, kind)
        apply = other.start("apply", "--auto-approve", "--parallelism", "2", failpoint="after-send:2:1,after-send:3:1")
        while not partner.exists():
            pass
        machine.succeed("state", "copy", old, new, "--yes", failpoint="before-append:2:0.2,before-append:3:0.2")
        ended = other.finish(apply)
        assert ended.code in (0, 1, 3), ended
        for each in {machine, other}:
            each.declare(partner.wanted, state=new)
        for file in (other.data / "unrecorded").glob("*.jsonl"):
            other.succeed("state", "recover", str(file))
        machine.recover()


def test_two_copies_at_once_leave_one_place_open(tmp_path: Path, places: Places) -> None:
    """Copied to two places at the same moment, the record continues at one of them, and nothing is sent elsewhere."""
    with Partner(tmp_path / "p", places.make("postgresql")) as partner:
        machine, other = partner.first(1), partner.machine("other")
        machine.recover()
        for each in (machine, other):
            each.declare(names(2))
        old, news = partner.place.name, [_to(partner, places, "git"), _to(partner, places, "s3")]
        copies = [
            each.start("state", "copy", old, new, "--yes") for each, new in zip((machine, other), news, strict=True)
        ]
        codes = [each.finish(process).code for each, process in zip((machine, other), copies, strict=True)]
        assert sorted(codes) == [0, 1], codes
        won = news[codes.index(0)]
        winner = (machine, other)[codes.index(0)]
        assert [place for place in (old, *news) if _lets_pass(winner, place)] == [won]
        winner.declare(partner.wanted, state=won)
        winner.recover()


def test_a_machine_whose_copy_was_given_up_goes_on_at_the_place_of_another_one(tmp_path: Path, places: Places) -> None:
    """It remembers the place that it began: nothing is sent from there until `accept-loss` and `complete`."""
    with Partner(tmp_path / "p", places.make("postgresql")) as partner:
        machine, other = partner.first(1), partner.machine("other")
        machine.recover()
        old, (given_up, new) = partner.place.name, [_to(partner, places, "git"), _to(partner, places, "s3")]
        killed = machine.run("state", "copy", old, given_up, "--yes", failpoint="after-append:1:kill")
        assert killed.code == -signal.SIGKILL
        other.succeed("state", "copy", old, new, "--yes")
        machine.declare(names(2), state=new)
        refused = machine.run("state", "recover", given_up)
        assert (refused.code, "state accept-loss" in refused.err) == (1, True), refused
        assert not any(_lets_pass(machine, place) for place in (old, given_up, new))
        machine.succeed("state", "accept-loss", "--yes")
        partner.wait(AFTER_LOSS)
        machine.succeed("state", "complete", "--yes")
        machine.recover()


def test_two_places_that_are_closed_towards_each_other_are_merged(partner: Partner) -> None:
    """Copied there and back, then set back: nothing is sent until one is accepted and has the other's facts."""
    machine = partner.recovered()
    machine.succeed("state", "copy", "state.jsonl", "other.jsonl", "--yes")
    shutil.copy(machine.path / "state.jsonl", machine.path / "closed.jsonl")
    machine.declare(names(2), state="other.jsonl")
    machine.recover()
    machine.succeed("state", "copy", "other.jsonl", "state.jsonl", "--yes")
    shutil.copy(machine.path / "closed.jsonl", machine.path / "state.jsonl")
    machine.declare(names(3), state="state.jsonl")
    before = partner.creates
    for place in ("state.jsonl", "other.jsonl"):
        assert (machine.apply("--state", place).code, partner.creates) == (1, before)
    machine.succeed("state", "accept-loss", "--yes")
    machine.succeed("state", "recover", "other.jsonl", "--yes")
    assert (machine.apply().code, partner.creates) == (1, before)
    partner.wait(AFTER_LOSS)
    machine.succeed("state", "complete", "--yes")
    machine.recover()
