"""`state import --all` asks before it records what is only in config/ as existing, and names the way back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.terminal import at_terminal

if TYPE_CHECKING:
    from support.partner import Partner
    from support.project import Project

LOANS, OFFERS = "europe/staging/loans", "europe/staging/offers"
QUESTION = "exactly like this? Type 'yes' to continue: "
URL = "https://hooks.partner.example"


@pytest.fixture
def begun(project: Project) -> Project:
    """Two subscriptions in config/ and a record without any."""
    project.declare({"loans": (["LOA10013"], f"{URL}/loans"), "offers": (["ONB10011"], f"{URL}/offers")})
    project.step("state", "init")
    return project


def recorded(project: Project) -> list[str]:
    """The addresses in the record."""
    return [row["address"] for row in project.step("state", "list", "--format", "json").document]


def attempt_of(project: Project, address: str) -> str:
    """The id of the one attempt in the record at an address."""
    rows = project.step("state", "list", "--format", "json").document
    return str(next(row["attempt"] for row in rows if row["address"] == address))


def test_a_person_sees_what_would_be_recorded_and_is_asked(begun: Project) -> None:
    """All of it is listed before the question; nothing is recorded for an answer but yes."""
    asked = at_terminal(begun, "state", "import", "--all", answers={QUESTION: "no\n"})
    shown, question, _ = asked.out.partition("Do all 2 exist at the service exactly like this?")
    assert asked.code == 1
    assert question
    assert f"{LOANS}: to be imported, LOA10013 to {URL}/loans" in shown
    assert f"{OFFERS}: to be imported, ONB10011 to {URL}/offers" in shown
    assert "not confirmed; nothing was changed" in asked.out
    assert [] == recorded(begun)
    assert at_terminal(begun, "state", "import", "--all", answers={QUESTION: "yes\n"}).code == 0
    assert [LOANS, OFFERS] == recorded(begun)


def test_one_is_asked_about_as_one_and_none_not_at_all(begun: Project) -> None:
    """The question counts what would be recorded, and is not asked if that is nothing."""
    begun.step("state", "import", LOANS)
    asked = at_terminal(begun, "state", "import", "--all", answers={QUESTION: "yes\n"})
    assert "Does it exist at the service exactly like this?" in asked.out
    assert f"{LOANS}: to be imported" not in asked.out
    again = at_terminal(begun, "state", "import", "--all")
    assert again.code == 0
    assert QUESTION not in again.out


def test_what_is_left_out_is_listed_before_the_question(begun: Project) -> None:
    """Whoever counts what exists sees which of it the answer does not record, and why; what is recorded is no news."""
    begun.declare({
        "leads": (["ONB10001"], f"{URL}/leads"),
        "loans": (["LOA10013"], f"{URL}/loans"),
        "others": (["ONB10011"], f"{URL}/offers"),
    })  # fmt: skip
    begun.step("state", "import", "europe/staging/others")
    begun.step("state", "import", LOANS)
    begun.declare({"leads": (["ONB10001"], f"{URL}/leads"), "loans": (["LOA10013"], f"{URL}/loans"),
                   "offers": (["ONB10011"], f"{URL}/offers")})  # fmt: skip
    shown = at_terminal(begun, "state", "import", "--all", answers={QUESTION: "no\n"}).out.partition(QUESTION)[0]
    assert f"{OFFERS}: left out: " in shown
    assert "europe/staging/leads: to be imported" in shown
    assert LOANS not in shown
    assert "Does it exist" in shown


def test_force_and_scripts_are_not_asked(begun: Project) -> None:
    """--force skips the question at a terminal; without one, nothing is asked."""
    forced = at_terminal(begun, "state", "import", "--all", "--force")
    assert QUESTION not in forced.out
    assert "Recorded as existing without a question, since you say so: 2 subscriptions.\n" in forced.out
    assert [LOANS, OFFERS] == recorded(begun)


def test_what_is_taken_on_trust_is_said(begun: Project) -> None:
    """Where nobody was asked, stderr says what the record believes now; whoever was asked, or named it, knows."""
    told = begun.step("state", "import", "--all")
    assert "Recorded as existing without a question, since you say so: 2 subscriptions.\nIf " in told.err
    assert "without a question" not in told.out + begun.step("state", "import", "--all").err
    begun.declare({"leads": (["ONB10001"], f"{URL}/leads")})
    assert "without a question" not in begun.step("state", "import", "europe/staging/leads").err
    begun.declare({"others": (["ONB10002"], f"{URL}/others")})
    assert "without a question" not in at_terminal(begun, "state", "import", "--all", answers={QUESTION: "yes\n"}).out


def test_the_way_back_is_named(begun: Project) -> None:
    """After an import the command is named that takes that very import back, one for each, and it works."""
    one = begun.step("state", "import", LOANS)
    back = f"state removed {LOANS} --attempt {attempt_of(begun, LOANS)} --force"
    assert f"If it does not exist at the service, run:\n    reconciler {back}\n" in one.err
    begun.step(*back.split())
    assert [] == recorded(begun)
    many = begun.step("state", "import", "--all")
    for address in (LOANS, OFFERS):
        back = f"reconciler state removed {address} --attempt {attempt_of(begun, address)} --force"
        assert f"If {address} does not exist at the service, run:\n    {back}\n" in many.err
    nothing = begun.step("state", "import", "--all")
    assert "state removed" not in nothing.err


def test_the_way_back_means_the_import_whatever_was_created_since(begun: Project) -> None:
    """What an apply has created at the address after the import stays."""
    begun.step("state", "import", LOANS)
    imported = attempt_of(begun, LOANS)
    begun.declare({"loans": (["LOA10013"], f"{URL}/loans-v2")})
    begun.step("state", "import", LOANS)
    without = begun.run_fork("state", "removed", LOANS, "--force")
    assert f"{imported} (" in without.err
    assert f", LOA10013 to {URL}/loans); " in without.err
    assert f", LOA10013 to {URL}/loans-v2)" in without.err
    begun.step("state", "removed", LOANS, "--attempt", imported, "--force")
    assert imported not in [row["attempt"] for row in begun.step("state", "list", "--format", "json").document]


def test_all_leaves_out_what_is_recorded_otherwise(begun: Project) -> None:
    """What config/ has changed was not created by that: only a person who names the address can say that it exists."""
    begun.step("state", "import", "--all")
    begun.declare({
        "leads": (["ONB10001"], f"{URL}/leads"),
        "loans": (["LOA10013"], f"{URL}/loans-v2"),
        "offers": (["ONB10011", "ONB10004"], f"{URL}/offers"),
    })  # fmt: skip
    done = begun.step("state", "import", "--all")
    assert (
        f"  {LOANS}: skipped: recorded with LOA10013 to {URL}/loans, in config/ with LOA10013 to {URL}/loans-v2;"
        f" to import that too, run:\n      reconciler state import {LOANS}\n"
        f"  {OFFERS}: skipped: recorded with ONB10011 to {URL}/offers, in config/ with ONB10004, ONB10011 to"
        f" {URL}/offers; to import that too, run:\n      reconciler state import {OFFERS}\n"
    ) in done.out
    assert ["europe/staging/leads", LOANS, OFFERS] == recorded(begun)
    shown = at_terminal(begun, "state", "import", "--all")
    assert QUESTION not in shown.out
    begun.step("state", "import", LOANS)
    assert 2 == recorded(begun).count(LOANS)


def test_secrets_are_not_imported(begun: Project) -> None:
    """What was imported has no secret; the command that records one is named, and works."""
    one = begun.step("state", "import", LOANS)
    command = f"secret set {LOANS}"
    assert f"No secret of it is recorded; ask the operator for it, then run:\n    reconciler {command}\n" in one.err
    begun.step(*command.split(), stdin="a secret")
    assert "a secret\n" == begun.step("secret", "show", LOANS).out
    assert "secret set" not in begun.step("state", "import", LOANS).err


def test_responses_of_a_lost_record_are_named(partner: Partner) -> None:
    """They are on this machine still, and may contain the secrets; none is named if there is none."""
    partner.begin(offers=["ONB10011"], loans=["LOA10013"])
    partner.step("apply", "--auto-approve", "--unsealed")
    responses = {path.read_bytes() for path in Path(partner.variables()["XDG_DATA_HOME"]).rglob("*.response.*")}
    assert 2 == len(responses)
    partner.journal.unlink()
    partner.step("state", "accept-rollback", "-t", "europe/staging", "--force")
    done = partner.step("state", "import", "--all").err
    assert "No secret of these is recorded; look for it in the create responses of the lost record" in done
    (directory,) = re.findall(r"which are in (\S+), or ask", " ".join(done.split()))
    assert responses == {path.read_bytes() for path in Path(directory).glob("*.response.*")}
    assert done.endswith("run:\n    reconciler secret set ADDRESS\n")


def test_show_says_that_it_was_imported(begun: Project) -> None:
    """Nothing was started for a subscription that was imported."""
    begun.step("state", "import", LOANS)
    shown = begun.step("state", "show", LOANS).out
    assert "      imported: 2" in shown
    assert "started:" not in shown
