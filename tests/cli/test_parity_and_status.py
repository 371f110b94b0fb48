"""`parity`, `status` and `state observe` through the executable."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from html import unescape
from typing import TYPE_CHECKING

import pytest

from reconciler.reports.formats import PARITY, STATUS
from reconciler.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.project import Project

CONFIG = """\
targets:
  europe/staging: {auth_url: https://login.example, base_url: https://eu.example}
  europe/production: {auth_url: https://login.example, base_url: https://prod.example}
subscriptions:
  "*/*":
    offers: {eventCodes: [ONB10011], webhookUrl: "https://hooks.partner.example/{environment}/offers"}
"""


@pytest.fixture
def partner(project: Project) -> Iterator[Project]:
    """A project with two targets, a record, and a sandbox to apply to."""
    with Sandbox(targets=["europe/staging", "europe/production"]) as sandbox:
        project.environment |= dict(sandbox.variables())
        project.write("config/all.yaml", CONFIG)
        project.step("state", "init")
        yield project


def received() -> datetime:
    """When a notification is received that follows all that has happened, on a clock that is a little ahead."""
    return (datetime.now(UTC) + timedelta(minutes=1)).replace(microsecond=500_000)


def line(path: str, code: str = "ONB10011", at: datetime | None = None, **more: object) -> str:
    """A captured notification."""
    body = json.dumps({"EventCode": code, "Message": "m", "EventProperties": {}})
    when = (at or received()).astimezone(timezone(timedelta(hours=1))).isoformat()
    return json.dumps({"at": when, "path": path, "body": body, **more}) + "\n"


def test_in_line(partner: Project) -> None:
    """Two targets that desire the same match: 0."""
    done = partner.run_fork("parity", "europe/staging", "europe/production")
    assert (0, "europe/staging and europe/production match.\n") == (done.code, done.out)


def test_the_block_of_exceptions_can_be_pasted(partner: Project) -> None:
    """What differs is in line once the YAML that the text ends with is in `config/`."""
    other = "subscriptions: {europe/staging: {%s: {eventCodes: [ONB10001], webhookUrl: https://x.example}}}\n"
    partner.write("config/one.yaml", other % "deals")
    pair = ("parity", "europe/staging", "europe/production")
    told = partner.step(*pair, code=2).out
    block = told.partition("into a file in config/:\n")[2].partition("\n\n")[0]
    partner.write("config/parity.yaml", f"{block}\n")
    assert partner.step(*pair).out.endswith("match (1 declared exception).\n")
    partner.write("config/one.yaml", other % "loans")
    assert "add this to the list at config/parity.yaml:3:7:" in partner.step(*pair, code=2).out


@pytest.mark.parametrize("form", PARITY)
def test_differ(partner: Project, form: str) -> None:
    """Two that do not are not: 2, and what differs."""
    partner.write("config/more.yaml", "subscriptions: {europe/staging: {offers: {eventCodes: [ONB10011, ONB10012]}}}\n")
    done = partner.run_fork("parity", "europe/staging", "europe/production", "--format", form)
    assert 2 == done.code
    assert "offers" in done.out
    assert "ONB10012" in done.out
    if form == "json":
        assert ["offers"] == [one["name"] for one in done.document["differences"]]


def test_missing_side(partner: Project) -> None:
    """A subscription that only one has is said to be there only, once, whether it is desired or in force as well."""
    partner.step("state", "import", "--all")
    partner.step("state", "removed", "europe/production/offers", "--force")
    partner.write("config/more.yaml", "subscriptions: {europe/production: {offers: null}}\n")
    for form in PARITY.keys() - {"json"}:
        done = partner.run_fork("parity", "europe/staging", "europe/production", "--format", form)
        told = "desired and in force in europe/staging only"
        assert (2, 1) == (done.code, unescape(done.out).count(told))
        assert "europe/staging and europe/production differ in 1 subscription." in unescape(done.out)
    document = partner.step("parity", "europe/staging", "europe/production", "--format", "json", code=None).document
    assert ["desired", "in force"] == [one["what"] for one in document["differences"]]


def test_declared_and_unused(partner: Project) -> None:
    """A declared difference is none; a declaration that nothing needs is a warning with its place."""
    partner.write("config/more.yaml", "subscriptions: {europe/production: {offers: null}}\n")
    partner.write("config/parity.yaml", "parity: {ignore: [{address: offers, reason: not yet}]}\n")
    for form in PARITY:
        done = partner.run_fork("parity", "europe/staging", "europe/production", "--format", form)
        assert (0, True, "") == (done.code, "not yet" in done.out, done.err)
    partner.write("config/more.yaml", "")
    done = partner.step("parity", "europe/staging", "europe/production", code=None)
    assert (0, True) == (done.code, "config/parity.yaml:1:19" in done.err)


def test_gate(partner: Project) -> None:
    """Production may follow once staging has it in force."""
    gate = ("parity", "europe/staging", "europe/production", "--gate")
    done = partner.run_fork(*gate)
    assert (2, True) == (done.code, "desired in europe/production, but not in force in europe/staging" in done.out)
    partner.step("apply", "--auto-approve", "-t", "europe/staging")
    partner.step(*gate, code=0)
    assert f"\n      reconciler {' '.join(gate)}\n" in partner.step("parity", "--help").out


@pytest.mark.parametrize("pair", [("europe/staging", "europe/nowhere"), ("staging", "europe/production")])
def test_unknown_target(partner: Project, pair: tuple[str, str]) -> None:
    """A target that nobody declared is an error that names those there are."""
    done = partner.run_fork("parity", *pair)
    assert (1, "") == (done.code, done.out)
    assert "declared targets: europe/production, europe/staging" in done.err


def test_gate_without_a_record(partner: Project) -> None:
    """A gate cannot be judged without the first one's record; comparing what is desired can."""
    partner.environment["RECONCILER_STATE"] = "elsewhere"
    partner.step("parity", "europe/staging", "europe/production", code=0)
    done = partner.run_fork("parity", "europe/staging", "europe/production", "--gate")
    assert (1, True) == (done.code, "state init" in done.err)


@pytest.mark.parametrize("form", STATUS)
def test_status(partner: Project, form: str) -> None:
    """What is in force is shown with what was heard of it, and what is left to do."""
    partner.step("apply", "--auto-approve", "-t", "europe/staging")
    at = received()
    partner.write("seen.jsonl", line("/staging/offers", at=at))
    observed = partner.step("state", "observe", "seen.jsonl")
    assert f"europe/staging/offers  ONB10011  last {at:%Y-%m-%dT%H:%M:%SZ}" in observed.out
    done = partner.step("status", "--format", form, "--detailed-exitcode", code=None)
    assert (2, True) == (done.code, "proven" in done.out)
    if form == "json":
        staging = done.document["targets"]["europe/staging"]
        heard = {"ONB10011": {"proof": "proven", "at": f"{at:%Y-%m-%dT%H:%M:%SZ}"}}
        assert [("live", heard)] == [(one["status"], one["heard"]) for one in staging["in_force"]]
        assert 1 == done.document["targets"]["europe/production"]["changes"]


@pytest.mark.parametrize("form", STATUS)
def test_status_of_what_waits(partner: Project, form: str) -> None:
    """An unknown outcome whose notifications arrive is suggested as created; a removal comes with its request."""
    partner.environment["RECONCILER_EUROPE_STAGING_BASE_URL"] = "http://127.0.0.1:1"
    partner.step("state", "rebind", "--force")
    partner.environment["RECONCILER_TEST_FAILPOINT"] = "after-append:1:kill"
    partner.step("apply", "--auto-approve", "-t", "europe/staging", code=None)
    del partner.environment["RECONCILER_TEST_FAILPOINT"]
    partner.step("state", "import", "europe/production/offers")
    partner.step("state", "retire", "europe/production/offers")
    assert "check with the operator" in partner.run_fork("status").out
    partner.write("seen.jsonl", line("/staging/offers"))
    partner.step("state", "observe", "seen.jsonl")
    done = partner.step("status", "--format", form, "--detailed-exitcode", code=None)
    assert 3 == done.code
    assert "state resolve europe/staging/offers" in unescape(done.out)
    assert "Please delete the webhook subscription of europe/production" in unescape(done.out)


def test_observed_twice(partner: Project) -> None:
    """The same notifications again add nothing to the record."""
    partner.step("state", "import", "--all")
    partner.write("seen.jsonl", line("/staging/offers"))
    partner.step("state", "observe", "seen.jsonl")
    before = partner.read("state/europe/staging.jsonl")
    partner.step("state", "observe", "seen.jsonl")
    assert before == partner.read("state/europe/staging.jsonl")
    assert "notifications received" in partner.step("state", "history", "europe/staging/offers").out


def test_observed_in_vain(partner: Project) -> None:
    """What no subscription explains is reported; what is no evidence is counted."""
    lines = [
        line("/staging/offers", "ONB10099"),
        line("/staging/offers", verified=False),
        line("/staging/offers").replace("+01:00", ""),
        line("/staging/offers").replace('"at": "20', '"at": "when'),
        json.dumps({"at": "2026-01-31T12:00:00Z", "body": "[]"}) + "\n",
        json.dumps({"at": "2026-01-31T12:00:00Z", "body": "{"}) + "\n",
        *(
            json.dumps({"at": at, "body": '{"EventCode": "ONB10011"}'}) + "\n"
            for at in ("0001-01-01T00:00:00+14:00", "0009-01-01T00:00:00Z", "2026-13-01T00:00:00Z")
        ),
    ]
    partner.write("seen.jsonl", "".join(lines))
    done = partner.step("state", "observe", "seen.jsonl")
    assert "ONB10099 at /staging/offers, once, " in done.out
    assert "an unmanaged subscription exists" in done.out
    assert "ignored 8 lines" in done.err


@pytest.mark.parametrize(
    "at", ["2999-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00", "9999-12-31T23:59:60Z", (6, "minutes from now")]
)
def test_observed_in_the_future(partner: Project, at: str | tuple[int, str]) -> None:
    """What is received more than a few minutes ahead of this machine's clock is counted, and is no evidence."""
    partner.step("state", "import", "--all")
    if not isinstance(at, str):
        at = (datetime.now(UTC) + timedelta(minutes=at[0])).isoformat()
    partner.write("seen.jsonl", json.dumps({**json.loads(line("/staging/offers")), "at": at}) + "\n")
    before = partner.read("state/europe/staging.jsonl")
    done = partner.step("state", "observe", "seen.jsonl")
    assert "No notifications.\n" == done.out
    assert ("Warning: seen.jsonl: ignored 1 line: dated in the future; check the clocks of both machines\n") == done.err
    assert before == partner.read("state/europe/staging.jsonl")


def test_observed_in_a_leap_second(partner: Project) -> None:
    """A leap second is a time like any other."""
    partner.step("state", "import", "--all")
    seen = {**json.loads(line("/staging/offers")), "at": "2016-12-31T23:59:60.5Z"}
    partner.write("seen.jsonl", json.dumps(seen) + "\n")
    assert "ONB10011  last 2016-12-31T23:59:59Z" in partner.step("state", "observe", "seen.jsonl").out


def test_observed_at_the_earliest(partner: Project) -> None:
    """The first second of 1970 counts; what is before has no number."""
    partner.step("state", "import", "--all")
    seen = {**json.loads(line("/staging/offers")), "at": "1970-01-01T00:00:00Z"}
    partner.write("seen.jsonl", json.dumps(seen) + "\n")
    assert "ONB10011  last 1970-01-01T00:00:00Z" in partner.step("state", "observe", "seen.jsonl").out


def test_observed_while_it_is_written(partner: Project) -> None:
    """What follows the last newline is left out, with a warning that names the line; any other line is an error."""
    partner.step("state", "import", "--all")
    partner.write("seen.jsonl", line("/staging/offers") + line("/production/offers")[:-9])
    done = partner.step("state", "observe", "seen.jsonl")
    assert (1, True) == (done.out.count("ONB10011"), done.out.startswith("  europe/staging/offers  ONB10011  last "))
    assert done.err.startswith(
        "Warning: seen.jsonl:2: ignored an incomplete last line: invalid captured request: not a "
    )
    partner.write("seen.jsonl", line("/production/offers")[:-9] + "\n" + line("/staging/offers"))
    done = partner.step("state", "observe", "seen.jsonl", code=None)
    assert (1, "") == (done.code, done.out)
    assert done.err.startswith("Error: seen.jsonl:1: invalid captured request: not a JSON object; ")


def test_ambiguous(partner: Project) -> None:
    """A notification that two subscriptions might explain is no evidence for either."""
    partner.write("config/all.yaml", CONFIG.replace("/{environment}/offers", "/offers"))
    partner.step("state", "import", "--all")
    partner.write("seen.jsonl", line("/offers"))
    done = partner.step("state", "observe", "seen.jsonl")
    assert "it matches several subscriptions: europe/production/offers, europe/staging/offers" in done.out


@pytest.mark.parametrize("place", ["state", "elsewhere"])
def test_nothing_to_observe(partner: Project, place: str) -> None:
    """An empty file says so; without a record there is nothing to note it in."""
    partner.write("seen.jsonl", "")
    done = partner.run_fork("state", "observe", "seen.jsonl", "--state", place)
    assert (0, "No notifications.\n") == (done.code, done.out) if place == "state" else done.code == 1


PATTERNS = ("parity", "*/staging", "*/production")
USA = """\
targets:
  usa/staging: {auth_url: https://login.example, base_url: https://us.example}
"""


@pytest.mark.parametrize("form", PARITY)
def test_patterns(partner: Project, form: str) -> None:
    """Each pair is compared; a target without its counterpart is said, and is a difference."""
    done = partner.step(*PATTERNS, "--format", form)
    partner.write("config/usa.yaml", USA)
    done = partner.step(*PATTERNS, "--format", form, code=2)
    if form == "json":
        assert [("europe/staging", True)] == [(one["a"], one["in_line"]) for one in done.document["pairs"]]
        assert [{"target": "usa/staging", "counterpart": "usa/production"}] == done.document["unpaired"]
        assert done.document["in_line"] is False
    else:
        told = unescape(done.out)
        assert "europe/staging and europe/production match." in told
        assert "usa/staging has no counterpart: usa/production is not declared" in told
        assert "1 of 1 pair matches, 1 target has no counterpart." in told


def test_patterns_at_a_gate(partner: Project) -> None:
    """A target that nothing follows stops nothing; one that follows nothing does."""
    partner.step("apply", "--auto-approve", "-t", "europe/staging")
    partner.write("config/usa.yaml", USA)
    done = partner.step(*PATTERNS, "--gate")
    assert "usa/staging has no counterpart" in done.out
    partner.write("config/usa.yaml", USA.replace("usa/staging", "usa/production"))
    done = partner.step(*PATTERNS, "--gate", code=2)
    assert "usa/production has no counterpart: usa/staging is not declared" in done.out


def test_an_exception_that_one_pair_needs_is_used(partner: Project) -> None:
    """It is called unused only where no pair needs it."""
    other = USA.partition("\n")[2].replace("usa/staging", "usa/production").replace("us.example", "usa.example")
    partner.write("config/usa.yaml", USA + other)
    partner.write("config/parity.yaml", "parity: {ignore: [{address: offers, reason: not yet}]}\n")
    assert "unused parity exception for offers" in partner.step(*PATTERNS).err
    partner.write("config/more.yaml", "subscriptions: {europe/production: {offers: null}}\n")
    assert "" == partner.step(*PATTERNS).err


def test_proven(partner: Project) -> None:
    """Production may follow once each code was observed in staging, and if asked for, long enough ago."""
    pair = ("parity", "europe/staging", "europe/production")
    partner.step("apply", "--auto-approve", "-t", "europe/staging")
    partner.step(*pair, "--gate")
    done = partner.step(*pair, "--proven", code=2)
    assert "offers  desired in europe/production, but not yet proven in europe/staging" in done.out
    assert "- ONB10011: never observed" in done.out
    assert "parity:" not in done.out  # no advice to declare it an intended difference
    partner.write("seen.jsonl", line("/staging/offers"))
    partner.step("state", "observe", "seen.jsonl")
    partner.step(*pair, "--proven")
    partner.step(*PATTERNS, "--proven")
    done = partner.step(*pair, "--proven", "--soak", "24h", "--format", "json", code=2)
    (difference,) = done.document["differences"]
    assert ("offers", "desired but not proven") == (difference["name"], difference["what"])
    assert ["ONB10011"] == list(difference["unproven"])
    assert difference["unproven"]["ONB10011"] is not None


@pytest.mark.parametrize("soak", ["", "24", "h", "0h", "1w", "-1h", "1.5h", "1h30m"])
def test_what_is_no_duration(partner: Project, soak: str) -> None:
    """Is named, with examples."""
    done = partner.step(*PATTERNS, "--proven", "--soak", soak, code=1)
    assert "expected a whole number and s, m, h or d, for example 90s, 30m, 24h or 7d" in " ".join(done.err.split())


def test_soak_alone(partner: Project) -> None:
    """How long something must be proven says nothing where nothing must be."""
    assert "--soak needs --proven" in partner.step(*PATTERNS, "--gate", "--soak", "1h", code=1).err
