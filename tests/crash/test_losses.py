"""While a loss is open nothing is sent, whoever asks, from wherever, and however."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support.git_world import run_git
from support.machines import AFTER_LOSS, HERE, THERE, Machine, Partner, Places, names


def _assert_nothing_is_sent(machine: Machine, *words: str) -> None:
    """An apply exits with 1 (3 beside an unknown outcome) and sends nothing; a plan sees it: 2."""
    before = machine.partner.creates
    done = machine.apply(*words)
    assert done.code == 1, done
    assert machine.partner.creates == before
    if not words or words[0] == "-t":
        assert machine.run("plan", "--detailed-exitcode", *words).code == 2


def _end_loss(machine: Machine) -> None:
    """Say that the record is complete, as soon as that is accepted, and apply."""
    early = machine.run("state", "complete", "--yes")
    assert early.code == 1, early
    assert "may be in flight until" in early.err
    machine.partner.wait(AFTER_LOSS)
    machine.succeed("state", "complete", "--yes")
    machine.recover()


def test_a_record_that_was_only_begun_sends_nothing(tmp_path: Path, places: Places) -> None:
    """After `state init` alone nothing is created, until `state complete`."""
    with Partner(tmp_path / "p", places.make("file"), (HERE, THERE)) as partner:
        machine = partner.machine("laptop", names(2))
        machine.succeed("state", "init", "--yes")
        _assert_nothing_is_sent(machine)
        machine.succeed("state", "complete", "--yes")
        machine.recover()


@pytest.mark.parametrize("kind", ["file", "git", "s3", "postgresql"])
def test_an_accepted_loss_stops_every_way_to_apply(tmp_path: Path, places: Places, kind: str) -> None:
    """With -t, with a saved plan, with its digest, and from another machine."""
    with Partner(tmp_path / "p", places.make(kind), (HERE, THERE)) as partner:
        machine = partner.recovered()
        machine.declare(names(2))
        other = machine if kind == "file" else partner.machine("other")
        machine.succeed("plan", "--out", "plan.json")
        digest = json.loads((machine.path / "plan.json").read_text())["digest"]
        machine.succeed("state", "accept-loss", "--yes")
        for words in ((), ("-t", HERE), ("plan.json",), ("--expect-digest", digest)):
            _assert_nothing_is_sent(machine, *words)
        _assert_nothing_is_sent(other)
        _end_loss(other)


def test_a_loss_stays_open_through_a_merge_and_a_rename(partner: Partner, machine: Machine) -> None:
    """Neither `state recover` of a backup nor another name of the target ends it."""
    shutil.copy(machine.path / "state.jsonl", machine.path / "backup.jsonl")
    machine.recover()
    shutil.copy(machine.path / "backup.jsonl", machine.path / "state.jsonl")
    _assert_nothing_is_sent(machine)
    machine.succeed("state", "accept-loss", "--yes")
    machine.succeed("state", "recover", "backup.jsonl")
    _assert_nothing_is_sent(machine)
    partner.rename(HERE, "europe/renamed")
    machine.declare(names(2))
    _assert_nothing_is_sent(machine)
    machine.succeed("state", "import", "europe/renamed/s0", "--yes")
    _end_loss(machine)


def test_a_loss_of_a_merged_record_is_open_here_too(tmp_path: Path, places: Places) -> None:
    """A copy on which a loss was accepted brings it along."""
    with Partner(tmp_path / "p", places.make("git")) as partner:
        machine = partner.recovered()
        origin, copied = partner.place.origin, tmp_path / "copied.jsonl"
        assert origin is not None
        name = run_git(origin, "ls-tree", "--name-only", "state").split()[0]
        copied.write_text(run_git(origin, "show", f"state:{name}"))
        other = partner.machine("other")
        other.declare(names(2), state=str(copied))
        assert other.run("state", "accept-loss", "--yes").code == 0
        _assert_nothing_is_sent(other)
        machine.declare(names(2))
        machine.succeed("state", "recover", str(copied), "--yes")
        _assert_nothing_is_sent(machine)
        _end_loss(machine)


def test_complete_is_refused_beside_an_unknown_outcome(partner: Partner) -> None:
    """A loss cannot be ended while an address waits for `state resolve`."""
    machine = partner.first(2)
    partner.sandbox.world.fail_next("reset-after")
    assert machine.apply("-t", f"{HERE}/s0").code == 3
    machine.succeed("state", "accept-loss", "--yes")
    partner.wait(AFTER_LOSS)
    refused = machine.run("state", "complete", "--yes")
    assert refused.code == 1, refused
    assert "state resolve" in refused.err
    machine.settle()
    machine.succeed("state", "complete", "--yes")
    machine.recover()
