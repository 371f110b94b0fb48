"""Applies at the same moment, on one record: nothing twice, and exit codes that tell the truth."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.machines import HERE, KINDS, THERE, Partner, Places, names

OTHER = "europe/other"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [2, 4])
def test_applies_at_once_create_each_route_once(tmp_path: Path, places: Places, kind: str, count: int) -> None:
    """Each exits with 0 or 1, never 3; with 0 only if all is there; the next apply leaves nothing to do."""
    with Partner(tmp_path / "p", places.make(kind), (HERE, THERE)) as partner:
        machines = [partner.first(4)]
        machines += [machines[0] if kind == "file" else partner.machine(f"m{number}") for number in range(1, count)]
        applies = [(machine, machine.start("apply", "--auto-approve")) for machine in machines]
        ended = [machine.finish(process) for machine, process in applies]
        partner.assert_at_most_once()
        assert {0, 1} >= {done.code for done in ended}, ended
        assert any(done.code == 0 for done in ended), ended
        assert partner.desired() == partner.exists()
        assert machines[-1].apply().code == 0
        partner.assert_done(machines[0])


def test_applies_of_different_subscriptions_both_succeed(tmp_path: Path, places: Places) -> None:
    """Two applies at once that select different targets end with 0 and all there."""
    with Partner(tmp_path / "p", places.make("git"), (HERE, THERE)) as partner:
        machines = [partner.first(2), partner.machine("other")]
        applies = [
            machine.start("apply", "--auto-approve", "-t", target)
            for machine, target in zip(machines, (HERE, THERE), strict=True)
        ]
        ended = [machine.finish(process) for machine, process in zip(machines, applies, strict=True)]
        assert [done.code for done in ended] == [0, 0], ended
        partner.assert_done(machines[0])


@pytest.mark.parametrize("kind", ["git", "postgresql"])
def test_a_second_name_for_the_service_during_an_apply_creates_nothing_twice(partner: Partner) -> None:
    """A route that is in flight under one target name blocks it under another one."""
    laptop = partner.first(3)
    apply = laptop.start("apply", "--auto-approve", "--parallelism", "1", failpoint="after-send:1:2")
    while not partner.exists():
        pass
    partner.rename(HERE, OTHER)
    other = partner.machine("other")
    done = other.apply()
    ended = laptop.finish(apply)
    partner.assert_at_most_once()
    assert partner.desired() == partner.exists()
    assert (done.code, ended.code) in ((1, 0), (1, 1)), (done, ended)
    assert "state mv" in other.run("plan").out


@pytest.mark.parametrize("kind", ["git"])
def test_a_second_name_for_the_service_while_the_prompt_waits_creates_nothing_twice(partner: Partner) -> None:
    """What another target has created while the question was open is not created again."""
    laptop = partner.first(2)

    def meanwhile() -> None:
        partner.rename(HERE, OTHER)
        assert partner.machine("other").apply().code == 0

    ended = laptop.converse("apply", prompt="Type 'yes'", meanwhile=meanwhile)
    assert ended.code == 1, ended
    assert sum(partner.exists().values()) == 2
    partner.assert_at_most_once()


def test_a_loss_that_opens_while_the_prompt_waits_stops_the_apply(tmp_path: Path, places: Places) -> None:
    """Approved after another process has accepted a loss, the plan sends nothing: exit 1."""
    for kind in ("file", "git"):
        with Partner(tmp_path / kind, places.make(kind)) as partner:
            laptop = partner.first(2)

            def meanwhile(laptop: object = laptop) -> None:
                laptop.succeed("state", "accept-loss", "--yes")  # type: ignore[attr-defined]

            ended = laptop.converse("apply", prompt="Type 'yes'", meanwhile=meanwhile)
            assert (ended.code, partner.creates) == (1, 0), ended


def test_a_plan_that_changes_while_the_prompt_waits_sends_only_what_stays_the_same(partner: Partner) -> None:
    """Of two subscriptions, the one that another apply took is skipped, and the other one created."""
    machine = partner.first(2)

    def meanwhile() -> None:
        assert machine.apply("-t", f"{HERE}/s0").code == 0

    ended = machine.converse("apply", prompt="Type 'yes'", meanwhile=meanwhile)
    assert ended.code == 0, ended
    partner.assert_done(machine)
    assert names(2) == partner.wanted
