"""What is refused says what to do instead: a command that can be pasted, or the words of another way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.partner import Partner

OFFERS, LOST, NONE = (f"europe/staging/{name}" for name in ("offers", "lost", "none"))

LIST = "run:\n    reconciler state list\n"
NO_ADDRESS = "expected an address region/environment/name (a-z, 0-9 and -); "
NO_FILTER = "expected a pattern region/environment or region/environment/name; "
REVIEW = "make a new plan with the same settings, review it, and approve that one\n"
SANDBOX = "run:\n    reconciler sandbox serve\n"

REMEDIES: dict[tuple[str, ...], str] = {
    ("state", "show", NONE): f"{NONE}: not in the state record; to list recorded subscriptions, {LIST}",
    ("state", "retire", "nothing"): f"nothing: {NO_ADDRESS}to list recorded subscriptions, {LIST}",
    ("state", "retire", "*"): f"*: {NO_FILTER}for example: 'europe/*' or '*/production/offers'\n",
    ("state", "retire", "*/*/none"): f"*/*/none: no attempt in force; {LIST}",
    ("state", "mv", NONE, OFFERS): f"{NONE}: not in the state record; to list recorded subscriptions, {LIST}",
    ("state", "mv", OFFERS, "usa/staging/offers"): (
        f"{OFFERS} to usa/staging/offers: cannot move a subscription to another target; create it on the other target,"
        " then retire it here\n"
    ),
    ("state", "mv", OFFERS, LOST): (
        f"{LOST}: already in the state record; if config/ now uses another name for it, rename that first (`reconciler"
        f" plan` prints the command); to see it, run:\n    reconciler state show {LOST}\n"
    ),
    ("state", "import", NONE): (
        f"{NONE}: not defined in config/; define it in config/ exactly as it exists, then import it before any apply,"
        " which would create it\n"
    ),
    ("state", "import", "europe/*"): (
        f"europe/*: {NO_ADDRESS}use an address that config/ defines; to import several, use --all -t PATTERN\n"
    ),
    ("state", "resolve", OFFERS, "--created"): (
        f"{OFFERS}: no create with an unknown outcome; run:\n    reconciler state show {OFFERS}\n"
    ),
    ("state", "resolve", LOST, "--created", "--attempt", "x"): (
        f"{LOST}: no create with the id x with an unknown outcome; run:\n    reconciler state show {LOST}\n"
    ),
    ("state", "resolve", LOST, "--not-created"): (
        f"{LOST}: the service may still process its call; check with the operator whether the subscription exists; if"
        f" it does, run:\n    reconciler state resolve {LOST} --created\n  if it certainly does not, wait until TIME,"
        f" in N s, then run:\n    reconciler state resolve {LOST} --not-created\n  --force skips the wait: if it"
        " exists, the next apply creates a duplicate, which can never be undone\n"
    ),
    ("state", "removed", "*/*"): f"*/*: no attempt awaiting removal; {LIST}",
    ("state", "removed", "*/*", "--force"): (
        "*/*: --force works with one address only; use the exact address of the deleted subscription\n"
    ),
    ("state", "removed", OFFERS): (
        f"{OFFERS}: attempt ID is live, and its removal was not requested; if it was deleted anyway, repeat with"
        " --force; the next apply creates it again if config/ still defines it\n"
    ),
    ("state", "accept-rollback", "-t", "usa/*"): "-t usa/*: matches no target; known targets: europe/staging\n",
    ("secret", "show", LOST): (
        f"{LOST}: no attempt with a response or a secret; run:\n    reconciler state show {LOST}\n"
    ),
    ("secret", "show", OFFERS, "--attempt", "x"): (
        f"{OFFERS}: no attempt with the id x with a response or a secret; run:\n    reconciler state show {OFFERS}\n"
    ),
    ("token", "-t", "usa/x"): "-t usa/x: target not declared in config/; declared targets: europe/staging\n",
    ("parity", "usa/x", "europe/staging"): (
        "usa/x: target not declared in config/; declared targets: europe/staging\n"
    ),
    ("parity", "europe/staging", "usa/x"): (
        "usa/x: target not declared in config/; declared targets: europe/staging\n"
    ),
    ("lead", "create", "-t", "europe/staging", "broken.json"): (
        "broken.json:1:3: the lead is not JSON: Expecting ',' delimiter; nothing was sent; correct the file\n"
    ),
    ("lead", "create", "-t", "europe/staging", "deep.json"): (
        "deep.json: the lead is not JSON: it contains NaN or Infinity, or is nested too deeply; nothing was sent;"
        " correct the file\n"
    ),
    ("apply", "saved.json"): (
        "saved.json: the saved plan is stale for europe/staging: it was applied already, the configuration, settings or"
        f" record have changed, or it was made with other -t options; {REVIEW}"
    ),
    ("apply", "--expect-digest", "sha256:0"): (
        f"--expect-digest sha256:0: the plan has changed: its digest is now DIGEST; {REVIEW}"
    ),
    ("apply", "broken.json"): (
        "broken.json: not a plan file of this version; to make a new one, run:\n    reconciler plan --out FILE\n"
    ),
    ("listen", "--verify"): (
        "--verify: config/ has no `verification:` section; add one; to detect it from a captured notification, run:\n"
        "    reconciler verification infer FILE\n"
    ),
    ("verification", "infer", "captured.json", "--secret-variable", "NO"): (
        "--secret-variable NO: this variable is not set; set it\n"
    ),
    ("verification", "infer", "captured.json", "--address", LOST): (
        f"{LOST}: no secret is recorded; if you have it, run:\n    reconciler secret set {LOST}\n"
    ),
    ("sandbox", "trigger", "ONB10001"): (
        f"--url or RECONCILER_SANDBOX_URL: the URL of the sandbox is not set; to get one, {SANDBOX}"
    ),
    ("sandbox", "trigger", "ONB10001", "--url", "https://127.0.0.1"): (
        f"--url: expected an http URL of this machine; to get one, {SANDBOX}"
    ),
    ("sandbox", "trigger", "ONB10001", "--url", "http://127.0.0.1:1"): (
        f"http://127.0.0.1:1: cannot reach the sandbox: Connection refused; to start it, {SANDBOX}"
    ),
}


def plain(told: str) -> str:
    """What stderr says, without what differs from run to run."""
    told = re.sub(r"sha256:[0-9a-f]{64}", "DIGEST", re.sub(r"\bin \d+ s\b", "in N s", told))
    return re.sub(r"\b[0-9a-f]{16}\b", "ID", re.sub(r"\d{4}-\d\d-\d\dT[0-9:]+Z", "TIME", told))


def test_every_refusal_names_another_way(partner: Partner) -> None:
    """Each of these refusals exits with 1, records nothing, and says where, what, and what to do: no more, no less."""
    partner.begin(offers=["ONB10011"])
    partner.step("plan", "--out", "saved.json")
    partner.step("apply", "--auto-approve")
    partner.want(offers=["ONB10011"], lost=["ONB10001"])
    partner.lose_answer()
    partner.write("broken.json", "[1")
    partner.write("deep.json", "[" * 100_000)
    partner.write("captured.json", '{"at": "2026-01-01T00:00:00Z", "path": "/lost", "headers": {}, "body": "{}"}')
    for arguments, told in REMEDIES.items():
        with partner.appending():
            found = plain(partner.step(*arguments, code=1).err)
        assert f"\n{found}".endswith(f"\nError: {told}"), f"{arguments}: {found}"


def test_new_record_beside_a_known_one(partner: Partner) -> None:
    """A second record of a service is refused with where the first one is, and with how to have both."""
    partner.declare({}, base_url="https://api.service.example")
    partner.step("state", "init")
    told = partner.step("--state", "elsewhere", "state", "init", code=1).err
    place = partner.path / "state"
    assert (
        f"Error: europe/staging in elsewhere: a record with 1 entry exists at {place}; use it with --state {place}, or"
        " its subscriptions will be created again; to initialize a new one anyway, run:\n"
        "    reconciler --state elsewhere state init -t europe/staging --force\n"
    ) == told
    assert not (partner.path / "elsewhere").exists()


def test_new_record_beside_one_in_a_store_of_others(partner: Partner) -> None:
    """What the first one is called in messages may be no value of --state: a branch is named with its repository."""
    partner.declare({}, base_url="https://api.service.example")
    partner.shell("git init -q --bare ../origin.git && git init -q && git remote add origin ../origin.git")
    partner.step("--state", "git:records", "state", "init")
    told = partner.step("--state", "elsewhere", "state", "init", code=1).err
    assert "a record with 1 entry exists at git:records of /" in told
    assert "origin.git; use that store with --state, or its subscriptions will be created again" in told


def test_record_that_is_missing(partner: Partner) -> None:
    """A record that this machine knows and that is gone is not begun again; the refusal says how to accept the loss."""
    partner.begin(offers=["ONB10011"])
    partner.journal.unlink()
    told = partner.step("state", "init", code=1).err
    assert (
        "Error: europe/staging in state: the record with 1 entry is missing; restore it (version control, a backup,"
        " another --state), or its subscriptions will be created again; with a copy of it, such as a"
        " colleague's, run:\n"
        "    reconciler state recover COPY.jsonl\n"
        "  if it is lost for good, run:\n"
        "    reconciler state accept-rollback -t europe/staging\n"
    ) == told
    assert not partner.journal.exists()


def test_record_looked_for_elsewhere(partner: Partner) -> None:
    """Where this machine last saw records is named: the location is the likely mistake."""
    partner.begin(offers=["ONB10011"])
    told = partner.step("state", "list", "--state", "elsewhere", code=1).err
    hint = f"check --state (records were last seen at {partner.path / 'state'}); to initialize one, run:\n"
    assert f"Error: elsewhere: no state record here; {hint}    reconciler --state elsewhere state init\n" == told


def test_records_seen_in_many_places(partner: Partner) -> None:
    """Three of them are named."""
    partner.want(offers=["ONB10011"])
    for place in "abcd":
        partner.step("state", "init", "--state", place)
    told = partner.step("state", "list", "--state", "elsewhere", code=1).err
    seen = ", ".join(str(partner.path / place) for place in "abc")
    assert f"check --state (records were last seen at {seen}); to initialize one, run:\n" in told


def test_record_that_was_never_there(partner: Partner) -> None:
    """There is no loss to accept of a record that never was; the refusal names the command that starts one."""
    partner.want(offers=["ONB10011"])
    told = partner.step("state", "accept-rollback", "-t", "europe/staging", code=1).err
    assert "has no state record here, and never had one, as far as this machine knows" in told
    assert "if it had one, restore it, or run this command on a machine that has seen it" in told
    assert "run:\n    reconciler state init -t europe/staging\n" in told


def test_disk_of_a_runner(partner: Partner) -> None:
    """A record on a disk that is lost with the job is refused, with both ways out."""
    partner.want(offers=["ONB10011"])
    partner.environment["CI"] = "true"
    told = partner.step("state", "init", code=1).err
    why = "a CI runner's disk is lost with the job, so the next job would create everything again"
    ways = "use a persistent store with --state; or, if this disk is persistent, use --force"
    assert f"Error: state: {why}; {ways}\n" == told
