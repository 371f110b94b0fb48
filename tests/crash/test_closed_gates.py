"""While a gate is closed, what commands advise is the way through it: nothing else is pushed, copied or resolved."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable

import pytest
from support.git_world import run_git
from support.lives.advice import commands
from support.machines import HERE, Machine, Partner, names

COMMANDS = (
    "plan", "status", "apply --auto-approve", "doctor", "doctor --write", "removal list", "state show", "state history",
    "state verify", "state complete --yes", f"state resolve {HERE}/s0 --not-created --yes", f"state import {HERE}/s1",
    f"state mv {HERE}/s0 {HERE}/s9", f"removal request {HERE}/s2 --yes", "state copy state.jsonl away.jsonl --yes",
)  # fmt: skip


def _set_back(machine: Machine) -> None:
    """The record is one line shorter than this machine knows."""
    path = machine.path / "state.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def _forget(machine: Machine) -> None:
    """The file is on a machine that has no note of it."""
    shutil.rmtree(machine.home)


def _expect_another(machine: Machine) -> None:
    """The configuration names another record."""
    machine.partner.record = "f" * 32
    machine.declare(machine.partner.wanted)


def _close(machine: Machine) -> None:
    """The record continues elsewhere."""
    machine.succeed("state", "copy", "state.jsonl", "elsewhere.jsonl", "--yes")


def _lose_second(machine: Machine) -> None:
    """The second branch is deleted."""
    assert machine.partner.place.origin is not None
    run_git(machine.partner.place.origin, "update-ref", "-d", "refs/heads/state-head")


def _accept_loss(machine: Machine) -> None:
    """Somebody has accepted a loss."""
    machine.succeed("state", "accept-loss", "--yes")


GATES = [
    ("file", _set_back), ("file", _forget), ("file", _expect_another), ("file", _close), ("git", _lose_second),
    ("file", _accept_loss),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "shut"), GATES, ids=[shut.__name__ for _, shut in GATES])
def test_a_closed_gate_is_named_and_nothing_else_is_advised(partner: Partner, shut: Callable[[Machine], None]) -> None:
    """No command names `git`, `state copy` or `state resolve`, but for the way through; an apply names that."""
    machine = partner.first(3)
    partner.sandbox.world.fail_next("reset-after")
    assert machine.apply("--parallelism", "1").code == 3
    shut(machine)
    partner.wait(200)
    machine.declare(names(4))
    before = partner.creates
    done = {words: machine.run(*words.split()) for words in COMMANDS}
    assert partner.creates == before
    advised = {(words, advice.shape) for words, ran in done.items() for advice in commands(ran)}
    # Through the gate.
    ways: dict[Callable[[Machine], None], str] = {_accept_loss: "state resolve", _close: "state copy"}
    refused = tuple(shape for shape in ("state copy", "state resolve") if shape != ways.get(shut))
    assert [] == [pair for pair in advised if pair[1].startswith(refused)]
    assert [] == [words for words, ran in done.items() if re.search(r"git (commit|push)", ran.out + ran.err)]
    named = commands(done["apply --auto-approve"])
    assert named or "state:" in done["apply --auto-approve"].out + done["apply --auto-approve"].err
