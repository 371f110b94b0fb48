"""`github issues`: one issue for each kind of thing that waits, with a life."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.hub import TOKEN

if TYPE_CHECKING:
    from support.hub import Hub
    from support.partner import Partner

ISSUES = ("github", "issues")
UNKNOWN = "Creates with an unknown outcome"
DRIFT = "Subscriptions that differ from the configuration"
RECORD = "State records that cannot be used"
BLIND = "not closed, since the witness could not be read completely"


@pytest.fixture
def watched(partner: Partner, hub: Hub) -> Partner:
    """A partner of whose record and configuration are the same."""
    partner.environment |= hub.environment
    partner.begin(offers=["ONB10011"])
    partner.step("state", "import", "--all")
    return partner


def done(partner: Partner) -> dict[str, str]:
    """What a run has done with each issue; a second one must change nothing."""
    out = partner.step(*ISSUES).out
    again = partner.step(*ISSUES).out
    assert {"none", "unchanged", "not closed, since a record cannot be used", BLIND} >= set(_verbs(again).values()), (
        again
    )
    return _verbs(out)


def _verbs(out: str) -> dict[str, str]:
    return {line.split(": ")[0]: line.split(": ")[1] for line in out.splitlines()}


def test_nothing_to_say(watched: Partner, hub: Hub) -> None:
    """No issue is opened."""
    assert {UNKNOWN: "none", DRIFT: "none", RECORD: "none"} == done(watched)
    assert [] == hub.issues


def test_drift(watched: Partner, hub: Hub) -> None:
    """Changes that are not applied: opened, updated when there are more, closed when there are none."""
    watched.want(offers=["ONB10011"], deals=["ONB10001"])
    assert "opened" == done(watched)[DRIFT]
    assert "europe/staging/deals" in hub.issues[0]["body"]
    watched.want(offers=["ONB10011"], deals=["ONB10001"], loans=["ONB10002"])
    assert "updated" == done(watched)[DRIFT]
    assert "europe/staging/loans" in hub.issues[0]["body"]
    watched.step("state", "import", "--all")
    assert "closed" == done(watched)[DRIFT]
    assert [] == hub.open_issues()
    watched.want(offers=["ONB10011"], deals=["ONB10001"], loans=["ONB10002", "ONB10003"])
    done(watched)
    assert [DRIFT] == hub.open_issues()
    assert 2 == len(hub.issues)


def test_removals(watched: Partner, hub: Hub) -> None:
    """Only those that were requested more than a week ago."""
    watched.want(offers=["ONB10011"], deals=["ONB10001"])
    watched.step("state", "import", "--all")
    watched.want(offers=["ONB10011"])
    watched.step("apply", "--auto-approve")
    assert "none" == done(watched)[DRIFT]
    watched.before_steps = "import time_machine\ntime_machine.travel('2036-01-01', tick=True).start()\n"
    assert "opened" == done(watched)[DRIFT]
    assert "removal requested" in hub.issues[0]["body"].replace("&#32;", " ")


def test_unknown(watched: Partner, hub: Hub) -> None:
    """How to resolve it is in the issue; once it is resolved, the issue is closed."""
    watched.want(offers=["ONB10011"], deals=["ONB10001"])
    watched.lose_answer()
    assert {UNKNOWN: "opened", DRIFT: "none", RECORD: "none"} == done(watched)
    assert "reconciler state resolve europe/staging/deals" in hub.issues[0]["body"].replace("&#45;", "-")
    watched.step("state", "resolve", "europe/staging/deals", "--created", "--force")
    assert "closed" == done(watched)[UNKNOWN]


def test_unknown_of_a_target_that_is_not_declared(watched: Partner, hub: Hub) -> None:
    """Whoever removes a target from config/ closes no issue about it: what may exist there does so all the same."""
    watched.want(offers=["ONB10011"], deals=["ONB10001"])
    watched.lose_answer()
    done(watched)
    urls = "".join(
        f"    {name}: https://api.other.example.test\n" for name in ("auth_url", "base_url", "audience_base")
    )
    for file in (watched.path / "config").iterdir():
        file.unlink()
    for declared in (f"targets:\n  usa/staging:\n{urls}", "targets: {}\n"):
        watched.write("config/all.yaml", declared)
        watched.step("state", "init", code=None)
        assert {UNKNOWN: "unchanged", DRIFT: "none", RECORD: "none"} == done(watched)
    watched.step("state", "resolve", "europe/staging/deals", "--created", "--force")
    assert "closed" == done(watched)[UNKNOWN]


@pytest.mark.parametrize("harm", ["damaged", "missing", "rolled back"])
def test_record(watched: Partner, hub: Hub, harm: str) -> None:
    """While it cannot be used, what was known before is not closed."""
    watched.want(offers=["ONB10011"], deals=["ONB10001"])
    done(watched)
    whole = watched.journal.read_bytes()
    if harm == "damaged":
        watched.journal.write_bytes(whole.replace(b"ONB10011", b"ONB10012"))
    elif harm == "missing":
        watched.journal.unlink()
    else:
        watched.journal.write_bytes(whole.splitlines(keepends=True)[0])
    assert {UNKNOWN: "none", DRIFT: "not closed, since a record cannot be used", RECORD: "opened"} == done(watched)
    watched.journal.write_bytes(whole)
    assert {UNKNOWN: "none", DRIFT: "unchanged", RECORD: "closed"} == done(watched)


@pytest.mark.parametrize("lost", ["/commits", "/statuses"])
def test_record_of_which_only_the_witness_knows_better(watched: Partner, hub: Hub, lost: str) -> None:
    """On a machine that remembers nothing, a rollback that cannot be noticed is not taken for one that is over."""
    watched.environment["RECONCILER_WITNESS"] = "github"
    watched.want(offers=["ONB10011"], deals=["ONB10001"])
    watched.lose_answer()
    done(watched)
    watched.journal.write_bytes(watched.journal.read_bytes().splitlines(keepends=True)[0])
    watched.environment["RECONCILER_CACHE_DIR"] = "fresh"
    assert {UNKNOWN: "not closed, since a record cannot be used", DRIFT: "none", RECORD: "opened"} == done(watched)
    watched.environment["RECONCILER_CACHE_DIR"] = "as-fresh"
    hub.fail("GET", lost, 502)
    assert {UNKNOWN: BLIND, DRIFT: "opened", RECORD: BLIND} == done(watched)
    assert [UNKNOWN, RECORD, DRIFT] == hub.open_issues()


def test_issues_of_others(watched: Partner, hub: Hub) -> None:
    """Whoever copies a title or a marker, in an issue or a pull request, has no part in it."""
    watched.want(offers=["ONB10011"], deals=["ONB10001"])
    done(watched)
    body = hub.issues[0]["body"]
    hub.issues.clear()
    hub.add_issue(body, "mallory", title=DRIFT)
    hub.add_issue(f"see: {body}", title=DRIFT)
    hub.add_issue(body, title=DRIFT, pull_request={})
    hub.add_issue(None)
    for _ in range(120):
        hub.add_issue("of somebody else", "mallory")
    before = [dict(issue) for issue in hub.issues]
    assert "opened" == done(watched)[DRIFT]
    watched.want(offers=["ONB10011"])
    assert "closed" == done(watched)[DRIFT]
    assert before == hub.issues[:-1]


def test_two_that_two_runs_have_opened(watched: Partner, hub: Hub) -> None:
    """The first one stays."""
    watched.want(offers=["ONB10011"], deals=["ONB10001"])
    done(watched)
    hub.add_issue(hub.issues[0]["body"])
    done(watched)
    assert ["open", "closed"] == [issue["state"] for issue in hub.issues]


def test_calls(watched: Partner, hub: Hub) -> None:
    """One for the user, and one for each kind and page of issues."""
    hub.calls.clear()
    watched.step(*ISSUES)
    assert [("POST", "/api/graphql"), *[("GET", "/issues")] * 3] == hub.calls


def test_what_cannot_be_done(watched: Partner, hub: Hub) -> None:
    """Without the permission, with issues disabled, without a configuration: an error, and nothing is changed."""
    watched.want(offers=["ONB10011"], deals=["ONB10001"])
    for status, said in ((403, "check `permissions:` of the job"), (410, "HTTP 410")):
        hub.fail("POST", "/issues", status)
        failed = watched.run(*ISSUES)
        assert (1, True, False) == (failed.code, said in failed.err, TOKEN in failed.err)
        hub.heal()
    watched.write("config/all.yaml", "nonsense: 1\n")
    hub.calls.clear()
    assert 1 == watched.step(*ISSUES, code=1).code
    assert [] == hub.calls


def test_the_witness_is_renewed(watched: Partner, hub: Hub) -> None:
    """What is on older commits, or on none, is set again, so that it does not leave the latest 30."""
    watched.environment["RECONCILER_WITNESS"] = "github"
    watched.step(*ISSUES)
    (text,) = hub.texts()
    assert text.startswith(f"2 entries head {watched.entries[-1]['hash']} record ")
    for commits in (10, 16, 17):
        hub.commits = list(range(3 + commits, 0, -1))
        watched.step(*ISSUES)
    assert [[], [text], []] == [hub.texts(3 + commits) for commits in (10, 16, 17)]
