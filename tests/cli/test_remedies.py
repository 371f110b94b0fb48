"""What is refused says what to do instead: a command that can be pasted, or the words of another way."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.partner import Partner

OFFERS, LOST, NONE = (f"europe/staging/{name}" for name in ("offers", "lost", "none"))

REMEDIES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("state", "show", NONE): ("not in the state record", "run:\n    reconciler state list\n"),
    ("state", "retire", "nothing"): ("expected an address", "run:\n    reconciler state list\n"),
    ("state", "mv", OFFERS, "usa/staging/offers"): ("create it on the other target, then retire it here",),
    ("state", "import", NONE): ("not defined in config/", "define it in config/ exactly as it exists"),
    ("state", "import", "europe/*"): ("use an address that config/ defines", "--all -t PATTERN"),
    ("state", "resolve", LOST, "--not-created"): ("retry after 20", "use --force if you are certain that the call"),
    ("secret", "show", LOST): ("a response or a secret", f"run:\n    reconciler state show {LOST}\n"),
    ("secret", "show", OFFERS, "--attempt", "x"): ("with the id x", f"run:\n    reconciler state show {OFFERS}\n"),
    ("lead", "create", "-t", "europe/staging", "broken.json"): ("nothing was sent", "correct the file"),
    ("apply", "saved.json"): ("stale for europe/staging", "applied already", "other -t options", "make a new plan"),
    ("listen", "--verify"): ("no `verification:` section", "run:\n    reconciler verification infer FILE\n"),
    ("apply", "broken.json"): ("run:\n    reconciler plan --out FILE\n",),
}


def test_every_refusal_names_another_way(partner: Partner) -> None:
    """Each of these refusals exits with 1, records nothing, and says what to do."""
    partner.begin(offers=["ONB10011"])
    partner.step("plan", "--out", "saved.json")
    partner.step("apply", "--auto-approve")
    partner.want(offers=["ONB10011"], lost=["ONB10001"])
    partner.lose_answer()
    partner.write("broken.json", "[1")
    for arguments, remedies in REMEDIES.items():
        with partner.appending():
            told = partner.step(*arguments, code=1).err
        assert not [remedy for remedy in remedies if remedy not in told], f"{arguments}: {told}"


def test_new_record_beside_a_known_one(partner: Partner) -> None:
    """A second record of a service is refused with where the first one is, and with how to have both."""
    partner.declare({}, base_url="https://api.service.example")
    partner.step("state", "init")
    told = partner.step("--state", "elsewhere", "state", "init", code=1).err
    assert f"a record with 1 entry exists at {partner.path / 'state'}; use it with --state " in told
    assert "or its subscriptions will be created again" in told
    assert "run:\n    reconciler --state elsewhere state init -t europe/staging --force\n" in told
    assert not (partner.path / "elsewhere").exists()


def test_record_that_is_missing(partner: Partner) -> None:
    """A record that this machine knows and that is gone is not begun again; the refusal says how to accept the loss."""
    partner.begin(offers=["ONB10011"])
    partner.journal.unlink()
    told = partner.step("state", "init", code=1).err
    assert "the record with 1 entry is missing; restore it " in told
    assert "run:\n    reconciler state accept-rollback -t europe/staging\n" in told
    assert not partner.journal.exists()


def test_record_looked_for_elsewhere(partner: Partner) -> None:
    """Where this machine last saw records is named: the location is the likely mistake."""
    partner.begin(offers=["ONB10011"])
    told = partner.step("state", "list", "--state", "elsewhere", code=1).err
    hint = f"check --state (records were last seen at {partner.path / 'state'}); to initialize one, run:\n"
    assert f"Error: elsewhere: no state record here; {hint}    reconciler --state elsewhere state init\n" == told


def test_record_that_was_never_there(partner: Partner) -> None:
    """There is no loss to accept of a record that never was; the refusal names the command that starts one."""
    partner.want(offers=["ONB10011"])
    told = partner.step("state", "accept-rollback", "-t", "europe/staging", code=1).err
    assert "has no state record here, and never had one" in told
    assert "run:\n    reconciler state init -t europe/staging\n" in told


def test_disk_of_a_runner(partner: Partner) -> None:
    """A record on a disk that is lost with the job is refused, with both ways out."""
    partner.want(offers=["ONB10011"])
    partner.environment["CI"] = "true"
    told = partner.step("state", "init", code=1).err
    assert "use a persistent store with --state; or, if this disk is persistent, use --force\n" in told
