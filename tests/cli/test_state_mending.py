"""The commands that mend the state record: what they append, what a plan is then, and what they refuse."""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from support.lending_service import refusal
from support.project import EXECUTABLE
from support.terminal import at_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from support.partner import Partner

OFFERS = "europe/staging/offers"
CHANCES = "europe/staging/chances"
OFFERS_URL = "https://hooks.partner.example/offers"
OTHER_URL = "https://hooks.partner.example/other"

SAME_SERVICE = f"""\
targets:
  usa/staging:
    auth_url: {{service.auth_url}}
    base_url: {{service.base_url}}/
subscriptions:
  usa/staging:
    offers:
      eventCodes: [ONB10011]
      webhookUrl: {OFFERS_URL}
"""


@pytest.fixture
def imported(partner: Partner) -> Partner:
    """A partner whose record holds one subscription that was created by hand."""
    partner.begin(offers=["ONB10011"])
    partner.step("state", "import", "--all")
    return partner


@pytest.fixture
def unknown(partner: Partner) -> Partner:
    """A partner of whose one create nobody knows the outcome."""
    partner.begin(offers=["ONB10011"])
    partner.lose_answer()
    return partner


@pytest.fixture
def pending(partner: Partner) -> Partner:
    """A partner whose apply was killed once its intent was durable, so that its call may be in flight."""
    partner.begin(offers=["ONB10011"])
    killed = {**partner.environment, "RECONCILER_TEST_FAILPOINT": "after-append:1:kill"}
    partner.environment, before = killed, partner.environment
    partner.step("apply", "--auto-approve", code=-9)
    partner.environment = before
    return partner


@pytest.fixture
def doubled(imported: Partner) -> Partner:
    """A partner with two attempts at one address: a code was added to what existed."""
    imported.want(offers=["ONB10011", "ONB10004"])
    imported.step("state", "import", OFFERS)
    return imported


class TestImport:
    """What was created by hand before."""

    def test_one(self, partner: Partner) -> None:
        """It counts as existing, just as it is desired; a second time it is skipped."""
        partner.begin(offers=["ONB10011"], applications=["ONB10001"])
        with partner.appending("imported"):
            done = partner.step("state", "import", OFFERS)
        assert f"  {OFFERS}: imported, ONB10011 to https://hooks.partner.example/offers\n" == done.out
        assert re.fullmatch(r"[0-9a-f]{16}", partner.attempt())
        assert [("applications", "create")] == partner.planned()
        with partner.appending():
            assert f"  {OFFERS}: skipped: already recorded\n" == partner.step("state", "import", OFFERS).out

    def test_not_what_is_recorded_in_another_spelling(self, imported: Partner) -> None:
        """Two spellings of one URL are one route."""
        imported.declare({"offers": (["ONB10011"], "https://HOOKS.partner.example:443/offers")})
        with imported.appending():
            assert f"  {OFFERS}: skipped: already recorded\n" == imported.step("state", "import", OFFERS).out

    def test_not_what_was_recorded_in_another_spelling(self, partner: Partner) -> None:
        """It does not matter which of the two is spelt in full."""
        partner.declare({"offers": (["ONB10011"], "https://HOOKS.partner.example:443/offers")})
        partner.step("state", "init")
        partner.step("state", "import", OFFERS)
        partner.want(offers=["ONB10011"])
        with partner.appending():
            assert f"  {OFFERS}: skipped: already recorded\n" == partner.step("state", "import", OFFERS).out

    def test_a_code_at_another_url(self, imported: Partner) -> None:
        """What is recorded of another URL is another route: the one that is desired is recorded beside it."""
        imported.declare({"offers": (["ONB10011"], "https://hooks.partner.example/other")})
        with imported.appending("imported"):
            imported.step("state", "import", OFFERS)

    def test_all_that_is_selected(self, partner: Partner) -> None:
        """And nothing is sent for any of it."""
        partner.begin(offers=["ONB10011"], applications=["ONB10001"])
        with partner.appending("imported"):
            partner.step("state", "import", "--all", "-t", "*/*/app*")
        with partner.appending("imported"):
            partner.step("state", "import", "--all")
        assert [] == partner.planned()
        assert partner.service.untouched
        partner.want()
        assert "config/ defines no matching subscription.\n" == partner.step("state", "import", "--all").out

    def test_a_pattern_is_taken_with_all(self, partner: Partner) -> None:
        """And where none is taken, that is said."""
        partner.begin(offers=["ONB10011"])
        done = partner.run_fork("state", "import", "europe/*/offers")
        assert (1, True) == (done.code, "to import several, use --all -t PATTERN" in done.err)

    def test_only_the_missing_codes(self, doubled: Partner) -> None:
        """What is recorded stays as it is."""
        assert [["ONB10004"], ["ONB10011"]] == sorted(codes for _, _, codes in doubled.listed())

    def test_not_what_may_exist_already(self, unknown: Partner) -> None:
        """An unknown outcome is to be settled first."""
        with unknown.appending():
            done = unknown.step("state", "import", "--all")
        resolve = f"if it does, run:\n      reconciler state resolve {OFFERS} --created\n"
        assert done.out.startswith(f"  {OFFERS}: skipped: a create has an unknown outcome; check with the operator ")
        assert f" whether the subscription exists; {resolve}    if it certainly does not, wait until " in done.out
        assert done.out.endswith(f", then run:\n      reconciler state resolve {OFFERS} --not-created\n")

    def test_not_what_another_address_has(self, imported: Partner) -> None:
        """What is recorded under the name it had before is skipped, and `state mv` is named; the others are taken."""
        imported.declare({"chances": (["ONB10011", "ONB10004"], OFFERS_URL), "later": (["ONB10001"], OTHER_URL)})
        with imported.appending("imported"):
            done = imported.step("state", "import", "--all")
        assert (
            f"  {CHANCES}: skipped: ONB10011 to {OFFERS_URL} is already in force as {OFFERS}"
            f" (attempt {imported.attempt(1)}); if the subscription was renamed,"
            f" run:\n      reconciler state mv {OFFERS} {CHANCES}\n"
            f"  europe/staging/later: imported, ONB10001 to {OTHER_URL}\n"
        ) == done.out
        imported.step("state", "mv", OFFERS, CHANCES)
        with imported.appending("imported"):
            imported.step("state", "import", CHANCES)
        assert [] == imported.planned()

    def test_not_what_awaits_removal_under_another_address(self, imported: Partner) -> None:
        """It is in force until it is removed."""
        imported.step("state", "retire", OFFERS)
        imported.declare({"chances": (["ONB10011"], OFFERS_URL)})
        with imported.appending():
            done = imported.step("state", "import", CHANCES)
        assert f"  {CHANCES}: skipped: ONB10011 to {OFFERS_URL} is already in force as {OFFERS} " in done.out

    def test_not_what_may_exist_under_another_address(self, unknown: Partner) -> None:
        """An unknown outcome is to be settled first, wherever it is."""
        unknown.declare({"chances": (["ONB10011"], OFFERS_URL)})
        with unknown.appending():
            done = unknown.step("state", "import", "--all")
        assert f"  {CHANCES}: skipped: it may already be in force as {OFFERS}: a create started " in done.out
        assert f"if it does, run:\n      reconciler state resolve {OFFERS} --created\n    if it " in done.out

    def test_not_what_another_target_of_the_service_has(self, imported: Partner) -> None:
        """A target that is not selected counts, if it is the same service."""
        imported.want()
        imported.write("config/usa.yaml", SAME_SERVICE.format(service=imported.service))
        imported.step("state", "init", "-t", "usa/*")
        done = imported.step("state", "import", "--all", "-t", "usa/*")
        assert (
            f"  usa/staging/offers: skipped: ONB10011 to {OFFERS_URL} is already in force as {OFFERS}"
            f" (attempt {imported.attempt()}), another target of the same service;"
            f" to have it removed first, run:\n      reconciler state retire {OFFERS} --attempt {imported.attempt()}\n"
        ) == done.out
        assert [("offers", "live", ["ONB10011"])] == imported.listed()

    def test_a_code_that_another_address_has_elsewhere(self, imported: Partner) -> None:
        """The same code to another URL is another route."""
        imported.declare({"chances": (["ONB10011"], OTHER_URL)})
        with imported.appending("imported"):
            imported.step("state", "import", "--all")


class TestResolve:
    """An outcome that nobody knows."""

    def test_until_then_the_address_is_blocked(self, unknown: Partner) -> None:
        """Exit code 3, in plan and apply, over and over, and no second call."""
        assert [("offers", "blocked")] == unknown.planned()
        unknown.step("plan", "--detailed-exitcode", code=3)
        with unknown.appending():
            unknown.step("apply", "--auto-approve", code=3)
        assert 1 == len(unknown.service.creates)
        assert [("offers", "unknown", ["ONB10011"])] == unknown.listed()

    def test_created(self, unknown: Partner) -> None:
        """It exists; the note is in the record. A second time there is nothing to settle."""
        with unknown.appending("resolved"):
            done = unknown.step("state", "resolve", OFFERS, "--created", "--note", "the operator\nsaw it")
        assert f"  {OFFERS}: attempt {unknown.attempt()} resolved as created\n" == done.out
        assert "No create response, and so no secret, is recorded; ask the operator " in done.err
        assert done.err.endswith(f" reconciler secret set {OFFERS}\n")
        assert [] == unknown.planned()
        assert r"resolved manually as created: the operator\nsaw it" in unknown.step("state", "history").out
        with unknown.appending():
            unknown.step("state", "resolve", OFFERS, "--created", code=1)

    def test_created_several(self, partner: Partner) -> None:
        """What to do about their secrets is said once."""
        partner.begin(a=["ONB10001"], b=["ONB10002"])
        partner.service.answer_next(refusal(500), refusal(500))
        partner.step("apply", "--auto-approve", code=3)
        done = partner.step("state", "resolve", "europe/*", "--created")
        commands = "".join(f"  reconciler secret set europe/staging/{name}\n" for name in "ab")
        assert (1, True) == (done.err.count("ask the operator for the secret"), done.err.endswith(commands))

    def test_the_way_back_from_created(self, unknown: Partner) -> None:
        """The command for what turns out not to exist is named, and works: the next apply creates it."""
        done = unknown.step("state", "resolve", OFFERS, "--created")
        (back,) = re.findall(r"If it turns out not to exist, run:\n    reconciler (.*)\n", done.err)
        unknown.step(*back.split())
        assert [("offers", "create")] == unknown.planned()

    def test_the_ways_back_from_several(self, partner: Partner) -> None:
        """One sentence, then the command of each, on a line of its own."""
        partner.begin(a=["ONB10001"], b=["ONB10002"])
        partner.service.answer_next(refusal(500), refusal(500))
        partner.step("apply", "--auto-approve", code=3)
        done = partner.step("state", "resolve", "europe/*", "--created")
        command = "  reconciler state removed europe/staging/{} --attempt [0-9a-f]+ --force\n"
        assert re.search(
            f"turns out not to exist, run its command:\n{command.format('a')}{command.format('b')}", done.err
        )

    def test_created_quietly(self, unknown: Partner) -> None:
        """With -q it is not said what to do about the secret."""
        assert "" == unknown.step("state", "resolve", OFFERS, "--created", "-q").err

    def test_created_with_its_secret_kept(self, unknown: Partner) -> None:
        """Then there is nothing to ask for."""
        unknown.step("secret", "set", OFFERS, stdin="hunter2")
        assert "secret" not in unknown.step("state", "resolve", OFFERS, "--created").err

    def test_not_created(self, unknown: Partner) -> None:
        """The next apply creates it; a pattern will do; and what corrects a mistake is said."""
        attempt = unknown.attempt()
        with unknown.appending("resolved"):
            done = unknown.step("state", "resolve", "europe/*", "--not-created", "--force")
        assert done.err.endswith(f" reconciler state resolve {OFFERS} --created --attempt {attempt}\n")
        unknown.step("apply", "--auto-approve")
        assert 2 == len(unknown.service.creates)

    def test_not_created_wants_the_time_to_be_over(self, unknown: Partner) -> None:
        """An answer that means nothing proves nothing: the service may carry the call out until it is over."""
        with unknown.appending():
            done = unknown.run_fork("state", "resolve", OFFERS, "--not-created")
        assert 1 == done.code
        sure, wait, force = "check with the operator", "wait until 20", "--force skips the wait: if it exists"
        said = done.err.partition("the service may still process its call; ")[2]
        assert 0 == said.index(sure) < said.index(wait) < said.index("--not-created") < said.index(force)
        assert said.endswith("the next apply creates a duplicate, which can never be undone\n")
        with unknown.appending("resolved"):
            unknown.step("state", "resolve", OFFERS, "--not-created", "--force")
        assert unknown.entries[-1]["forced"]
        assert "resolved manually as not created, forced" in unknown.step("state", "history").out

    def test_once_the_time_is_over(self, partner: Partner) -> None:
        """A person's word is enough, and --force that was not needed is not recorded."""
        partner.begin(offers=["ONB10011"])
        partner.environment["RECONCILER_TEST_FAILPOINT"] = "send_window=0.1,margin=0"
        partner.service.answer_next(refusal(500))
        partner.step("apply", "--auto-approve", "--timeout", "0.4", code=3)
        del partner.environment["RECONCILER_TEST_FAILPOINT"]
        time.sleep(0.6)
        with partner.appending("resolved"):
            partner.step("state", "resolve", OFFERS, "--not-created", "--force")
        assert "forced" not in partner.entries[-1]

    def test_what_is_settled_is_shown_first(self, unknown: Partner) -> None:
        """The attempt, its codes and URL, since when, by whom, and what is known of it."""
        done = unknown.run_fork("state", "resolve", OFFERS, "--not-created")
        shown = [
            rf"  {OFFERS}  attempt [0-9a-f]+, ONB10011 to {OFFERS_URL}",
            r"      started 20\S+Z \(less than a minute ago\) by \S+ on \S+",
            r"      outcome: HTTP 500 .*",
            r"      notifications received since: none",
        ]
        assert re.match("\n".join([*shown, "Error: "]), done.err)
        assert "" == done.out

    @pytest.mark.parametrize(("answer", "code", "kinds"), [("yes\n", 0, ["resolved"]), ("no\n", 1, [])])
    def test_not_created_asks_at_a_terminal(self, partner: Partner, answer: str, code: int, kinds: list[str]) -> None:
        """A person is shown what it is, and asked."""
        partner.begin(offers=["ONB10011"])
        partner.environment["RECONCILER_TEST_FAILPOINT"] = "send_window=0.1,margin=0,after-append:1:kill"
        partner.step("apply", "--auto-approve", "--timeout", "0.1", code=-9)
        del partner.environment["RECONCILER_TEST_FAILPOINT"]
        time.sleep(0.3)
        answers = {"Are you certain that it was not created? ": answer}
        with partner.appending(*kinds):
            done = at_terminal(partner, "state", "resolve", OFFERS, "--not-created", answers=answers)
        assert code == done.code
        assert "no outcome recorded" in done.out

    @pytest.fixture
    def two_unknown(self, partner: Partner) -> Partner:
        """A partner with two creates of unknown outcome."""
        partner.begin(offers=["ONB10011"], deals=["ONB10012"])
        for _ in range(2):
            partner.service.answer_next(refusal(500))
        partner.step("apply", "--auto-approve", code=3)
        return partner

    @pytest.mark.parametrize(("answer", "code", "count"), [("yes\n", 0, 2), ("no\n", 1, 0)])
    def test_a_pattern_asks_at_a_terminal(self, two_unknown: Partner, answer: str, code: int, count: int) -> None:
        """Whoever selects more than one is asked of --created too; then each secret is asked for, in a list."""
        answers = {"Are you certain that all 2 were created? ": answer}
        with two_unknown.appending(*["resolved"] * count):
            done = at_terminal(two_unknown, "state", "resolve", "*/*/*", "--created", answers=answers)
        assert (code, bool(count)) == (done.code, "Of these 2 no create response" in done.out)
        listed = [line.strip() for line in done.out.splitlines() if "secret set" in line]
        assert [f"reconciler secret set europe/staging/{name}" for name in ("deals", "offers")][:count] == listed

    def test_a_pattern_asks_nothing_without_a_terminal_or_with_force(self, two_unknown: Partner) -> None:
        """As with one; what corrects a mistake is one sentence and a list."""
        with two_unknown.appending("resolved", "resolved"):
            told = two_unknown.step("state", "resolve", "*/*/*", "--not-created", "--force").err
        assert 1 == told.count("If one of them turns out to exist, then run its command before the next apply:\n")
        assert 2 == len(re.findall(r"^  reconciler state resolve \S+ --created --attempt \w+$", told, re.MULTILINE))
        assert "run: " not in told
        attempts = [entry["attempt"] for entry in two_unknown.entries[-2:]]
        for attempt in attempts:
            two_unknown.step("state", "resolve", "*/*/*", "--created", "--attempt", attempt)

    def test_force_asks_nothing(self, unknown: Partner) -> None:
        """Not at a terminal either."""
        with unknown.appending("resolved"):
            done = at_terminal(unknown, "state", "resolve", OFFERS, "--not-created", "--force")
        assert (0, False) == (done.code, "Certain" in done.out)

    def test_not_against_notifications(self, unknown: Partner) -> None:
        """What arrived for its codes at its URL since it began speaks against --not-created, unless forced."""
        unknown.write("received.jsonl", _received("ONB10011"))
        unknown.step("state", "observe", "received.jsonl")
        planned = unknown.step("plan").out
        assert "notifications were received since: ONB10011 (last 20" in planned
        assert f"so it probably exists; run:\n          reconciler state resolve {OFFERS} --created\n" in planned
        assert "--not-created" not in planned
        unknown.before_steps = "import time; now = time.time; time.time = lambda: now() + 3600"
        with unknown.appending():
            done = unknown.step("state", "resolve", OFFERS, "--not-created", code=1)
        assert (
            f"{OFFERS}: notifications have arrived since the create started, so it probably exists: ONB10011 (last 20"
            in done.err
        )
        assert "notifications received since: ONB10011 last 20" in done.err
        with unknown.appending("resolved"):
            unknown.step("state", "resolve", OFFERS, "--not-created", "--force")
        assert unknown.entries[-1]["forced"]

    def test_not_against_notifications_of_several_codes(self, partner: Partner) -> None:
        """Each code is named with when it was received last."""
        partner.begin(offers=["ONB10011", "ONB10001"])
        partner.lose_answer()
        partner.write("received.jsonl", _received("ONB10011", "ONB10001"))
        partner.step("state", "observe", "received.jsonl")
        partner.before_steps = "import time; now = time.time; time.time = lambda: now() + 3600"
        told = partner.step("state", "resolve", OFFERS, "--not-created", code=1).err
        codes = "ONB10001 (last TIME), ONB10011 (last TIME)"
        command = f"run:\n    reconciler state resolve {OFFERS} --created\n  only if the operator confirms"
        assert f"so it probably exists: {codes}; {command}" in re.sub(r"20\d\d-\S+Z", "TIME", told)
        assert told.index("add --force: ") < told.index("a duplicate, which can never be undone\n")

    def test_not_against_notifications_that_arrive_meanwhile(self, unknown: Partner) -> None:
        """What is recorded while a person is asked speaks against it just as well."""
        unknown.write("received.jsonl", _received("ONB10011"))
        unknown.before_steps = OBSERVING_WHEN_ASKED.format(executable=str(EXECUTABLE))
        with unknown.appending("observed"):
            done = unknown.step("state", "resolve", OFFERS, "--not-created", code=1)
        assert f"{OFFERS}: notifications have arrived since the create started" in done.err
        assert ("", "unknown") == (done.out, unknown.listed()[0][1])

    def test_created_with_notifications(self, unknown: Partner) -> None:
        """They speak for it: no force is needed."""
        unknown.write("received.jsonl", _received("ONB10011"))
        unknown.step("state", "observe", "received.jsonl")
        unknown.before_steps = "import time; now = time.time; time.time = lambda: now() + 3600"
        with unknown.appending("resolved"):
            unknown.step("state", "resolve", OFFERS, "--created")

    def test_created_where_nothing_can_be_read(self, unknown: Partner, tmp_path: Path) -> None:
        """What this machine may know could only confirm it; against --not-created it might speak."""
        kept = tmp_path / "home" / "data" / "reconciler" / "unrecorded"
        kept.mkdir(parents=True, exist_ok=True)
        (kept / "other.jsonl").mkdir()
        with unknown.appending():
            unknown.step("state", "resolve", OFFERS, "--not-created", "--force", code=1)
        with unknown.appending("resolved"):
            unknown.step("state", "resolve", OFFERS, "--created")

    def test_a_wrong_not_created_is_corrected(self, unknown: Partner) -> None:
        """By what was named then: nothing is created again, and a correction after an apply shows the duplicate."""
        corrected = ("state", "resolve", OFFERS, "--created", "--attempt", unknown.attempt())
        unknown.step("state", "resolve", OFFERS, "--not-created", "--force")
        with unknown.appending("resolved"):
            unknown.step(*corrected)
        assert [] == unknown.planned()
        unknown.step(*corrected, code=1)

    def test_a_correction_after_the_next_apply(self, unknown: Partner) -> None:
        """Both exist then: what is to go is the one whose secret nobody has."""
        first = unknown.attempt()
        unknown.step("state", "resolve", OFFERS, "--not-created", "--force")
        unknown.step("apply", "--auto-approve")
        second = unknown.attempt()
        unknown.step("state", "resolve", OFFERS, "--created", code=1)
        told = (
            f"{OFFERS} exists twice: attempts {second} and {first}, same URL and event codes; keep {second}, whose"
            " secret is stored; to have the other one removed, run:\n"
        )
        command = f"reconciler state retire {OFFERS} --attempt {first}\n"
        resolved = unknown.step("state", "resolve", OFFERS, "--created", "--attempt", first).err
        assert f"{told}    {command}" in resolved
        assert [(OFFERS, first)] == [(one["address"], one["attempt"]) for one in unknown.plan()["surplus"]]
        for shown in ("plan", "status"):
            assert f"  warning: {told}      {command}" in unknown.step(shown).out
        unknown.step("state", "retire", OFFERS, "--attempt", first)
        assert "twice" not in unknown.step("plan").out
        told = unknown.step("state", "removed", OFFERS, "--attempt", first).err
        assert "state import" not in told  # it would be skipped
        assert told.endswith("To see what the next apply does, run:\n    reconciler plan\n")

    def test_what_may_be_in_flight_wants_force(self, pending: Partner) -> None:
        """It says from when on it may be settled."""
        done = pending.run_fork("plan", "--detailed-exitcode")
        assert 3 == done.code
        with pending.appending():
            done = pending.step("state", "resolve", OFFERS, "--not-created", code=None)
        assert 1 == done.code
        flight = r": its call, started 20\S+Z, may still be in flight; its apply may still record the outcome:"
        assert re.search(rf"{flight} wait until 20\S+Z, in \d+ s; if it has not by then, check with the", done.err)
        assert done.err.endswith("the next apply creates a duplicate, which can never be undone\n")
        with pending.appending("resolved"):
            pending.step("state", "resolve", OFFERS, "--not-created", "--force")
        assert [("offers", "create")] == pending.planned()

    def test_status_offers_nothing_before_it_is_taken(self, pending: Partner) -> None:
        """A call in flight is waited for whatever the operator says; both reports say so before they name a command."""
        refused = pending.step("state", "resolve", OFFERS, "--created", code=1).err
        (until,) = re.findall(r"wait until (20\S+Z)", refused)
        for report in ("status", "plan"):
            shown = " ".join(pending.step(report).out.split())
            assert (
                f"may be in flight until {until}; if it has no outcome after that, check"
                in re.sub(r"(Z), in \d+ s", r"\1", shown).partition("--created")[0]
            )

    def test_all_or_nothing(self, partner: Partner) -> None:
        """Where one of those selected is refused, none is settled."""
        partner.begin(a=["ONB10001"], b=["ONB10002"])
        partner.lose_answer("-t", "*/*/a")
        partner.environment["RECONCILER_TEST_FAILPOINT"] = "after-append:1:kill"
        partner.step("apply", "--auto-approve", "-t", "*/*/b", code=None)
        del partner.environment["RECONCILER_TEST_FAILPOINT"]
        with partner.appending():
            told = partner.step("state", "resolve", "europe/*", "--created", code=1).err
        assert "--force skips the wait: if the call fails, nothing delivers" in told
        with partner.appending("resolved"):
            partner.step("state", "resolve", "europe/*/a", "--created")


def _received(*codes: str, at: str = "") -> str:
    """A capture of notifications, received now unless said otherwise."""
    at = at or datetime.now(UTC).isoformat()
    lines = [
        {"at": at, "path": "/offers", "url": OFFERS_URL, "headers": {}, "body": json.dumps({"EventCode": code})}
        for code in codes
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


OBSERVING_WHEN_ASKED = """
import subprocess, time
import reconciler.cli.state.resolve
now = time.time
time.time = lambda: now() + 3600
observe = [{executable!r}, "state", "observe", "received.jsonl", "-q"]
reconciler.cli.state.resolve.ask = lambda question: subprocess.run(observe, stdout=subprocess.DEVNULL)
"""


class TestRetireAndRemoved:
    """What has to go, and what is gone."""

    def test_retire(self, imported: Partner) -> None:
        """The request to the operator is printed, twice if need be; what is wanted still is then replaced."""
        with imported.appending("retired"):
            done = imported.step("state", "retire", OFFERS)
        assert "Please delete the webhook subscription of europe/staging that delivers ONB10011 to " in done.out
        undo = f"reconciler state retire {OFFERS} --attempt {imported.attempt()} --withdraw"
        assert done.err.endswith(f"To cancel the removal, run:\n    {undo}\n")
        with imported.appending():
            assert done.out == imported.step("state", "retire", OFFERS).out
        assert [("offers", "awaiting_removal", ["ONB10011"])] == imported.listed()
        assert [imported.attempt()] == [one["attempt"] for one in imported.plan()["awaiting_removal"]]

    def test_removed(self, imported: Partner) -> None:
        """What was asked to go is gone, and would be created again if it is wanted."""
        imported.step("state", "retire", OFFERS)
        with imported.appending("removed"):
            done = imported.step("state", "removed", OFFERS)
        assert done.out.startswith(f"  {OFFERS}: attempt ")
        assert [] == imported.listed()
        assert [("offers", "create")] == imported.planned()
        with imported.appending():
            imported.step("state", "removed", OFFERS, code=1)

    def test_live_ones_want_force(self, imported: Partner) -> None:
        """Nobody asked for their removal."""
        with imported.appending():
            imported.step("state", "removed", OFFERS, code=1)
        with imported.appending("removed"):
            imported.step("state", "removed", OFFERS, "--force")
        assert imported.entries[-1]["forced"]

    @pytest.mark.parametrize("command", ["retire", "removed"])
    def test_several_attempts_want_a_name(self, doubled: Partner, command: str) -> None:
        """They are listed, and one named with --attempt is meant."""
        with doubled.appending():
            done = doubled.run_fork("state", command, OFFERS)
        assert 1 == done.code
        assert done.err.startswith(f"Error: {OFFERS}: several attempts in force; choose one with --attempt: ")
        assert {doubled.attempt(0), doubled.attempt(1)} <= set(done.err.replace(",", " ").split())
        chosen = doubled.attempt(1)
        doubled.step("state", command, OFFERS, "--attempt", chosen, *(["--force"] if command == "removed" else []))
        assert chosen == doubled.entries[-1]["attempt"]

    def test_what_a_person_retired_stays_retired(self, imported: Partner) -> None:
        """No apply restores it: what is wanted of it is created beside it, and a plan that retired one is undone."""
        imported.step("state", "retire", OFFERS)
        assert [("offers", "replace")] == imported.planned()
        imported.step("apply", "--auto-approve")
        assert ["awaiting_removal", "live"] == sorted(status for _, status, _ in imported.listed())
        assert [] == imported.planned()

    def test_a_plan_that_retired_is_undone(self, imported: Partner) -> None:
        """A URL that is changed and changed back with a code less is restored, and nothing is sent for it."""
        imported.declare({"offers": (["ONB10011"], OTHER_URL)})
        imported.step("apply", "--auto-approve")
        imported.want(offers=["ONB10011"])
        assert ["restore", "retire"] == [action for _, action in imported.planned()]
        imported.step("apply", "--auto-approve")
        assert 1 == len(imported.service.creates)
        imported.step("state", "retire", OFFERS)
        assert [("offers", "replace")] == imported.planned()

    def test_asking_for_what_a_plan_retired(self, imported: Partner) -> None:
        """A person may ask for what a plan has retired, and then it stays so."""
        imported.declare({"offers": (["ONB10011"], OTHER_URL)})
        imported.step("apply", "--auto-approve")
        old = imported.plan()["awaiting_removal"][0]["attempt"]
        with imported.appending("retired"):
            imported.step("state", "retire", OFFERS, "--attempt", old)
        with imported.appending():
            imported.step("state", "retire", OFFERS, "--attempt", old)
        imported.want(offers=["ONB10011"])
        assert [("offers", "replace")] == imported.planned()

    def test_the_way_back_from_removed(self, imported: Partner) -> None:
        """What is wanted as it was would be created again: the command that stops it is named, and works."""
        done = imported.step("state", "removed", OFFERS, "--force")
        (back,) = re.findall(
            r"before the next apply creates it again, run:\s+reconciler (state import \S+)", " ".join(done.err.split())
        )
        assert [("offers", "create")] == imported.planned()
        imported.step(*back.split())
        assert [] == imported.planned()

    def test_the_way_back_from_removed_that_is_not_wanted(self, imported: Partner) -> None:
        """What is no longer in config/ as it was is to be defined first, or the import records something else."""
        imported.declare({"offers": (["ONB10011"], OTHER_URL)})
        imported.step("apply", "--auto-approve")
        told = imported.step("state", "removed", OFFERS).err
        assert "define it in config/ exactly as it exists; then, before any apply, run:\n" in told
        assert told.endswith("To see what the next apply does, run:\n    reconciler plan\n")
        imported.want(offers=["ONB10011"])
        with imported.appending("imported"):
            imported.step("state", "import", OFFERS)
        imported.declare({"offers": (["ONB10011"], OTHER_URL)})
        assert [("offers", "retire")] == imported.planned()

    def test_withdraw(self, imported: Partner) -> None:
        """Who retired the wrong one says that it stays; nothing else has to be done."""
        imported.step("state", "retire", OFFERS)
        with imported.appending("restored"):
            done = imported.step("state", "retire", OFFERS, "--withdraw")
        assert " cancelled\n" in done.out
        assert done.out.endswith("Z to delete it is withdrawn. Does it still exist?\n")
        assert [] == imported.planned()
        with imported.appending():
            imported.step("state", "retire", OFFERS, "--withdraw", code=1)

    def test_patterns(self, partner: Partner) -> None:
        """A glob takes all that it can mean, what is done is shown first, and nobody off a terminal is asked."""
        partner.begin(offers=["ONB10011"], loans=["LOA10013"], other=["ONB10001"])
        partner.step("state", "import", "--all")
        with partner.appending("retired", "retired"):
            done = partner.step("state", "retire", "*/*/[lo][of]*")
        assert 2 == done.out.count("Please delete the webhook subscription ")
        assert 2 == done.err.count(", live: is to be removed\n")
        with partner.appending("removed", "removed"):
            done = partner.step("state", "removed", "europe/*")
        assert 2 == done.out.count(" is recorded as removed")
        assert [("other", "live", ["ONB10001"])] == partner.listed()
        for command in ("retire", "removed"):
            done = partner.step("state", command, "usa/*", code=None)
            assert (1, True) == (done.code, "usa/*: no attempt " in done.err)

    def test_a_pattern_never_means_what_is_live_where_it_is_removed(self, imported: Partner) -> None:
        """The next apply would create all of it again."""
        with imported.appending():
            imported.step("state", "removed", "europe/*", code=1)
            done = imported.run_fork("state", "removed", "europe/*", "--force")
        told = "europe/*: --force works with one address only; use the exact address of the deleted subscription\n"
        assert (1, True) == (done.code, told in done.err)

    def test_a_pattern_over_several_attempts_wants_a_name(self, doubled: Partner) -> None:
        """Nothing is done unless it is known of everything what is meant."""
        with doubled.appending():
            done = doubled.run_fork("state", "retire", "*/*/*")
        assert (1, True) == (done.code, "several attempts in force; choose one with --attempt: " in done.err)

    @pytest.mark.parametrize(("answer", "code", "kinds"), [("yes\n", 0, ["retired"]), ("no\n", 1, [])])
    def test_patterns_ask_at_a_terminal(self, imported: Partner, answer: str, code: int, kinds: list[str]) -> None:
        """A person sees what a pattern means, and is asked."""
        with imported.appending(*kinds):
            done = at_terminal(imported, "state", "retire", "*/*/o*", answers={"Request their removal? ": answer})
        assert code == done.code
        assert (
            f"  {OFFERS}  attempt {imported.attempt()}, ONB10011 to {OFFERS_URL}, live: is to be removed\n" in done.out
        )

    def test_an_emptied_target_is_an_error(self, imported: Partner) -> None:
        """More likely a slip than a wish, unless it is said."""
        imported.want()
        done = imported.run_fork("plan")
        assert (1, "") == (done.code, done.out)
        assert "config/ defines no subscription for this target, but 1 is in force; " in done.err
        imported.step("apply", "--auto-approve", code=1)
        with imported.appending("retired"):
            imported.step("apply", "--auto-approve", "--allow-empty")


class TestMv:
    """A subscription that was renamed."""

    def test_without_a_create(self, imported: Partner) -> None:
        """The plan would create it, and does not once the record knows."""
        imported.declare({"chances": (["ONB10011"], "https://hooks.partner.example/offers")})
        assert [("chances", "blocked"), ("offers", "retire")] == imported.planned()
        imported.step("plan", "--detailed-exitcode", code=2)
        with imported.appending("moved"):
            done = imported.step("state", "mv", OFFERS, "europe/staging/chances")
        assert f"  {OFFERS} is recorded as europe/staging/chances\n" == done.out
        assert [] == imported.planned()
        assert imported.service.untouched
        with imported.appending():
            imported.step("state", "mv", OFFERS, "europe/staging/chances", code=1)

    def test_two_that_changed_names(self, partner: Partner) -> None:
        """What the plan says, pasted into a shell, leads out: nothing is created, and nothing has to go."""
        partner.begin(offers=["ONB10011"], chances=["LOA10013"])
        partner.step("state", "import", "--all")
        partner.declare(
            {"offers": (["LOA10013"], "https://hooks.partner.example/chances"), "chances": (["ONB10011"], OFFERS_URL)}
        )
        blocked = partner.plan()["changes"]
        assert ["blocked", "blocked"] == [change["action"] for change in blocked]
        advice = blocked[0]["reasons"][0].partition("if these subscriptions were renamed, run: ")[2]
        assert 3 == advice.count("reconciler state mv ")
        with partner.appending("moved", "moved", "moved"):
            assert 0 == partner.shell(advice.replace("reconciler ", '"$reconciler" ')).code
        assert "\nNo changes. 2 subscriptions match the configuration.\n" in partner.step("plan").out
        partner.step("apply", "--auto-approve")
        assert partner.service.untouched

    def test_shown_first(self, imported: Partner) -> None:
        """What stands under the name is shown, and a pattern is no name."""
        done = imported.step("state", "mv", OFFERS, CHANCES)
        assert (
            f"  {OFFERS}  attempt {imported.attempt()}, ONB10011 to {OFFERS_URL}, live: becomes {CHANCES}\n" == done.err
        )
        with imported.appending():
            imported.step("state", "mv", "europe/staging/c*", OFFERS, code=1)

    def test_patterns(self, partner: Partner) -> None:
        """Each that matches is renamed on its target, shown first, in one batch; a mix-up is refused."""
        partner.begin(**{"old-a": ["ONB10011"], "old-b": ["LOA10013"], "other": ["ONB10001"]})
        partner.step("state", "import", "--all")
        with partner.appending():
            for words in (("*/*/old-*", "*/*/new"), ("*/*/old-*", "europe/*/new-*"), ("*/*/x*", "*/*/y*")):
                partner.step("state", "mv", *words, code=1)
            told = partner.step("state", "mv", "*/*/old-a", "*/*/other", code=1)
            assert "europe/staging/other: already in the state record" in told.err
            left = at_terminal(partner, "state", "mv", "*/*/old-*", "*/*/new-*", answers={"Rename all": "no\n"})
            assert (1, True) == (left.code, "  europe/staging/old-b becomes europe/staging/new-b" in left.out)
        with partner.appending("moved", "moved"):
            done = partner.step("state", "mv", "*/*/old-*", "*/*/new-*")
        assert "  europe/staging/old-a becomes europe/staging/new-a\n" in done.err
        assert "  europe/staging/old-b is recorded as europe/staging/new-b\n" in done.out
        log = partner.step("state", "history", "europe/staging/new-a").out.splitlines()[1:]
        assert ["imported", "renamed"] == [line.split("  ")[4].split()[0].rstrip(":") for line in log]

    def test_not_onto_another(self, partner: Partner) -> None:
        """Which of the two would it be?"""
        partner.begin(offers=["ONB10011"], applications=["ONB10001"])
        partner.step("state", "import", "--all")
        with partner.appending():
            done = partner.run_fork("state", "mv", OFFERS, "europe/staging/applications")
        assert 1 == done.code
        assert "europe/staging/applications: already in the state record" in done.err


class TestRebind:
    """A record belongs to one service and account."""

    @pytest.fixture
    def moved(self, imported: Partner) -> Partner:
        """A partner whose service has another address by now."""
        imported.want(offers=["ONB10011"], applications=["ONB10001"])
        imported.environment["RECONCILER_EUROPE_STAGING_BASE_URL"] = imported.service.url + "/eu/v10"
        return imported

    def test_another_service(self, moved: Partner) -> None:
        """plan warns, apply refuses, until the record is bound to it."""
        done = moved.step("plan")
        before, now = moved.service.base_url, f"{moved.service.url}/eu/v10"
        assert (
            f"Warning: europe/staging: the record belongs to the service at {before}, but the current settings use"
            f" {now}; apply will refuse this; check `base_url` in config/ and RECONCILER_EUROPE_STAGING_BASE_URL, which"
            " may be of another target; only if the service has moved, run:\n"
            "    reconciler state rebind -t europe/staging\n"
        ) == done.err
        with moved.appending():
            done = moved.step("apply", "--auto-approve", code=None)
        assert (1, "") == (done.code, done.out)
        assert "; check `base_url` in config/ and RECONCILER_EUROPE_STAGING_BASE_URL, which may be" in done.err
        assert "; only if the service has moved, run:\n    reconciler state rebind -t europe/staging\n" in done.err
        assert moved.service.untouched
        with moved.appending():
            done = moved.step("state", "rebind", code=None)
        assert (1, "") == (done.code, done.out)
        assert f"-> {moved.service.url}/eu/v10\n" in done.err
        with moved.appending("bound"):
            assert "  europe/staging: rebound\n" == moved.step("state", "rebind", "--force").out
        assert moved.entries[-1]["forced"]
        assert "" == moved.step("plan").err
        with moved.appending():
            assert moved.step("state", "rebind", "-t", "europe/staging").out.startswith(
                "Nothing to change: every record belongs to "
            )

    @pytest.mark.parametrize(("answer", "code", "kinds"), [("yes\n", 0, ["bound"]), ("no\n", 1, [])])
    def test_at_a_terminal(self, moved: Partner, answer: str, code: int, kinds: list[str]) -> None:
        """A person is shown what would be accepted, and asked."""
        with moved.appending(*kinds):
            done = at_terminal(
                moved, "state", "rebind", answers={"Rebind these records? Type 'yes' to continue: ": answer}
            )
        assert code == done.code
        assert "service: " in done.out

    def test_target_without_a_record(self, moved: Partner) -> None:
        """A declared target that has no record yet is left out, unless it is selected."""
        urls = "".join(f"    {name}: https://api.usa.example\n" for name in ("auth_url", "base_url", "audience_base"))
        moved.write("config/usa.yaml", f"targets:\n  usa/staging:\n{urls}")
        with moved.appending("bound"):
            assert "  europe/staging: rebound\n" == moved.step("state", "rebind", "--force").out
        told = moved.step("state", "rebind", "-t", "usa/staging", code=1).err
        assert "no state record for usa/staging" in told

    def test_another_account(self, partner: Partner) -> None:
        """Another client id is another account, and credentials that are missing say nothing."""
        partner.begin(offers=["ONB10011"])
        partner.step("apply", "--auto-approve")
        partner.want(offers=["ONB10011"], applications=["ONB10001"])
        partner.environment["RECONCILER_EUROPE_STAGING_CLIENT_ID"] = "somebody-else"
        done = partner.run_fork("apply", "--auto-approve")
        assert 1 == done.code
        assert "the record belongs to another account: it was created with another client id (sha256:" in done.err
        check, rebind = "check RECONCILER_EUROPE_STAGING_CLIENT_ID", "reconciler state rebind -t europe/staging"
        assert 0 < done.err.index(check) < done.err.index(rebind)
        assert "somebody-else" not in done.err
        assert 1 == len(partner.service.creates)
        with partner.appending("bound"):
            told = partner.step("state", "rebind", "--force").err
        hashed = r"sha256:[0-9a-f]{12}…"
        assert re.search(f"account: {hashed} -> {hashed}, that of RECONCILER_EUROPE_STAGING_CLIENT_ID", told)
        partner.step("apply", "--auto-approve")
        partner.environment.clear()
        with partner.appending():
            partner.step("state", "rebind")

    def test_without_a_record(self, partner: Partner) -> None:
        """There is nothing to bind, and that is said."""
        partner.want(offers=["ONB10011"])
        done = partner.run_fork("state", "rebind")
        assert 1 == done.code
        assert "no state record for europe/staging" in done.err


@pytest.mark.parametrize(("answer", "code", "kinds"), [("yes\n", 0, ["rollback"]), ("\x04", 1, [])])
def test_accept_rollback_at_a_terminal(imported: Partner, answer: str, code: int, kinds: list[str]) -> None:
    """A person may accept what is lost; the end of the input is a no."""
    lines = imported.journal.read_bytes().splitlines(keepends=True)
    imported.journal.write_bytes(b"".join(lines[:-1]))
    prompt = "Accept this record? Type 'yes' to continue: "
    with imported.appending(*kinds):
        done = at_terminal(imported, "state", "accept-rollback", "-t", "europe/staging", answers={prompt: answer})
    assert code == done.code


OVERTAKING = """
import subprocess
from reconciler.state.stores.files import FileStore
append = FileStore.append
def append_late(*arguments):
    FileStore.append = append
    subprocess.run([{executable!r}, *{command!r}.split()])
    append(*arguments)
FileStore.append = append_late
"""


LOSING = """
from reconciler.errors import HeadMoved
from reconciler.state.stores.files import FileStore
def append(self, target, head, seq, lines, note):
    raise HeadMoved("conflict", where=target)
FileStore.append = append
"""


def test_conflicts_without_end(unknown: Partner) -> None:
    """Where other runs are always first, it gives up, and says so."""
    unknown.before_steps = LOSING
    with unknown.appending():
        told = unknown.step("state", "resolve", OFFERS, "--created", code=1).err
    why = "too many conflicts: other runs keep appending to the record; retry later"
    assert told.endswith(f"Error: europe/staging: {why}\n")


def test_who_settles_second_is_told(unknown: Partner) -> None:
    """Where somebody else's word came first, it stands, and nobody is told that theirs was recorded."""
    command = f"state resolve {OFFERS} --created"
    unknown.before_steps = OVERTAKING.format(executable=str(EXECUTABLE), command=command)
    with unknown.appending("resolved"):
        done = unknown.step("state", "resolve", OFFERS, "--not-created", "--force", code=1)
    assert "settled as not created" not in done.out
    assert (
        f"Error: {OFFERS}: conflict: another run already resolved attempt {unknown.attempt()}; its outcome stays; to"
        f" see it, run:\n    reconciler state history {OFFERS}\n"
    ) in done.err
    assert "live" == unknown.listed()[0][1]


def test_what_was_not_shown_is_not_settled(partner: Partner) -> None:
    """A create that a pattern covers, and that began only after it was looked at, stays unknown."""
    partner.begin(early=["ONB10001"], late=["ONB10002"])
    partner.lose_answer("-t", "*/*/early")
    partner.service.answer_next(refusal(500))
    partner.before_steps = OVERTAKING.format(
        executable=str(EXECUTABLE), command="apply --auto-approve -t europe/staging/late"
    )
    with partner.appending("intent", "outcome", "resolved"):
        partner.step("state", "resolve", "europe/*", "--created")
    partner.before_steps = ""
    assert {("early", "live"), ("late", "unknown")} == {(name, status) for name, status, _ in partner.listed()}


def test_two_at_once_lose_nothing(partner: Partner) -> None:
    """Whoever appends second reads again, and appends to what is there then."""
    names = {f"s{number}": [f"ONB1000{number}"] for number in range(5)}
    partner.begin(**names)
    started = [partner.start_step("-q", "state", "import", f"europe/staging/{name}") for name in names]
    for process in started:
        out, err = process.communicate(timeout=60)
        assert (0, b"") == (process.returncode, err), out
    assert ["begun", *["imported"] * 5] == partner.kinds
    assert "valid, 6 entries" in partner.step("state", "verify").out


def test_a_conflict_is_told(partner: Partner) -> None:
    """On 409 the error names what records a subscription that exists already."""
    partner.begin(offers=["ONB10011"])
    partner.service.answer_next(refusal(409))
    done = partner.run_fork("apply", "--auto-approve")
    assert 1 == done.code
    assert f"run:\n      reconciler state import {OFFERS}\n" in done.out
    partner.step("state", "import", OFFERS)
    assert [] == partner.planned()
