"""What this machine knows and the record does not: until it is recorded, nothing is planned against it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from support.lending_service import refusal
from werkzeug import Response

if TYPE_CHECKING:
    from pathlib import Path

    from support.partner import Partner

OFFERS = "europe/staging/offers"
CHAIN = ("seq", "prev", "hash")


def folder_of(partner: Partner) -> Path:
    """Where an apply keeps what it cannot record."""
    folder = partner.path.parent / "home" / "data" / "reconciler" / "unrecorded"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.parent.chmod(0o700)
    return folder


def keep(partner: Partner, entries: list[dict[str, Any]], name: str = "kept.jsonl") -> Path:
    """Keep journal lines as an apply does that cannot append them."""
    record = partner.entries[0]["record"]
    told = [{key: value for key, value in entry.items() if key not in CHAIN} for entry in entries]
    lines = [json.dumps({"record": record, "target": "europe/staging", "entry": entry}) for entry in told]
    file = folder_of(partner) / name
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def roll_back(partner: Partner, *kinds: str) -> list[dict[str, Any]]:
    """Apply, and put the journal back as it was before; the entries of these kinds that are lost by it."""
    before = partner.journal.read_bytes()
    partner.step("apply", "--auto-approve", code=None)
    lost = partner.entries[len(before.splitlines()) :]
    partner.journal.write_bytes(before)
    return [entry for entry in lost if entry["kind"] in (kinds or ("intent", "outcome"))]


def accept(partner: Partner) -> None:
    """Accept that the record is an older one."""
    partner.step("state", "accept-rollback", "-t", "europe/staging", "--force")


@pytest.fixture
def begun(partner: Partner) -> Partner:
    """A partner with a record, and one create to make."""
    partner.begin(offers=["ONB10011"])
    return partner


def test_what_only_a_kept_file_knows_is_not_created_again(begun: Partner) -> None:
    """After a rollback that was accepted, plan, status and apply count it as unknown, and name the file."""
    file = keep(begun, roll_back(begun))
    accept(begun)
    for arguments in (["plan", "--detailed-exitcode"], ["status", "--detailed-exitcode"], ["apply", "--auto-approve"]):
        done = begun.run_fork(*arguments)
        assert 3 == done.code, done
        assert (
            f"Warning: europe/staging: {file} contains the results of 1 create that are not in the record; until they"
            f" are recorded, these creates count as unknown; run:\n    reconciler state recover {file}\n" == done.err
        )
    assert [("offers", "blocked")] == begun.planned()
    assert 1 == len(begun.service.creates)
    begun.step("state", "recover", file)
    assert ([], "") == (begun.planned(), begun.step("plan").err)


def test_each_kept_file_is_told_of(begun: Partner) -> None:
    """With how many creates it has the results of, whatever the others have."""
    begun.want(offers=["ONB10011"], deals=["ONB10012"])
    lost = roll_back(begun)
    attempts = {entry["attempt"] for entry in lost}
    files = [keep(begun, [one for one in lost if one["attempt"] == each], f"{each}.jsonl") for each in attempts]
    accept(begun)
    err = begun.step("plan").err
    told = [f": {file} contains the results of 1 create that are not in" in err for file in files]
    assert [True, True] == told


def test_the_plan_names_what_records_it(begun: Partner) -> None:
    """What a plan, status and import say of it leads to an empty plan: there is nothing to resolve before."""
    file = keep(begun, roll_back(begun))
    accept(begun)
    for name in ("deals", "offers"):
        begun.declare({name: (["ONB10011"], "https://hooks.partner.example/offers")})
        for arguments in (["plan"], ["status"], ["state", "import", f"europe/staging/{name}"]):
            told = begun.step(*arguments).out
            assert (True, False) == (f"reconciler state recover {file}\n" in told, "state resolve" in told)
    begun.step("state", "recover", file)
    assert [] == begun.planned()


def test_under_another_name_neither(begun: Partner) -> None:
    """Nor is it created, or imported, under the name of another subscription with the same route."""
    keep(begun, roll_back(begun))
    accept(begun)
    begun.declare({"deals": (["ONB10011"], "https://hooks.partner.example/offers")})
    assert [("deals", "blocked"), ("offers", "blocked")] == begun.planned()
    begun.step("apply", "--auto-approve", code=None)
    with begun.appending():
        assert (
            "skipped: it may already be in force as europe/staging/offers" in begun.step("state", "import", "--all").out
        )
    assert 1 == len(begun.service.creates)


def test_what_was_unknown_stays_so(begun: Partner) -> None:
    """The same for an outcome that nobody knows."""
    begun.service.answer_next(refusal(500))
    keep(begun, roll_back(begun))
    accept(begun)
    begun.step("apply", "--auto-approve", code=3)
    assert [("offers", "blocked")] == begun.planned()
    assert 1 == len(begun.service.creates)


def test_what_was_rejected_is_created(begun: Partner) -> None:
    """What certainly was not created keeps nothing from being created."""
    begun.service.answer_next(refusal(400))
    keep(begun, roll_back(begun))
    accept(begun)
    assert [("offers", "create")] == begun.planned()


def test_a_word_against_it_does_not_unblock(begun: Partner) -> None:
    """A --not-created that came from another machine is not believed against an outcome that is kept here."""
    begun.service.answer_next(refusal(500))
    begun.step("apply", "--auto-approve", code=3)
    outcome = begun.entries[-1]
    begun.step("state", "resolve", OFFERS, "--not-created", "--force")
    assert [("offers", "create")] == begun.planned()
    keep(begun, [{**outcome, "outcome": "created"}])
    assert [("offers", "blocked")] == begun.planned()


def test_what_is_recorded_is_not_counted_twice(begun: Partner) -> None:
    """A file whose entries are in the record changes nothing, and nothing is said of it."""
    begun.step("apply", "--auto-approve")
    keep(begun, begun.entries[-2:])
    assert ([], "") == (begun.planned(), begun.step("plan").err)


def test_nor_what_was_removed_since(begun: Partner) -> None:
    """Nor where the operator has removed it since: it is planned again."""
    begun.step("apply", "--auto-approve")
    keep(begun, begun.entries[-2:])
    begun.step("state", "removed", OFFERS, "--force")
    assert [("offers", "create")] == begun.planned()


def test_of_another_record_it_does_not_matter(begun: Partner) -> None:
    """What is kept for another record is not looked at."""
    file = keep(begun, roll_back(begun))
    accept(begun)
    file.write_text(file.read_text().replace(begun.entries[0]["record"], "f" * 32))
    assert [("offers", "create")] == begun.planned()


def test_of_a_record_that_is_lost_for_good_it_does(begun: Partner) -> None:
    """Where another record took the place of a lost one, what was kept for that one still counts, and is recovered."""
    begun.step("apply", "--auto-approve")
    file = keep(begun, [entry for entry in begun.entries if entry["kind"] in ("intent", "outcome")])
    begun.journal.unlink()
    begun.step("state", "accept-rollback", "-t", "europe/staging", "--force")
    assert [("offers", "blocked")] == begun.planned()
    begun.step("state", "recover", file)
    assert [] == begun.planned()
    assert 1 == len(begun.service.creates)


def test_status_goes_on_without_a_target_whose_kept_file_says_too_little(begun: Partner) -> None:
    """One target that nothing can be planned for does not hide the others."""
    keep(begun, roll_back(begun, "outcome"))
    accept(begun)
    declare_second(begun, "chances", "LOA10013")
    done = begun.run_fork("status")
    assert (1, True, False) == (done.code, "eu/staging\n" in done.out, "europe/staging\n" in done.out)
    assert "contains the result of create attempt" in done.err


def test_an_outcome_of_which_nobody_knows_what_it_was_for(begun: Partner) -> None:
    """Nothing is planned against a create that exists, and could be any; moved away, it is on one's own account."""
    file = keep(begun, roll_back(begun, "outcome"))
    accept(begun)
    for command in (["plan"], ["apply", "--auto-approve"]):
        done = begun.run_fork(*command)
        assert (1, "") == (done.code, done.out)
        attempt = json.loads(file.read_bytes())["entry"]["attempt"]
        assert (
            f"Error: europe/staging: {file} contains the result of create attempt {attempt}, which the record does not"
            " contain; find the newer journal (version control, a backup, a CI artifact) and run:\n"
            "    reconciler state recover NEWER.jsonl\n"
            f"  if it is lost, ask the operator what exists, import it, and move {file} to another directory\n"
        ) == done.err
    assert 1 == len(begun.service.creates)


INTENT = {
    "at": "2026-11-20T13:30:00Z", "kind": "intent", "attempt": "feed", "address": OFFERS, "action": "create",
    "eventCodes": ["ONB10011"], "webhookUrl": "https://hooks.partner.example/offers", "send_by": 1.0,
    "settled_by": 2.0, "by": {"user": "operator"},
}  # fmt: skip


def declare_second(partner: Partner, name: str, code: str) -> None:
    """Declare eu/staging, which is the same service, with one subscription, and start its record."""
    text = partner.read("config/all.yaml")
    target = text[text.index("  europe/staging:") : text.index("subscriptions:")].replace("europe/", "eu/")
    wanted = f"{{eventCodes: [{code}], webhookUrl: https://hooks.partner.example/{name}}}"
    partner.write("config/more.yaml", f"targets:\n{target}subscriptions:\n  eu/staging:\n    {name}: {wanted}\n")
    for field in ("CLIENT_ID", "CLIENT_SECRET"):
        credential = partner.environment[f"RECONCILER_EUROPE_STAGING_{field}"]
        partner.environment[f"RECONCILER_EU_STAGING_{field}"] = credential
    partner.step("state", "init", "-t", "eu/staging")


def test_nor_on_another_target_of_the_service(begun: Partner) -> None:
    """What is kept for one target stands in the way on every other that is the same service."""
    keep(begun, [INTENT])
    begun.want(loans=["ONB10013"])
    declare_second(begun, "offers", "ONB10011")
    done = begun.run_fork("apply", "--auto-approve", "-t", "eu/staging")
    assert (3, True) == (done.code, f"it may already be in force as {OFFERS}" in done.out), done
    assert begun.service.untouched


def test_what_is_kept_while_an_apply_runs(begun: Partner) -> None:
    """What another run could not record since the plan was made is counted as well before anything is sent."""
    declare_second(begun, "deals", "ONB10012")

    def answer_and_keep() -> Response:
        keep(begun, [INTENT])
        return Response("{}", status=201)

    begun.service.answer_next(answer_and_keep)
    done = begun.run_fork("apply", "--auto-approve")
    assert 1 == len(begun.service.creates), done
    assert 0 != done.code
    assert "Warning: europe/staging: " in done.err


def spoil_text(file: Path) -> None:
    """No JSON."""
    file.write_text("{")


def spoil_mode(file: Path) -> None:
    """For nobody to read."""
    file.chmod(0)


def spoil_pipe(file: Path) -> None:
    """A pipe in its place."""
    file.unlink()
    os.mkfifo(file)


def spoil_link(file: Path) -> None:
    """A link to nothing in its place."""
    file.unlink()
    file.symlink_to("nowhere")


@pytest.mark.parametrize("spoil", [spoil_text, spoil_mode, spoil_pipe, spoil_link])
@pytest.mark.parametrize("command", [["plan"], ["apply", "--auto-approve"], ["status"]])
def test_a_kept_file_that_cannot_be_read(begun: Partner, spoil: Any, command: list[str]) -> None:
    """It is named, with what to do; it is never taken for an empty one, and nothing is sent."""
    if spoil is spoil_mode and os.geteuid() == 0:
        pytest.skip("nothing is unreadable for root")
    file = keep(begun, roll_back(begun))
    accept(begun)
    spoil(file)
    done = begun.run_fork(*command)
    assert (1, "") == (done.code, done.out)
    assert (str(file) in done.err, "move it to another directory" in done.err) == (True, True), done.err
    assert 1 == len(begun.service.creates)


@pytest.mark.parametrize("accepted", [False, True])
def test_a_record_that_is_rolled_back_is_recovered_into(begun: Partner, accepted: bool) -> None:
    """Before and after the rollback is accepted; a second time there is nothing left to record."""
    file = keep(begun, roll_back(begun))
    if accepted:
        accept(begun)
    with begun.appending("intent", "outcome"):
        assert "  europe/staging: 2 entries recovered\n" == begun.step("state", "recover", file).out
    with begun.appending():
        again = begun.step("state", "recover", file)
    assert "  europe/staging: 0 entries recovered, 2 already recorded\n" == again.out
    if not accepted:
        assert "was rolled back: the last 1 of 4 entries are missing" in begun.step("plan", code=1).err
        accept(begun)
    assert [] == begun.planned()


def test_one_entry_that_cannot_follow_does_not_keep_back_the_rest(begun: Partner) -> None:
    """It is named and stays in the file, exit 1; the others are recorded."""
    begun.want(offers=["ONB10011"], deals=["ONB10012"])
    lost = roll_back(begun)
    without = [one for one in lost if not (one["kind"] == "intent" and one["address"] == OFFERS)]
    (attempt,) = (one["attempt"] for one in lost if one.get("address") == OFFERS)
    file = keep(begun, without)
    with begun.appending("intent", "outcome"):
        done = begun.run_fork("state", "recover", file)
    assert (1, "  europe/staging: 2 entries recovered\n") == (done.code, done.out)
    assert (
        f"Error: europe/staging: cannot recover the entry 'outcome' of attempt {attempt}: the record does not"
        f" contain the entries before it; it is still in {file}; find the newer journal (version control, a backup, a"
        " CI artifact) and run:\n    reconciler state recover NEWER.jsonl\n  then run:\n    reconciler state recover"
        f" {file}\n" == done.err
    )
    keep(begun, lost)
    begun.step("state", "recover", file)
    accept(begun)
    assert [] == begun.planned()


def test_outcomes_may_come_before_intents(begun: Partner) -> None:
    """The order in which a file tells of an attempt does not matter."""
    file = keep(begun, roll_back(begun)[::-1])
    with begun.appending("intent", "outcome"):
        begun.step("state", "recover", file)
