"""`github comment`: one comment on a pull request, whoever else writes there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.hub import TOKEN, commit_id

if TYPE_CHECKING:
    from support.hub import Hub
    from support.partner import Partner
    from support.project import Finished

COMMENT = ("github", "comment")


@pytest.fixture
def pulled(partner: Partner, hub: Hub) -> Partner:
    """A partner in a run about pull request 5, whose latest commit is the third, with one create to plan."""
    event = {"number": 5, "pull_request": {"number": 5, "head": {"sha": commit_id(3)}}}
    partner.environment |= {
        **hub.environment,
        "GITHUB_REF": "refs/pull/5/merge",
        "GITHUB_SHA": commit_id(99),
        "GITHUB_EVENT_PATH": str(partner.write("event.json", json.dumps(event))),
    }
    partner.begin(offers=["ONB10011"])
    return partner


def bodies(hub: Hub) -> list[str]:
    """The texts of the comments."""
    return [comment["body"] for comment in hub.comments]


def test_one_comment(pulled: Partner, hub: Hub) -> None:
    """It is created, and updated by later runs; it names the commit and the run."""
    assert pulled.succeed(*COMMENT).out.startswith("comment created: https://github.example/")
    (first,) = bodies(hub)
    assert commit_id(3) in first
    assert "](https://github.example/lender/subscriptions/actions/runs/7)" in first
    assert "Plan: 1 create call" in first
    assert pulled.step(*COMMENT).out.startswith("comment unchanged: ")
    pulled.environment["GITHUB_RUN_ID"] = "8"
    pulled.want(offers=["ONB10011"], deals=["ONB10001"])
    assert pulled.step(*COMMENT).out.startswith("comment updated: ")
    (second,) = bodies(hub)
    assert "europe&#47;" not in second
    assert "/actions/runs/8)" in second
    assert "Plan: 2 create calls" in second


def test_a_page_in_the_artifact(pulled: Partner, hub: Hub) -> None:
    """It is named where the run has one, and not beside what is wrong."""
    line = (
        "The plan as a page: plan.html in"
        " [the run](https://github.example/lender/subscriptions/actions/runs/7)'s artifact.\n\n"
    )
    pulled.step(*COMMENT, "--page")
    pulled.write("config/wrong.yaml", "wrong\n")
    assert line in bodies(hub)[0]
    assert 1 == pulled.run(*COMMENT, "--page").code
    assert "plan.html" not in bodies(hub)[0]


def test_calls(pulled: Partner, hub: Hub) -> None:
    """The pull request, the user, the comments, and one that writes."""
    pulled.step(*COMMENT)
    expected = ["GET /pulls/5", "POST /api/graphql", "GET /issues/5/comments", "POST /issues/5/comments"]
    assert expected == [" ".join(call) for call in hub.calls]


def test_an_older_run_changes_nothing(pulled: Partner, hub: Hub) -> None:
    """Nor does one of a commit that is not the latest any more, or an earlier attempt."""
    pulled.environment["GITHUB_RUN_ATTEMPT"] = "3"
    pulled.step(*COMMENT)
    before = bodies(hub)
    for run, attempt in (("6", "9"), ("7", "2")):
        pulled.environment |= {"GITHUB_RUN_ID": run, "GITHUB_RUN_ATTEMPT": attempt}
        assert pulled.step(*COMMENT).out.startswith("comment not changed: a later run has written it: ")
    pulled.environment["GITHUB_RUN_ID"] = "8"
    hub.pull_head = commit_id(4)
    assert "comment not changed: the pull request has a newer commit\n" == pulled.step(*COMMENT).out
    assert before == bodies(hub)


def test_comments_of_others(pulled: Partner, hub: Hub) -> None:
    """A marker that somebody else has copied, or that is not at the beginning, is none, on whichever page it is."""
    pulled.step(*COMMENT)
    (ours,) = hub.comments
    for number in range(150):
        hub.say(f"comment {number}")
    hub.say(ours["body"].replace("run 7", "run 999"), login="mallory", kind="User")
    hub.say(ours["body"].replace("run 7", "run 999"), login="another[bot]")
    hub.say(f"> {ours['body'].replace('run 7', 'run 999')}")
    hub.say(ours["body"].replace("run 7", "run 999").replace(" -->", " --> more", 1))
    hub.say(ours["body"].replace("run 7", "run 999").replace(" -->", "\n -->", 1))
    hub.comments.append(hub.comments.pop(0))
    before = bodies(hub)
    pulled.environment["GITHUB_RUN_ID"] = "8"
    assert pulled.step(*COMMENT).out.startswith("comment updated: ")
    assert before[:-1] == bodies(hub)[:-1]
    assert "/actions/runs/8)" in bodies(hub)[-1]


def test_two_that_two_runs_have_created(pulled: Partner, hub: Hub) -> None:
    """One stays."""
    pulled.step(*COMMENT)
    hub.say(hub.comments[0]["body"])
    pulled.step(*COMMENT)
    assert 1 == len(hub.comments)


def test_one_that_claims_a_later_run(pulled: Partner, hub: Hub) -> None:
    """Another workflow of the repository is the same user: its comment stops updates, but deletes none."""
    pulled.step(*COMMENT)
    hub.say(hub.comments[0]["body"].replace("run 7", "run 999"))
    before = bodies(hub)
    pulled.environment["GITHUB_RUN_ID"] = "8"
    assert pulled.step(*COMMENT).out.startswith("comment not changed: a later run has written it: ")
    assert before == bodies(hub)


def test_a_user_of_another_name(pulled: Partner, hub: Hub) -> None:
    """The token of an application writes as another bot, and finds that again."""
    hub.login = "deployer[bot]"
    pulled.step(*COMMENT)
    pulled.environment["GITHUB_RUN_ID"] = "8"
    assert pulled.step(*COMMENT).out.startswith("comment updated: ")
    hub.fail("POST", "graphql", 403)
    hub.comments[0]["user"]["login"] = "github-actions[bot]"
    assert pulled.step(*COMMENT).out.startswith("comment unchanged: ")


def test_each_selection_has_one(pulled: Partner, hub: Hub) -> None:
    """Steps for different targets do not replace each other's."""
    pulled.step(*COMMENT)
    pulled.step(*COMMENT, "-t", "europe/*")
    assert 2 == len(hub.comments)


class TestWhen:
    """`--when`, and what it takes for a comment."""

    def test_changes_only(self, pulled: Partner, hub: Hub) -> None:
        """None without changes; but one that exists must not stay as it is."""
        pulled.step("state", "import", "--all")
        assert "no comment: no changes\n" == pulled.step(*COMMENT, "--when", "changes-only").out
        pulled.want(offers=["ONB10011"], deals=["ONB10001"])
        pulled.step(*COMMENT, "--when", "changes-only")
        pulled.want(offers=["ONB10011"])
        assert pulled.step(*COMMENT, "--when", "changes-only").out.startswith("comment updated")
        assert "No changes." in bodies(hub)[0]

    def test_never(self, pulled: Partner, hub: Hub) -> None:
        """Nobody is called."""
        hub.calls.clear()
        pulled.step(*COMMENT, "--when", "never")
        assert [] == hub.calls

    def test_no_pull_request(self, pulled: Partner) -> None:
        """A run of a branch must say which one."""
        pulled.environment |= {"GITHUB_REF": "refs/heads/main", "GITHUB_EVENT_PATH": ""}
        assert "this run is not about a pull request; use --pull-request N" in pulled.step(*COMMENT, code=1).err
        pulled.environment["GITHUB_SHA"] = commit_id(3)
        pulled.step(*COMMENT, "--pull-request", "5")


class TestNoPlan:
    """What the comment shows instead of a plan."""

    def test_mistakes(self, pulled: Partner, hub: Hub) -> None:
        """Every mistake, as text, whatever it quotes; the exit code is that of a plan."""
        text = pulled.read("config/all.yaml")
        pulled.write("config/all.yaml", text.replace("ONB10011", "'@everyone #1 ![x](http://x)'") + "nonsense: 1\n")
        done = pulled.run(*COMMENT)
        assert 1 == done.code
        (body,) = bodies(hub)
        assert "No plan: the configuration has 2 mistakes" in body
        assert 2 == body.count("config/all&#46;yaml&#58;")
        assert "@everyone" not in body
        assert "![" not in body

    def test_a_record_that_is_missing(self, pulled: Partner, hub: Hub) -> None:
        """The error, in the comment and on stderr."""
        pulled.journal.unlink()
        done = pulled.run(*COMMENT, "--cache-dir", "other")
        assert (1, True) == (done.code, "no state record for europe/staging" in done.err)
        assert "### No plan\n" in bodies(hub)[0]


def refused(done: Finished, what: str) -> None:
    """The error is one line that names the permission, and never the token."""
    assert 1 == done.code
    assert what in done.err
    assert TOKEN not in done.err + done.out
    assert "\n" not in done.err.strip()


@pytest.mark.parametrize("status", [403, 404])
def test_a_fork(pulled: Partner, hub: Hub, status: int) -> None:
    """Its token may not comment."""
    hub.fail("POST", "/comments", status)
    refused(
        pulled.run(*COMMENT), "check `permissions:` of the job; the token of a pull request from a fork may only read"
    )


def test_a_limit_of_the_rate(pulled: Partner, hub: Hub) -> None:
    """It is waited for, unless that takes too long."""
    hub.fail("POST", "/comments", 403, times=1, retry_after="0")
    pulled.step(*COMMENT)
    assert 1 == len(hub.comments)
    hub.fail("GET", "/comments", 429, retry_after="86400")
    refused(pulled.step(*COMMENT, code=1), "the limit of calls is reached; retry later")


def test_a_large_plan(pulled: Partner, hub: Hub) -> None:
    """The comment has as many lines as fit, and says so."""
    pulled.want(**{f"s{number}": [f"ONB{number:05}"] for number in range(600)})
    pulled.step(*COMMENT)
    (body,) = bodies(hub)
    assert 60_000 < len(body) <= 65_536
    assert "lines omitted: the comment would be too long." in body


def test_many_mistakes(pulled: Partner, hub: Hub) -> None:
    """Likewise."""
    pulled.want(**{f"s{number}": ["wrong"] for number in range(900)})
    pulled.step(*COMMENT, code=1)
    assert len(bodies(hub)[0]) <= 65_536
