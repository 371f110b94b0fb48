"""What the service may answer, or not: the outcome, the exit code, and the way on; and where the secret is found."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest
from support.machines import HERE, KINDS, Machine, Partner, Places

CREATED = ("401-once", "429-retry-after", "half", "empty", "huge")
UNKNOWN = (
    *("reset-before", "reset-after", "late", "hang", "hang-after", "500", "503", "408", "499"),
    *("500-after", "502-after", "drip", "html", "html-200", "redirect-303"),
)
REJECTED = ("400", "401", "403", "404", "409", "422", "429-forever", "redirect")
NOT_SENT = ("token-401", "token-503", "token-half", "token-html-200")
ANSWERS = [
    *(("created", 0, fault) for fault in CREATED), *(("unknown", 3, fault) for fault in UNKNOWN),
    *(("rejected", 1, fault) for fault in REJECTED), *(("not_sent", 1, fault) for fault in NOT_SENT),
]  # fmt: skip


def secret_of(machine: Machine, address: str = f"{HERE}/s0", *words: str) -> str:
    """Return the secret that `secret show` prints, which is then no leak."""
    given = ("--identity", str(machine.partner.key)) if machine.partner.seals else ()
    done = machine.run("secret", "show", address, "--field", "secretKey", *given, *words)
    machine.partner.forget_output()
    return done.out.strip() if done.code == 0 else done.err


def secret_at(partner: Partner) -> str:
    """Return the secret of the only subscription that exists."""
    (created,) = partner.sandbox.world.subscriptions()
    return created.secret


def _end_faults(partner: Partner) -> None:
    for scripted in partner.sandbox.world._faults._scripted.values():
        scripted.clear()


@pytest.mark.parametrize(("outcome", "code", "fault"), ANSWERS)
def test_every_answer_has_its_outcome_and_its_way_on(partner: Partner, outcome: str, code: int, fault: str) -> None:
    """Exit code and result are as documented; resolved as it is, the next apply ends with all there once."""
    machine = partner.first(1)
    partner.sandbox.world.fail_next(fault, 9 if fault.startswith("token") else 2 if fault == "401" else 1)
    done = machine.apply("--format", "json", "--timeout", "2")
    (result,) = done.document["results"]
    assert (result["outcome"], done.code) == (outcome, code), done
    _end_faults(partner)
    assert machine.recover() == (code == 3)


def test_a_conflict_names_import(partner: Partner, machine: Machine) -> None:
    """After a 409 `state import` is named; imported, there is nothing left to do."""
    partner.sandbox.world.fail_next("409")
    done = machine.apply()
    assert "state import" in done.out + done.err
    machine.succeed("state", "import", f"{HERE}/s0")
    machine.succeed("plan", "--detailed-exitcode")


def test_an_outage_leaves_at_most_three_unknown(partner: Partner) -> None:
    """After three unknown outcomes in a row the rest of the target is skipped."""
    machine = partner.first(6)
    partner.sandbox.world.fail_next("reset-after", 6)
    assert machine.apply("--parallelism", "1").code == 3
    assert sum(partner.exists().values()) == 3
    assert machine.settle() == 3
    _end_faults(partner)
    machine.recover()


@pytest.mark.parametrize("seals", [True, False])
def test_the_secret_of_a_killed_apply_is_found_once_its_outcome_is_resolved(partner: Partner, machine: Machine) -> None:
    """Killed between the answer and its outcome, the response is kept, and `secret show` finds it."""
    assert machine.apply(failpoint="after-send:1:kill").code == -signal.SIGKILL
    assert machine.settle() == 1
    assert secret_of(machine) == secret_at(partner)
    machine.recover()


def test_sealed_responses_that_the_record_holds_are_not_kept_beside_it(partner: Partner) -> None:
    """Once an outcome is recorded with its sealed response, the copy on the disk is deleted."""
    machine = partner.first(2)
    machine.recover()
    assert [] == [path.name for path in (machine.data / "responses").glob("*-response-*")]
    wanted = {created.url: created.secret for created in partner.sandbox.world.subscriptions()}
    for name in partner.wanted:
        assert secret_of(machine, f"{HERE}/{name}") == wanted[partner.url_of(name)]


@pytest.mark.parametrize(("kind", "seals"), [("file", True), ("file", False), ("git", True), ("postgresql", True)])
def test_an_outcome_that_cannot_be_recorded_goes_to_a_recovery_file(
    partner: Partner, machine: Machine, places: Places, kind: str
) -> None:
    """Exit 3; `state recover` of the file, also on another machine and twice, brings outcome and secret back."""
    machine.succeed("plan", "--out", "plan.json")
    place = partner.place
    partner.place = places.make(kind)
    other_place = "moved.jsonl" if kind == "file" else partner.place.name
    partner.place = place
    apply = machine.start("apply", "--auto-approve", failpoint="after-send:1:2.5")
    while not partner.exists():
        pass
    machine.succeed("state", "copy", place.name, other_place, "--yes")
    ended = machine.finish(apply)
    assert ended.code == 3, ended
    (file,) = (machine.data / "unrecorded").glob("*.jsonl")
    assert str(file) in ended.err + ended.out
    partner.place.name = other_place
    machine.declare(partner.wanted)
    machine.succeed("state", "recover", str(file))
    machine.succeed("state", "recover", str(file))
    assert secret_of(machine) == secret_at(partner)
    assert machine.recover() == 0


def test_the_secret_of_a_merged_record_is_found(partner: Partner, machine: Machine) -> None:
    """Merged from a copy that went its own way, the response comes along."""
    begun = machine.path / "begun.jsonl"
    shutil.copy(machine.path / "state.jsonl", begun)
    machine.recover()
    (machine.path / "state.jsonl").rename(machine.path / "full.jsonl")
    begun.rename(machine.path / "state.jsonl")
    assert machine.apply().code == 1
    machine.succeed("state", "recover", "full.jsonl")
    assert secret_of(machine) == secret_at(partner)
    partner.assert_done(machine)


def test_responses_are_not_kept_in_the_clear_where_they_would_be_lost(tmp_path: Path, places: Places) -> None:
    """Without recipients, an apply in CI and one at a place other than a file refuse, and send nothing."""
    for kind in KINDS:
        with Partner(tmp_path / kind, places.make(kind), seals=False) as partner:
            machine = partner.first(1)
            if kind == "file":
                machine.environment["CI"] = "true"
            done = machine.apply()
            assert (done.code, partner.creates) == (1, 0), done
            assert "--allow-plaintext-responses" in done.err
            assert machine.apply("--allow-plaintext-responses").code == 0
            assert json.loads(machine.succeed("plan", "--format", "json").out)["summary"]["unchanged"] == 1
