"""The witness: what a machine that remembers nothing notices, what it costs, and what a forger can do."""

from __future__ import annotations

import re
import signal
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.hub import REPOSITORY, TOKEN, commit_id
from support.lending_service import refusal
from support.project import finish

if TYPE_CHECKING:
    from support.hub import Hub
    from support.partner import Partner
    from support.project import Finished

TARGET = "europe/staging"
RUNNERS = count(1)
ACCEPT = ("state", "accept-rollback", "-t", TARGET, "--force")


def fresh() -> str:
    """A cache directory that a fresh runner has."""
    return f"--cache-dir=../runner-{next(RUNNERS)}"


@pytest.fixture
def witnessed(partner: Partner, hub: Hub) -> Partner:
    """A partner with a record and a witness of it."""
    partner.environment |= {"RECONCILER_WITNESS": "github", **hub.environment}
    partner.begin(offers=["ONB10011"])
    return partner


def imported(partner: Partner, *names: str) -> bytes:
    """Have one append record subscriptions with these names; the journal then."""
    partner.want(**{name: [f"ONB{number:05}"] for number, name in enumerate(names, 10001)})
    partner.step("state", "import", "--all", fresh())
    return partner.journal.read_bytes()


def refused(done: Finished) -> str:
    """What is said of a record that is not the latest, with how to go on if it is lost for good."""
    assert 1 == done.code, done
    assert f"state accept-rollback -t {TARGET}\n" in done.err
    return done.err


class TestTold:
    """What an append leaves behind."""

    def test_after_an_apply(self, witnessed: Partner, hub: Hub) -> None:
        """A status on the latest commit says how many entries there are, and the head, and links to the run."""
        done = witnessed.run("apply", "--auto-approve")
        assert (0, "") == (done.code, done.err)
        last = witnessed.entries[-1]
        (_, latest) = hub.texts()
        assert latest.startswith(
            f"{last['seq']} entries head {last['hash']} record {witnessed.entries[0]['record']} at "
        )
        (status, _) = hub.statuses[commit_id(3)]
        assert "success" == status["state"]
        assert f"reconciler/{TARGET}" == status["context"]
        assert f"https://github.example/{REPOSITORY}/actions/runs/7" == status["target_url"]

    def test_only_what_was_appended(self, witnessed: Partner, hub: Hub) -> None:
        """A plan tells nothing, nor does a command that changes nothing."""
        before = hub.texts()
        witnessed.step("plan", fresh())
        witnessed.step("state", "init", fresh())
        assert before == hub.texts()

    def test_calls_of_a_plan(self, witnessed: Partner, hub: Hub) -> None:
        """One for the commits, and one for each of the latest 30 that has a status, and for the latest of all."""
        hub.commits = list(range(40, 0, -1))
        for commit in (39, 20, 11, 10, 9):
            hub.statuses[commit_id(commit)] = []
            hub.forge(f"{TARGET}/{commit}", "built", commit)
        hub.statuses[commit_id(38)] = []
        hub.calls.clear()
        witnessed.step("plan", fresh())
        read = [f"/commits/{commit_id(commit)}/statuses" for commit in (40, 39, 20, 11)]
        assert [("POST", "/api/graphql"), *(("GET", path) for path in read)] == sorted(hub.calls, reverse=True)

    @pytest.mark.parametrize("status", [200, 401, 403, 404, 502])
    def test_calls_without_queries(self, witnessed: Partner, hub: Hub, status: int) -> None:
        """Where a server or a token answers no query, each of the latest 30 commits is read."""
        hub.commits = list(range(40, 0, -1))
        hub.calls.clear()
        hub.fail("POST", "/graphql", status)
        assert "" == witnessed.step("plan", fresh()).err
        assert 31 == len(hub.called("GET"))

    def test_a_part_of_an_answer(self, witnessed: Partner, hub: Hub) -> None:
        """A status that the token may not read is answered like none, with an error beside it: that is no answer."""
        whole = imported(witnessed, "offers", "deals")
        hub.commits.insert(0, 4)
        hub.errors = [{"type": "FORBIDDEN", "message": "Resource not accessible by integration"}]
        witnessed.journal.write_bytes(whole.splitlines(keepends=True)[0])
        refused(witnessed.step("plan", fresh(), code=1))

    def test_a_later_status_hides_nothing(self, witnessed: Partner, hub: Hub) -> None:
        """Of all statuses of a target on a commit the highest counts, whichever is the latest."""
        whole = imported(witnessed, "offers", "deals")
        early = hub.texts()[0]
        hub.forge(TARGET, early)
        hub.commits.insert(0, 4)
        hub.forge(TARGET, early, 4)
        witnessed.journal.write_bytes(whole.splitlines(keepends=True)[0])
        refused(witnessed.step("plan", fresh(), code=1))

    def test_all_pages(self, witnessed: Partner, hub: Hub) -> None:
        """Other statuses of a commit do not hide those that count."""
        whole = imported(witnessed, "offers", "deals")
        for number in range(250):
            hub.forge(f"{TARGET}/{number}", "built")
        witnessed.journal.write_bytes(whole.splitlines(keepends=True)[0])
        refused(witnessed.step("plan", fresh(), code=1))


class TestNoticed:
    """A record that is not the latest, read from an empty cache."""

    def test_rolled_back(self, witnessed: Partner) -> None:
        """The error tells which entries are missing and who has seen them; nothing is sent."""
        before = witnessed.journal.read_bytes()
        imported(witnessed, "offers", "deals")
        witnessed.journal.write_bytes(before)
        for command in (["plan"], ["apply", "--auto-approve"], ["state", "list"], ["state", "verify"], ["status"]):
            err = refused(witnessed.run(*command, fresh()))
            assert f"the last 2 of 3 entries are missing, last seen by a status of commit {commit_id(3)[:10]}" in err
        assert witnessed.service.untouched

    def test_another_history(self, witnessed: Partner) -> None:
        """The same number of entries, of which one is another."""
        before = witnessed.journal.read_bytes()
        imported(witnessed, "offers")
        witnessed.journal.write_bytes(before)
        witnessed.environment.pop("RECONCILER_WITNESS")
        imported(witnessed, "deals")
        witnessed.environment["RECONCILER_WITNESS"] = "github"
        assert "entry 2 differs from the one last seen by a status of " in refused(
            witnessed.step("plan", fresh(), code=1)
        )

    def test_a_second_record(self, witnessed: Partner) -> None:
        """A record that somebody without the witness has begun in the place of another."""
        imported(witnessed, "offers")
        witnessed.journal.unlink()
        witnessed.environment.pop("RECONCILER_WITNESS")
        witnessed.step("state", "init", fresh())
        witnessed.environment["RECONCILER_WITNESS"] = "github"
        assert "was replaced: expected record " in refused(witnessed.step("plan", fresh(), code=1))

    def test_none(self, witnessed: Partner) -> None:
        """A record that is gone; with the witness, no new one is begun."""
        imported(witnessed, "offers")
        witnessed.journal.unlink()
        err = refused(witnessed.step("plan", fresh(), code=1))
        assert f"the state record of {TARGET} is missing: it was last seen by a status of commit " in err
        refused(witnessed.step("state", "init", fresh(), code=1))
        assert not witnessed.journal.exists()

    def test_another_store(self, witnessed: Partner) -> None:
        """A record in another store is another record; that one was seen elsewhere is told."""
        imported(witnessed, "offers")
        done = witnessed.step("plan", "--state", "other", fresh(), code=None)
        assert "was last seen in another store by a status of commit" in done.err
        witnessed.step("state", "init", "--state", "other", fresh())
        witnessed.step("plan", "--state", "other", fresh())
        witnessed.step("plan", fresh())


class TestAccepted:
    """A loss that a person has accepted."""

    def test_rolled_back(self, witnessed: Partner) -> None:
        """The record says what was lost, so every machine goes on, and what is lost later is noticed again."""
        before = imported(witnessed, "offers")
        imported(witnessed, "offers", "deals")
        imported(witnessed, "offers", "deals", "loans")
        witnessed.journal.write_bytes(before)
        with witnessed.appending("rollback", "rollback"):
            assert f"  {TARGET}: accepted\n" == witnessed.step(*ACCEPT, fresh()).out
        witnessed.step("plan", fresh())
        accepted = witnessed.journal.read_bytes()
        imported(witnessed, "offers", "loans")
        witnessed.journal.write_bytes(accepted)
        refused(witnessed.step("plan", fresh(), code=1))

    def test_gone(self, witnessed: Partner) -> None:
        """A new record begins, which accepts all that the witness has seen of the other."""
        imported(witnessed, "offers")
        witnessed.journal.unlink()
        witnessed.step(*ACCEPT, fresh())
        assert ["begun", "rollback", "rollback"] == witnessed.kinds
        witnessed.step("plan", fresh())

    def test_what_this_machine_has_seen_too_is_accepted_once(self, witnessed: Partner) -> None:
        """One entry for each head."""
        before = witnessed.journal.read_bytes()
        imported(witnessed, "offers")
        witnessed.journal.write_bytes(before)
        with witnessed.appending("rollback"):
            witnessed.step(*ACCEPT)


@pytest.mark.parametrize("diverged", [False, True])
def test_recovered(witnessed: Partner, diverged: bool) -> None:
    """Lines that were lost and found again: as they were, or merged into a record that went on without them."""
    before = imported(witnessed, "offers")
    imported(witnessed, "offers", "deals")
    newer = witnessed.write("newer.jsonl", imported(witnessed, "offers", "deals", "loans"))
    witnessed.journal.write_bytes(before)
    if diverged:
        witnessed.environment.pop("RECONCILER_WITNESS")
        imported(witnessed, "offers", "leads")
        witnessed.environment["RECONCILER_WITNESS"] = "github"
    refused(witnessed.step("plan", fresh(), code=1))
    witnessed.step("state", "recover", newer, fresh())
    witnessed.step("plan", fresh())


def test_copied_to_another_store(witnessed: Partner) -> None:
    """The record goes on there; taken back as it was before, it is missing what was written since."""
    before = imported(witnessed, "offers")
    witnessed.step("state", "copy", "state", "other", fresh())
    witnessed.step("plan", "--state", "other", fresh())
    assert "is closed here: it was copied to other" in witnessed.step("plan", fresh(), code=1).err
    witnessed.journal.write_bytes(before)
    assert "was rolled back: the last " in refused(witnessed.step("plan", fresh(), code=1))


class TestForged:
    """Statuses that somebody has written who may."""

    HEAD = "5" * 64

    def text(self, partner: Partner, hub: Hub, entries: int, head: str, record: str | None = None) -> str:
        """A status as ours, of these."""
        store = hub.texts()[0].rpartition(" ")[2]
        return f"{entries} entries head {head} record {record or partner.entries[0]['record']} at {store}"

    @pytest.mark.parametrize("record", [None, "c0ffee00" * 4])
    def test_it_stops_the_program(self, witnessed: Partner, hub: Hub, record: str | None) -> None:
        """As a rollback would, until a person has looked; the error says which status it is."""
        hub.forge(TARGET, self.text(witnessed, hub, 9, self.HEAD, record), commit=2)
        assert f"a status of commit {commit_id(2)[:10]} in {REPOSITORY}" in refused(
            witnessed.step("plan", fresh(), code=1)
        )
        witnessed.step(*ACCEPT, fresh())
        witnessed.step("plan", fresh())

    def test_it_hides_nothing(self, witnessed: Partner, hub: Hub) -> None:
        """However many say that the record is as short as somebody has made it."""
        before = witnessed.journal.read_bytes()
        short = hub.texts()[-1]
        imported(witnessed, "offers")
        for _ in range(150):
            hub.forge(TARGET, short)
        witnessed.journal.write_bytes(before)
        refused(witnessed.step("plan", fresh(), code=1))

    def test_a_line_that_is_there_may_be_accepted(self, witnessed: Partner, hub: Hub) -> None:
        """Whoever loses the line, after a wrong status was believed, loses the entry that accepts it too."""
        before = witnessed.journal.read_bytes()
        imported(witnessed, "offers")
        hub.forge(TARGET, self.text(witnessed, hub, 7, witnessed.entries[1]["hash"]))
        refused(witnessed.step("plan", fresh(), code=1))
        witnessed.step(*ACCEPT, fresh())
        witnessed.journal.write_bytes(before)
        refused(witnessed.step("plan", fresh(), code=1))

    @pytest.mark.parametrize(
        "text",
        [
            None,
            7,
            "",
            "built",
            "0 entries head " + HEAD,
            "1" * 4000,
            ["a"],
            f"1 entry head {HEAD} record ../../x at 00000000",
        ],
    )
    def test_what_is_no_head_is_ignored(self, witnessed: Partner, hub: Hub, text: object) -> None:
        """Whatever it is, and whatever it is about."""
        hub.forge(TARGET, text)
        hub.forge("../../etc/passwd", hub.texts()[0])
        assert "" == witnessed.step("plan", fresh()).err

    def test_another_target(self, witnessed: Partner, hub: Hub) -> None:
        """One that nobody declares, said to have had a record here, stops creates until a person has looked."""
        hub.forge("usa/production", self.text(witnessed, hub, 9, self.HEAD, "c0ffee00" * 4))
        done = witnessed.run("plan", fresh())
        assert 1 == done.code
        assert "state accept-rollback -t usa/production" in done.err


class TestUnavailable:
    """GitHub that does not answer as it should."""

    @pytest.mark.parametrize("status", [401, 403, 404, 409, 429, 500])
    @pytest.mark.parametrize("path", ["/commits", "/statuses"])
    def test_reading(self, witnessed: Partner, hub: Hub, status: int, path: str) -> None:
        """A warning, once, and a plan as without a witness; the token is never shown."""
        hub.fail("GET", path, status, retry_after="3600")
        done = witnessed.step("plan", fresh())
        assert 1 == done.err.count("Warning: the witness could not be read completely: GitHub: GET /"), done.err
        assert f"HTTP {status}" in done.err
        assert TOKEN not in done.err

    @pytest.mark.parametrize("status", [401, 403, 404, 422, 500])
    def test_telling(self, witnessed: Partner, hub: Hub, status: int) -> None:
        """A warning; what was applied is recorded, and the exit code says so."""
        hub.fail("POST", "/statuses", status)
        done = witnessed.step("apply", "--auto-approve")
        assert "created" == witnessed.entries[-1]["outcome"]
        assert "Warning: the witness could not record this run: GitHub: POST /" in done.err
        assert TOKEN not in done.err

    @pytest.mark.parametrize("path", ["/commits", "/statuses"])
    def test_an_answer_of_another_shape(self, witnessed: Partner, hub: Hub, path: str) -> None:
        """It counts as none, whatever a server that is no GitHub answers."""
        hub.fail("GET", path, 200)
        assert "Warning: the witness could not be read completely: GitHub" in witnessed.step("plan", fresh()).err

    def test_the_token_is_in_no_log(self, witnessed: Partner) -> None:
        """However much is logged."""
        done = witnessed.run("-vv", "apply", "--auto-approve", fresh())
        assert (0, False) == (done.code, TOKEN in done.out + done.err)

    def test_it_hangs(self, witnessed: Partner, hub: Hub) -> None:
        """The outcome is recorded before anything is said to GitHub, and the run ends nevertheless."""
        hub.hang("POST", "/statuses")
        done = witnessed.run("apply", "--auto-approve")
        assert 0 == done.code
        assert "Warning: the witness could not record this run: GitHub: no answer within 10 s" in done.err
        assert "1 created." in done.out

    @pytest.mark.parametrize("name", ["GITHUB_TOKEN", "GITHUB_REPOSITORY"])
    def test_what_it_takes_is_not_set(self, witnessed: Partner, name: str) -> None:
        """It is off, with a warning that names the variable."""
        witnessed.environment.pop(name)
        assert f"Warning: the witness is not used: {name}: " in witnessed.step("plan", fresh()).err

    def test_a_witness_that_does_not_exist(self, witnessed: Partner) -> None:
        """A setting that is wrong is an error."""
        witnessed.environment["RECONCILER_WITNESS"] = "gitlab"
        done = witnessed.run("plan")
        assert (1, True) == (done.code, "RECONCILER_WITNESS: unknown witness 'gitlab'" in done.err)

    def test_interrupted(self, witnessed: Partner, hub: Hub) -> None:
        """The exit code is that of the signal, and the witness is told in the time that is left."""
        witnessed.want(offers=["ONB10011"], deals=["ONB10001"])
        waiting = witnessed.service.hang
        witnessed.service.answer_next(waiting)
        process = witnessed.start("apply", "--auto-approve", "--timeout", "3")
        assert witnessed.service.hanging.wait(60)
        process.send_signal(signal.SIGINT)
        assert 130 == finish(process).code
        assert hub.texts()[-1].startswith(f"{len(witnessed.entries)} entries head {witnessed.entries[-1]['hash']} ")

    def test_after_a_failure(self, witnessed: Partner, hub: Hub) -> None:
        """A run that ends with an error has appended nevertheless."""
        witnessed.service.answer_next(refusal(500))
        assert 3 == witnessed.run("apply", "--auto-approve").code
        assert hub.texts()[-1].startswith(f"{len(witnessed.entries)} entries head ")


STEPS = st.lists(st.tuples(st.sampled_from(["append", "accept", "push"]), st.integers(1, 3)), min_size=1, max_size=5)


@given(steps=STEPS, choice=st.integers(0, 1000), other=st.booleans())
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_rollback_is_noticed_from_an_empty_cache(
    witnessed: Partner, hub: Hub, steps: list[tuple[str, int]], choice: int, other: bool
) -> None:
    """Whatever was appended, accepted and committed before, and whichever earlier record, or other one, is there."""
    hub.statuses.clear()
    hub.commits = [3, 2, 1]
    witnessed.journal.unlink()
    witnessed.step("state", "init", fresh())
    names: list[str] = []
    for kind, number in steps:
        lines = witnessed.journal.read_bytes().splitlines(keepends=True)
        if kind == "append":
            names += [f"s{len(names) + new}" for new in range(number)]
            imported(witnessed, *names)
        elif kind == "accept" and len(lines) > 1:
            witnessed.journal.write_bytes(b"".join(lines[: max(1, len(lines) - number)]))
            witnessed.step(*ACCEPT, fresh())
        else:
            hub.commits.insert(0, hub.commits[0] + 1)
    assert 0 == witnessed.step("plan", fresh(), code=None).code
    lines = witnessed.journal.read_bytes().splitlines(keepends=True)
    if other:
        witnessed.journal.unlink()
        witnessed.environment.pop("RECONCILER_WITNESS")
        witnessed.step("state", "init", fresh())
        witnessed.environment["RECONCILER_WITNESS"] = "github"
    elif len(lines) > 1:
        witnessed.journal.write_bytes(b"".join(lines[: 1 + choice % (len(lines) - 1)]))
    else:
        return
    done = witnessed.step("plan", fresh(), code=1)
    assert re.search(r"was rolled back: |was replaced: expected record ", refused(done))


def test_a_plan_without_a_witness_calls_nobody(partner: Partner, hub: Hub) -> None:
    """In a job, too: it is a setting."""
    partner.environment |= hub.environment
    partner.begin(offers=["ONB10011"])
    partner.succeed("plan", fresh())
    assert [] == hub.calls
    assert not list(Path(partner.path).glob("*witness*"))
