"""A record tells of the service it is bound to, whatever config/ says of its target by now."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from werkzeug import Response

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.partner import Partner

IN_FORCE = "is already in force as europe/staging/offers (attempt "


@pytest.fixture
def applied(partner: Partner) -> Partner:
    """A partner with one subscription, that has the credentials for a target of another name as well."""
    partner.begin(offers=["ONB10011"])
    partner.step("apply", "--auto-approve")
    for name in ("ID", "SECRET"):
        partner.environment[f"RECONCILER_EU_STAGING_CLIENT_{name}"] = partner.environment[
            f"RECONCILER_EUROPE_STAGING_CLIENT_{name}"
        ]
    return partner


def rename(partner: Partner) -> None:
    """The target gets another name."""
    partner.write("config/all.yaml", partner.read("config/all.yaml").replace("europe/staging", "eu/staging"))
    partner.step("state", "init", "-t", "eu/staging")


@pytest.mark.parametrize("selected", [[], ["-t", "eu/staging"]])
def test_renamed_target(applied: Partner, selected: list[str]) -> None:
    """What was created under the old name is not created again, and can be given up there."""
    rename(applied)
    done = applied.run_fork("apply", "--auto-approve", *selected)
    assert 1 == done.code
    assert IN_FORCE in done.out
    assert 1 == len(applied.service.creates)
    applied.step("state", "retire", "europe/staging/offers")
    applied.step("state", "removed", "europe/staging/offers")
    applied.step("apply", "--auto-approve", *selected)
    assert 2 == len(applied.service.creates)


def test_neighbour_that_moved_away(applied: Partner) -> None:
    """A target whose address is another by now has left behind what its record holds."""
    text = applied.read("config/all.yaml")
    target = text[text.index("  europe/staging:") : text.index("subscriptions:")].replace("europe/", "eu/")
    applied.write("config/more.yaml", f"targets:\n{target}")
    applied.write("config/all.yaml", text.replace("subscriptions:\n  europe/", "subscriptions:\n  eu/"))
    applied.step("state", "init", "-t", "eu/staging")
    applied.environment["RECONCILER_EUROPE_STAGING_BASE_URL"] = "https://elsewhere.example"
    done = applied.run_fork("plan", "-t", "eu/staging", "--detailed-exitcode")
    assert (2, True) == (done.code, IN_FORCE in done.out)


def test_neighbour_that_cannot_be_read(applied: Partner) -> None:
    """A record of nobody knows which service may know what a plan would create: nothing is created."""
    rename(applied)
    applied.journal.write_text("damaged")
    for command in (["plan"], ["apply", "--auto-approve"]):
        done = applied.run_fork(*command, "-t", "eu/staging")
        assert (1, "") == (done.code, done.out)
        assert (
            "Error: europe/staging: refusing to create subscriptions: this state record cannot be used, and it may list"
            " the same subscriptions as existing; state/europe/staging.jsonl:1: the file has no complete line"
        ) in done.err
        accept = "to accept possible duplicates, add: --accept-possible-duplicates europe/staging\n"
        assert done.err.endswith(f"\n  {accept}")
    assert 1 == len(applied.service.creates)


def test_possible_duplicates_are_accepted(applied: Partner) -> None:
    """A person may say that what the record holds may be created a second time; each time, with a warning."""
    rename(applied)
    applied.journal.write_text("damaged")
    accept = ["-t", "eu/staging", "--accept-possible-duplicates", "europe/staging"]
    done = applied.step("plan", *accept)
    assert "Warning: europe/staging: cannot use its state record: " in done.err
    assert "1 create call (1 new)" in done.out
    applied.step("apply", "--auto-approve", *accept)
    assert 2 == len(applied.service.creates)


def test_nothing_to_accept(applied: Partner) -> None:
    """Where the record is whole, the flag does nothing, and is not to be left in a script."""
    rename(applied)
    done = applied.run_fork("plan", "-t", "eu/staging", "--accept-possible-duplicates", "europe/staging")
    assert IN_FORCE in done.out
    assert (
        "Warning: --accept-possible-duplicates europe/staging: not needed; the record of this target is neither missing"
        " nor damaged\n"
    ) in done.err


def test_a_plan_without_creates_goes_on(applied: Partner) -> None:
    """What is done without a call can create nothing twice."""
    rename(applied)
    applied.step("state", "import", "--all", code=None)
    applied.journal.write_text("damaged")
    applied.step("state", "import", "--all")
    for command in (["plan", "--detailed-exitcode"], ["apply", "--auto-approve"], ["status"]):
        done = (
            applied.run_fork(*command, "-t", "eu/staging")
            if command != ["status"]
            else applied.step(*command, code=None)
        )
        assert 0 == done.code, done
        assert "Warning: europe/staging: cannot use its state record: " in done.err


def move(partner: Partner) -> None:
    """The subscription is declared on another target of the same service."""
    rename(partner)
    text = partner.read("config/all.yaml")
    target = text[text.index("  eu/staging:") : text.index("subscriptions:")].replace("eu/", "europe/")
    partner.write("config/more.yaml", f"targets:\n{target}")


def test_changes_do_not_hide_a_damaged_record(applied: Partner) -> None:
    """Whoever asks for an exit code of changes learns of the damage first."""
    move(applied)
    assert 2 == applied.step("status", "--detailed-exitcode", code=None).code
    applied.journal.write_text("damaged")
    done = applied.step("status", "--detailed-exitcode", code=1)
    assert "pending change" in done.out
    assert 1 == done.err.count("state/europe/staging.jsonl:1: ")


def cut_off(journal: Path) -> None:
    """An older copy comes back."""
    journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])


def spoil_the_end(journal: Path) -> None:
    """Damage that leaves the first line, which says the service."""
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:-1], b"damaged\n"]))


@pytest.mark.parametrize("spoil", [lambda path: path.unlink(), cut_off, spoil_the_end])
@pytest.mark.parametrize("change", [rename, move])
@pytest.mark.parametrize("selected", [[], ["-t", "eu/staging"]])
def test_a_neighbour_that_was_seen(
    applied: Partner, change: Callable[[Partner], None], spoil: Callable[[Path], None], selected: list[str]
) -> None:
    """A record of the service that is gone, damaged or rolled back stops every create there, declared or not."""
    change(applied)
    spoil(applied.journal)
    done = applied.run_fork("apply", "--auto-approve", *selected)
    assert (1, 1) == (done.code, len(applied.service.creates)), done
    assert "europe/staging" in done.err
    assert "accept-rollback -t europe/staging" in done.err or "restore the journal" in done.err


def test_a_lost_neighbour_is_given_up(applied: Partner) -> None:
    """The way out that the message names leads out, and its acceptance is recorded."""
    rename(applied)
    applied.journal.unlink()
    applied.step("plan", code=1)
    applied.step("state", "accept-rollback", "-t", "europe/staging", "--force")
    applied.step("apply", "--auto-approve")
    assert (["begun", "rollback"], 2) == (applied.kinds, len(applied.service.creates))


def test_a_lost_neighbour_whose_target_moved_away(applied: Partner) -> None:
    """A new record in its place, for another service, does not make up for what was lost at this one."""
    move(applied)
    applied.journal.unlink()
    applied.environment["RECONCILER_EUROPE_STAGING_BASE_URL"] = "https://elsewhere.example"
    applied.step("state", "init", "-t", "europe/staging")
    done = applied.run_fork("apply", "--auto-approve", "-t", "eu/staging")
    assert (1, 1) == (done.code, len(applied.service.creates)), done
    assert "the state record of europe/staging was replaced: expected record " in done.err


def test_another_service_is_no_matter(applied: Partner) -> None:
    """A lost record of a service stops no create at another one."""
    rename(applied)
    applied.journal.unlink()
    applied.environment["RECONCILER_EU_STAGING_BASE_URL"] = "https://elsewhere.example"
    applied.step("state", "rebind", "-t", "eu/staging", "--force")
    done = applied.step("plan")
    assert ("1 create call (1 new)" in done.out, "cannot be used" in done.err) == (True, False)


def test_a_damaged_record_of_another_service_is_no_matter(applied: Partner) -> None:
    """Where its first line says so, on a machine that never saw it whole."""
    rename(applied)
    spoil_the_end(applied.journal)
    applied.environment["RECONCILER_EU_STAGING_BASE_URL"] = "https://elsewhere.example"
    applied.step("state", "rebind", "-t", "eu/staging", "--force", "--cache-dir", "another machine")
    done = applied.step("plan", "-t", "eu/staging", "--cache-dir", "another machine")
    assert "1 create call (1 new)" in done.out


def test_a_damaged_record_whose_target_moved_here(applied: Partner) -> None:
    """Its unreadable lines may hold what was created since, at the service that its target is declared with."""
    move(applied)
    spoil_the_end(applied.journal)
    for name in ("EU", "EUROPE"):
        applied.environment[f"RECONCILER_{name}_STAGING_BASE_URL"] = "https://elsewhere.example"
    applied.step("state", "rebind", "-t", "eu/staging", "--force")
    done = applied.run_fork("plan", "-t", "eu/staging")
    assert (1, True) == (done.code, "Error: europe/staging: refusing to create subscriptions: " in done.err)


def test_heads_of_an_earlier_version(applied: Partner) -> None:
    """They do not say of which service a lost record was, which therefore stops every create."""
    (head,) = (applied.path.parent / "home" / "cache" / "reconciler" / "heads").glob("*.json")
    head.write_text(json.dumps({**json.loads(head.read_bytes()), "base_url": ""}))
    rename(applied)
    applied.journal.unlink()
    applied.environment["RECONCILER_EU_STAGING_BASE_URL"] = "https://elsewhere.example"
    applied.step("state", "rebind", "-t", "eu/staging", "--force")
    done = applied.run_fork("plan")
    assert 1 == done.code
    assert "the state record of europe/staging is missing" in done.err


def apply_and_delete(partner: Partner) -> tuple[int, int, str]:
    """Two creates on eu/staging, with the record of europe/staging deleted meanwhile: code, creates and words."""
    text = partner.read("config/all.yaml")
    for number, name in enumerate(("first", "second"), 12):
        text += f"    {name}: {{eventCodes: [ONB100{number}], webhookUrl: https://hooks.partner.example/{name}}}\n"
    partner.write("config/all.yaml", text)
    before = len(partner.service.creates)

    def delete_and_answer() -> Response:
        partner.journal.unlink()
        return Response("{}", status=201)

    partner.service.answer_next(delete_and_answer)
    done = partner.run_fork("apply", "--auto-approve", "-t", "eu/staging")
    return done.code, len(partner.service.creates) - before, done.out + done.err


def test_a_neighbour_that_is_deleted_meanwhile(applied: Partner) -> None:
    """An apply that has read a record of the service sends nothing more once that is gone."""
    move(applied)
    code, creates, said = apply_and_delete(applied)
    assert (1, 1, True) == (code, creates, "the state record of europe/staging is missing" in said)


def test_a_neighbour_in_the_place_of_another(applied: Partner) -> None:
    """So it is where another record, of another service, was in its place before."""
    applied.journal.unlink()
    applied.environment["RECONCILER_EUROPE_STAGING_BASE_URL"] = "https://elsewhere.example"
    applied.step("state", "init")
    applied.journal.unlink()
    del applied.environment["RECONCILER_EUROPE_STAGING_BASE_URL"]
    applied.step("state", "init", "--force")
    applied.step("state", "import", "--all")
    move(applied)
    code, creates, said = apply_and_delete(applied)
    assert (1, 1, True) == (code, creates, "the state record of europe/staging is missing" in said)


class TestUndeclaredUnknown:
    """A create with an unknown outcome, of a target that is not declared any more."""

    @pytest.fixture
    def unknown(self, partner: Partner) -> Partner:
        """Nothing is left to do but for that."""
        partner.begin(offers=["ONB10011"])
        partner.lose_answer()
        partner.write("config/all.yaml", partner.read("config/all.yaml").partition("subscriptions:")[0])
        partner.write("config/all.yaml", partner.read("config/all.yaml").replace("europe/staging", "eu/staging"))
        partner.step("state", "init", "-t", "eu/staging")
        return partner

    @pytest.mark.parametrize("command", ["plan", "status"])
    def test_it_counts(self, unknown: Partner, command: str) -> None:
        """It waits for a person as much as any other, and how to settle it is said."""
        done = unknown.run_fork(command, "--detailed-exitcode")
        assert 3 == done.code
        assert "if it does, run:\n    reconciler state resolve europe/staging/offers --created\n  if it " in done.err
        unknown.step("state", "resolve", "europe/staging/offers", "--not-created", "--force")
        assert 0 == unknown.step(command, "--detailed-exitcode", code=None).code

    def test_it_is_not_selected(self, unknown: Partner) -> None:
        """Where other targets are selected it does not count."""
        assert 0 == unknown.run_fork("plan", "--detailed-exitcode", "-t", "eu/staging").code

    def test_status_shows_it(self, unknown: Partner) -> None:
        """In every format, with how to settle it."""
        shown = unknown.step("status").out
        assert "europe/staging\n  europe/staging/offers  unknown  -> " in shown
        assert "reconciler state resolve europe/staging/offers" in shown
        assert "  not declared in config/: not managed\n" in shown
        targets = unknown.step("status", "--format", "json").document["targets"]
        assert [("eu/staging", True), ("europe/staging", False)] == [
            (name, one["declared"]) for name, one in targets.items()
        ]
        assert ["europe/staging/offers"] == [one["address"] for one in targets["europe/staging"]["unknown"]]
        assert "europe/staging/offers" in unknown.step("status", "--format", "markdown").out
