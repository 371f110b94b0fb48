"""The commands that begin the state record and read it: init, list, show, history, verify."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reconciler.reports.formats import LIST

if TYPE_CHECKING:
    from support.partner import Partner

OFFERS = "europe/staging/offers"


@pytest.fixture
def imported(partner: Partner) -> Partner:
    """A partner whose record holds one subscription that was created by hand."""
    partner.begin(offers=["ONB10011"])
    partner.step("state", "import", "--all")
    return partner


class TestInit:
    """A journal for each target that has none."""

    def test_it_begins_a_journal(self, partner: Partner) -> None:
        """And says, on stderr, what to do about subscriptions made by hand; a second time it does nothing."""
        partner.want(offers=["ONB10011"])
        first = partner.step("state", "init")
        assert f"  europe/staging: initialized for the service at {partner.service.base_url}\n" == first.out
        assert "reconciler state import --all" in first.err
        (entry,) = partner.entries
        assert ("begun", "europe/staging", partner.service.base_url) == (
            entry["kind"], entry["target"], entry["base_url"],
        )  # fmt: skip
        with partner.appending():
            again = partner.step("state", "init")
        assert ("  europe/staging: already initialized\n", "") == (again.out, again.err)

    def test_the_record_of_another_service(self, partner: Partner) -> None:
        """That of a sandbox is not taken for that of the service: the way out is another place, not a rebind."""
        partner.begin(offers=["ONB10011"])
        partner.environment["RECONCILER_EUROPE_STAGING_BASE_URL"] = "https://api.service.example"
        with partner.appending():
            again = partner.step("state", "init")
        assert "  europe/staging: already initialized\n" == again.out
        shown, planned = (" ".join(text.split()) for text in (again.err, partner.step("plan").err))
        for warning in (shown, planned):
            assert f"the record belongs to the service at {partner.service.base_url}" in warning
            assert (
                0
                < warning.index("this record is a sandbox's: use another place, with --state")
                < warning.index("state rebind")
            )

    def test_only_what_is_selected(self, partner: Partner) -> None:
        """`-t` takes patterns of targets."""
        partner.want(offers=["ONB10011"])
        partner.write(
            "config/usa.yaml", "targets:\n  usa/x: {auth_url: https://a.example, base_url: https://b.example}\n"
        )
        partner.step("state", "init", "-t", "usa/*")
        assert ["usa/x.jsonl"] == [
            str(path.relative_to(partner.path / "state")) for path in partner.path.rglob("*.jsonl")
        ]

    def test_on_a_runner_it_wants_force(self, partner: Partner) -> None:
        """A runner's disk dies with the job."""
        partner.want(offers=["ONB10011"])
        partner.environment["CI"] = "true"
        done = partner.run_fork("state", "init")
        assert (1, "", False) == (done.code, done.out, partner.journal.exists())
        assert "Error: state: a CI runner's disk is lost with the job" in done.err
        partner.step("state", "init", "--force")
        assert partner.entries[0]["forced"]

    def test_a_record_that_was_here_is_not_begun_anew(self, imported: Partner) -> None:
        """All it knew would be created again; unless that is meant."""
        imported.journal.unlink()
        done = imported.run_fork("state", "init")
        assert (1, False) == (done.code, imported.journal.exists())
        assert "the record with 2 entries is missing" in done.err
        assert "if it is lost for good, run:\n    reconciler state accept-rollback -t europe/staging\n" in done.err
        imported.step("state", "init", "--force")
        assert ["begun", "rollback"] == imported.kinds


class TestReading:
    """What is known to exist."""

    def test_list(self, imported: Partner) -> None:
        """As text, and as the document that is promised."""
        (document,) = imported.step("state", "list", "--format", "json").document
        assert ["address", "attempt", "eventCodes", "webhookUrl", "status", "at", "fields"] == list(document)
        assert (OFFERS, ["ONB10011"], "https://hooks.partner.example/offers", "live", {}) == (
            document["address"], document["eventCodes"], document["webhookUrl"], document["status"], document["fields"],
        )  # fmt: skip
        line = f"  {OFFERS}  live  ONB10011 -> https://hooks.partner.example/offers  (attempt {document['attempt']}, "
        assert imported.step("state", "list").out.startswith(line)

    def test_list_of_nothing(self, partner: Partner) -> None:
        """An empty record is not a missing one."""
        partner.want(offers=["ONB10011"])
        for command in ("list", "history", "verify"):
            done = partner.run_fork("state", command, "--state", "elsewhere")
            assert (1, "") == (done.code, done.out)
            assert "no state record" in done.err
        partner.step("state", "init")
        assert "Nothing is in force.\n" == partner.step("state", "list").out
        assert [] == partner.step("state", "list", "--format", "json").document

    @pytest.fixture
    def three(self, imported: Partner) -> Partner:
        """Three targets with records, of which one is damaged and one is gone, and one that never had any."""
        text = imported.read("config/all.yaml")
        target = text[text.index("  europe/staging:") : text.index("subscriptions:")]
        for name in ("asia/a", "asia/b"):
            imported.write(f"config/{name}.yaml", f"targets:\n{target.replace('europe/staging', name)}")
        imported.step("state", "init")
        imported.write("config/asia/c.yaml", f"targets:\n{target.replace('europe/staging', 'asia/c')}")
        imported.write("state/asia/a.jsonl", "damaged")
        (imported.path / "state" / "asia" / "b.jsonl").unlink()
        return imported

    @pytest.mark.parametrize("form", LIST)
    def test_one_bad_journal_hides_no_other(self, three: Partner, form: str) -> None:
        """What is damaged, gone or missing is named on stderr; the rest is listed, and the exit code is 1."""
        done = three.run_fork("state", "list", "--format", form)
        assert 1 == done.code
        assert "Error: state/asia/a.jsonl:1: the file has no complete line" in done.err
        assert "Error: state: the state record of asia/b is missing: it was last read here with 1 entry" in done.err
        if form == "json":
            assert "Warning: state: no state record for asia/c" in done.err
            assert [OFFERS] == [one["address"] for one in done.document]
        else:
            assert [OFFERS, "asia/c"] == [line.split()[0] for line in done.out.splitlines() if "reconciler" not in line]
            assert "asia/c  no state record; if it had one, restore it (see A lost record in BAD_DAY.md);" in done.out
            assert " if it never had one, run:\n      reconciler state init -t asia/c\n" in done.out

    def test_only_what_is_selected_is_read(self, three: Partner) -> None:
        """By `state list`, `state history` and `status`, of targets and of addresses; no match is an error."""
        three.declare(
            {
                "offers": (["ONB10011"], "https://hooks.partner.example/offers"),
                "more": (["ONB10001"], "https://hooks.partner.example/m"),
            }
        )
        three.step("state", "import", "--all", "-t", "europe/*")
        for command in (["state", "list"], ["state", "history"], ["status"]):
            whole = three.step(*command, "-t", "europe/*")
            assert (True, True) == (OFFERS in whole.out, "europe/staging/more" in whole.out)
            some = three.step(*command, "-t", "europe/*/off*")
            assert (True, False) == (OFFERS in some.out, "europe/staging/more" in some.out)
            for pattern in ("usa/*", "europe/staging/none"):
                assert "matches no target" in three.step(*command, "-t", pattern, "-t", "europe/*", code=1).err
        assert "asia/c  no state record" in three.step("state", "list", "-t", "asia/c").out
        damaged = three.step("state", "history", code=1)
        assert (True, True) == ("state/asia/a.jsonl:1" in damaged.err, OFFERS in damaged.out)

    def test_status_shows_the_others(self, three: Partner) -> None:
        """A target whose record cannot be used, or that has none, is named, and stops no other."""
        done = three.run_fork("status", "--format", "json")
        assert (1, ["europe/staging"]) == (done.code, list(done.document["targets"]))
        for words in ("the file has no complete line", "record of asia/b is missing", "no state record for asia/c"):
            assert words in done.err
        assert 1 == three.step("status", "-t", "asia/*", code=None).code
        done = three.step("status", "-t", "asia/c", "-t", "europe/*")
        assert done.out.startswith("europe/staging\n")
        assert "Warning: state: no state record for asia/c" in done.err

    def test_status_shows_what_is_not_declared(self, three: Partner) -> None:
        """So it does beside records that cannot be used, where it is selected."""
        declared = three.read("config/all.yaml").partition("subscriptions:")[0]
        three.write("config/all.yaml", declared.replace("europe/staging", "usa/staging"))
        three.step("state", "init", "-t", "usa/staging")
        done = three.run_fork("status", "--format", "json")
        assert (1, ["europe/staging", "usa/staging"]) == (done.code, list(done.document["targets"]))
        done = three.step("status", "--format", "json", "-t", "usa/*", "-t", "asia/*", code=1)
        assert ["usa/staging"] == list(done.document["targets"])

    def test_a_target_without_a_record_is_named(self, three: Partner) -> None:
        """It is no mistake that it has none yet."""
        for name in ("a", "b"):
            three.step("state", "init", "-t", f"asia/{name}", "--state", "new", "--force")
        done = three.step("state", "list", "--state", "new")
        assert "  asia/c  no state record; " in done.out

    def test_verify_names_what_is_gone(self, three: Partner) -> None:
        """A target that is not declared any more is missed as well."""
        (three.path / "config" / "asia" / "b.yaml").unlink()
        done = three.run_fork("state", "verify")
        assert (1, True) == (done.code, "the state record of asia/b is missing" in done.err)

    def test_show(self, imported: Partner) -> None:
        """One subscription whole."""
        shown = imported.step("state", "show", OFFERS).out
        assert f"  {OFFERS}  attempt {imported.attempt()}\n      status: live\n      eventCodes: ONB10011\n" in shown

    def test_history(self, imported: Partner) -> None:
        """Who did what, of one address or of everything."""
        whole = imported.step("state", "history").out.splitlines()
        assert "europe/staging" == whole[0]
        assert [" initialized for ", " imported: ONB10011 to "] == [
            words
            for line, words in zip(whole[1:], (" initialized for ", " imported: ONB10011 to "), strict=True)
            if words in line
        ]
        assert whole[:1] + whole[2:] == imported.step("state", "history", OFFERS).out.splitlines()

    def test_history_tells_the_run_in_actions(self, partner: Partner) -> None:
        """Who started it, and where it is shown; a variable that is not set leaves nothing in the entry."""
        partner.environment |= {
            "GITHUB_ACTIONS": "true", "GITHUB_ACTOR": "octo", "GITHUB_SERVER_URL": "https://git.example",
            "GITHUB_REPOSITORY": "a/b", "GITHUB_RUN_ID": "7",
        }  # fmt: skip
        partner.begin(offers=["ONB10011"])
        assert "octo (https://git.example/a/b/actions/runs/7)" in partner.step("state", "history").out
        assert {"actor": "octo", "url": "https://git.example/a/b/actions/runs/7"} == partner.entries[0]["by"]

    def test_what_a_run_in_actions_does_not_say_is_left_out(self, partner: Partner) -> None:
        """Of the URL of the run as well: a part of it leads nowhere."""
        partner.environment |= {"GITHUB_ACTIONS": "true", "GITHUB_SERVER_URL": "https://git.example"}
        partner.begin(offers=["ONB10011"])
        assert {} == partner.entries[0]["by"]

    @pytest.mark.parametrize("triggering", ["octo", "lead"])
    def test_whoever_runs_a_run_again(self, partner: Partner, triggering: str) -> None:
        """Is named beside the actor of the run, and the URL is that of the attempt, on a server of one's own too."""
        partner.environment |= {
            "GITHUB_ACTIONS": "true", "GITHUB_ACTOR": "octo", "GITHUB_TRIGGERING_ACTOR": triggering,
            "GITHUB_SERVER_URL": "https://git.example", "GITHUB_REPOSITORY": "a/b", "GITHUB_RUN_ID": "7",
            "GITHUB_RUN_ATTEMPT": "2",
        }  # fmt: skip
        partner.begin(offers=["ONB10011"])
        again = {} if triggering == "octo" else {"triggering_actor": triggering}
        url = "https://git.example/a/b/actions/runs/7/attempts/2"
        assert {"actor": "octo", **again, "url": url} == partner.entries[0]["by"]
        name = "octo" if triggering == "octo" else "lead, rerunning a run of octo"
        assert f"{name} ({url})" in partner.step("state", "history").out


class TestVerify:
    """Whether every journal holds together."""

    def test_whole(self, imported: Partner) -> None:
        """With its length and its head; a torn write is told, and is no damage."""
        head = imported.plan()["targets"]["europe/staging"]["head"]
        assert f"  europe/staging: valid, 2 entries, head {head}\n" == imported.step("state", "verify").out
        with imported.journal.open("ab") as journal:
            journal.write(b'{"seq"')
        assert (
            "; ignoring an incomplete last line (6 bytes), which the next append removes\n"
            in imported.step("state", "verify").out
        )

    def test_an_edited_line(self, imported: Partner) -> None:
        """The line is named, and plan and apply refuse the record too."""
        text = imported.journal.read_text(encoding="utf-8")
        imported.journal.write_text(text.replace("ONB10011", "ONB10012"), encoding="utf-8")
        for command in (["state", "verify"], ["plan"], ["apply", "--auto-approve"], ["state", "list"]):
            done = imported.run_fork(*command)
            assert (1, "") == (done.code, done.out)
            assert "state/europe/staging.jsonl" in done.err
            assert "line 2" in done.err or ":2" in done.err

    def test_no_journal(self, imported: Partner) -> None:
        """A declared target without one is a problem; the others are told all the same."""
        imported.write(
            "config/usa.yaml", "targets:\n  usa/x: {auth_url: https://a.example, base_url: https://b.example}\n"
        )
        done = imported.run_fork("state", "verify")
        assert 1 == done.code
        assert done.out.startswith("  europe/staging: valid, 2 entries, ")
        assert "no state record for usa/x" in done.err

    def test_with_a_broken_configuration(self, imported: Partner) -> None:
        """What journals there are is checked still; without any, the configuration is what is wrong."""
        imported.write("config/all.yaml", "nonsense: 1\n")
        done = imported.run_fork("state", "verify")
        assert 0 == done.code
        assert "Warning: " in done.err
        imported.step("state", "verify", "--state", "elsewhere", code=1)


class TestRememberedHeads:
    """A chain cannot see its own end, so the last head seen is remembered."""

    @pytest.fixture
    def rolled_back(self, imported: Partner) -> Partner:
        """A partner whose journal lost its last line."""
        lines = imported.journal.read_bytes().splitlines(keepends=True)
        imported.journal.write_bytes(b"".join(lines[:-1]))
        return imported

    def test_a_lost_line_is_noticed(self, rolled_back: Partner) -> None:
        """Neither plan nor apply takes the older record for the record."""
        for command in (["plan"], ["apply", "--auto-approve"], ["state", "verify"]):
            done = rolled_back.run_fork(*command)
            assert (1, "") == (done.code, done.out)
            assert "the last 1 of 2 entries are missing" in done.err
            assert "reconciler state accept-rollback -t europe/staging" in done.err
        assert rolled_back.service.untouched

    def test_it_is_noticed_on_this_machine_only(self, rolled_back: Partner) -> None:
        """Another cache directory has seen nothing."""
        assert [("offers", "create")] == [
            (change["address"].rpartition("/")[2], change["action"])
            for change in rolled_back.step("plan", "--format", "json", "--cache-dir", "other").document["changes"]
        ]

    def test_accepting_wants_somebody(self, rolled_back: Partner) -> None:
        """Off a terminal it says what it would accept, and is refused without --force."""
        with rolled_back.appending():
            done = rolled_back.run_fork("state", "accept-rollback", "-t", "europe/staging")
        assert (1, "") == (done.code, done.out)
        assert "  europe/staging: last seen with 2 entries, head " in done.err
        assert "repeat the command with --force" in done.err
        with rolled_back.appending("rollback"):
            rolled_back.step("state", "accept-rollback", "-t", "europe/staging", "--force")
        assert rolled_back.entries[-1]["forced"]
        assert [("offers", "create")] == rolled_back.planned()
        with rolled_back.appending():
            done = rolled_back.step("state", "accept-rollback", "-t", "europe/staging")
        assert "nothing to accept" in done.out

    def test_a_journal_that_vanished_is_named(self, imported: Partner) -> None:
        """It was here before, and how long it was is known."""
        imported.journal.unlink()
        done = imported.run_fork("plan")
        assert 1 == done.code
        assert "the state record of europe/staging is missing: it was last read here with 2 entries" in done.err

    def test_a_cache_that_cannot_be_written_is_a_warning(self, imported: Partner) -> None:
        """A record that is rolled back would not be noticed then."""
        done = imported.step("plan", "--cache-dir", "/proc/reconciler")
        assert done.err.startswith("Warning: /proc/reconciler/heads: cannot save the last known head of the state reco")
