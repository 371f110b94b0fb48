"""A record that was seen on this machine and is gone, or another one that stands in its place."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from support.partner import Partner
    from support.project import Project

TARGET = "europe/staging"
OTHER = """\
  asia/staging: {auth_url: https://login.asia.example, base_url: https://api.asia.example}
subscriptions:"""
ACCEPT = ("state", "accept-rollback", "-t", TARGET)


@pytest.fixture
def imported(partner: Partner) -> Partner:
    """A partner whose record holds one subscription that was created by hand."""
    partner.begin(offers=["ONB10011"])
    partner.step("state", "import", "--all")
    return partner


def begin_elsewhere(partner: Partner) -> None:
    """The record is lost, and another machine begins a new one in its place."""
    partner.journal.unlink()
    partner.step("state", "init", "--cache-dir", "another machine")


def heads(partner: Partner) -> list[Path]:
    """The files of this machine's remembered heads."""
    return sorted((partner.path.parent / "home" / "cache" / "reconciler" / "heads").glob("*.json"))


class TestAnotherRecord:
    """A record that knows nothing of the one that was read here before."""

    @pytest.mark.parametrize("command", [["plan"], ["apply", "--auto-approve"], ["state", "list"], ["state", "verify"]])
    def test_it_is_refused(self, imported: Partner, command: list[str]) -> None:
        """What the other one knew would be created again; nothing is sent."""
        begin_elsewhere(imported)
        done = imported.run(*command)
        assert 1 == done.code
        assert "the state record of europe/staging was replaced: expected record " in done.err
        assert "(2 entries), found record " in done.err
        assert "reconciler state accept-rollback -t europe/staging" in done.err
        assert imported.service.untouched

    def test_accepted(self, imported: Partner) -> None:
        """A person may accept it, which the record then says."""
        begin_elsewhere(imported)
        with imported.appending("rollback"):
            imported.succeed(*ACCEPT, "--force")
        assert [("offers", "create")] == imported.planned()
        assert "nothing to accept" in imported.step(*ACCEPT).out

    def test_put_back(self, imported: Partner) -> None:
        """With the right one back, everything is as it was."""
        whole = imported.journal.read_bytes()
        begin_elsewhere(imported)
        imported.step("plan", code=1)
        imported.journal.write_bytes(whole)
        assert [] == imported.planned()

    def test_of_another_service(self, imported: Partner) -> None:
        """A record of a sandbox that is gone says nothing of what exists at the service."""
        imported.journal.unlink()
        imported.environment["RECONCILER_EUROPE_STAGING_BASE_URL"] = "https://api.service.example"
        imported.succeed("state", "init")
        assert ["begun"] == imported.kinds
        assert [("offers", "create")] == imported.planned()


def test_older_one_that_was_accepted(imported: Partner) -> None:
    """What this machine knows from then on is the record as it was accepted, not the one that was lost."""
    lines = imported.journal.read_bytes().splitlines(keepends=True)
    imported.want(offers=["ONB10011"], deals=["ONB10001"], loans=["ONB10002"])
    imported.step("state", "import", "--all")
    imported.journal.write_bytes(b"".join(lines))
    imported.step(*ACCEPT, "--force")
    imported.journal.unlink()
    assert "it was last read here with 3 entries; " in imported.step("plan", code=1).err


def test_on_a_machine_that_never_saw_it(imported: Partner) -> None:
    """`plan` then warns of nothing: what begins the record says what a record that was lost means, and only then."""
    imported.journal.unlink()
    begun = imported.step("state", "init", "--cache-dir", "another machine").err
    assert (
        "If one of these had a record before (another machine, CI), do not apply: restore it, or import all that exists"
        " first; an apply creates again whatever is not recorded.\n"
    ) in begun
    assert "do not apply" not in imported.step("state", "init", "--cache-dir", "another machine").err


class TestGone:
    """No record where one was read before."""

    def test_accepted(self, imported: Partner) -> None:
        """A new record begins, which says what was accepted; other machines that saw as much go on with it."""
        imported.journal.unlink()
        done = imported.run(*ACCEPT)
        assert (1, False) == (done.code, imported.journal.exists())
        assert "; no record now, and a new one starts empty" in done.err
        done = imported.step(*ACCEPT, "--force")
        assert "  europe/staging: accepted; new record initialized\n" == done.out
        assert ["begun", "rollback"] == imported.kinds
        assert [("offers", "create")] == imported.planned()

    def test_nothing_is_created_until_something_is_imported(self, imported: Partner) -> None:
        """The next apply after an accepted loss would create everything again: the plan warns, the apply refuses."""
        imported.journal.unlink()
        advised = imported.step(*ACCEPT, "--force").err
        first, exclude, then = (
            advised.index(words)
            for words in ("ask the operator", "`NAME: null`", "reconciler state import --all -t europe/staging")
        )
        assert first < exclude < then
        assert "if it exists at the service, an apply creates it a second time" in imported.step("plan").err
        refused = imported.run("apply", "--auto-approve")
        assert (1, []) == (refused.code, imported.service.creates)
        assert "if it does, run:\n    reconciler state import europe/staging/offers\n" in refused.err
        assert "(it is new), apply with --accept-possible-duplicates europe/staging\n" in refused.err
        imported.step("state", "import", "--all", "-t", "europe/staging")
        assert [] == imported.planned()
        assert 0 == imported.run("apply", "--auto-approve").code
        assert [] == imported.service.creates

    def test_an_import_of_one_says_nothing_of_the_others(self, imported: Partner) -> None:
        """What is not imported is still refused, by name, until the last of it is imported."""
        imported.journal.unlink()
        imported.step(*ACCEPT, "--force")
        imported.want(offers=["ONB10011"], deals=["ONB10001"], loans=["ONB10002"])
        imported.step("state", "import", "europe/staging/offers")
        named = "europe/staging/deals, europe/staging/loans were not imported since"
        assert named in imported.step("plan").err
        refused = imported.run("apply", "--auto-approve")
        assert (1, []) == (refused.code, imported.service.creates)
        assert named in refused.err
        imported.step("state", "import", "europe/staging/deals")
        assert "europe/staging/loans was not imported since" in imported.step("apply", "--auto-approve", code=1).err
        imported.step("state", "import", "europe/staging/loans")
        imports = [entry for entry in imported.entries if entry["kind"] == "imported"]
        assert [True, True, None] == [entry.get("partial") for entry in imports]
        assert [] == imported.planned()

    def test_an_import_of_all_says_nothing_of_what_it_leaves_out(self, imported: Partner) -> None:
        """What is recorded with another URL may exist with the new one as well: it is refused until it is imported."""
        imported.want(offers=["ONB10011"], loans=["ONB10002"])
        imported.step("state", "import", "--all")
        older = imported.journal.read_bytes()
        imported.want(offers=["ONB10011"], loans=["ONB10002"], deals=["ONB10001"])
        imported.step("state", "import", "--all")
        imported.journal.write_bytes(older)
        imported.step(*ACCEPT, "--force")
        config = imported.read("config/all.yaml")
        imported.write("config/all.yaml", config.replace("/loans", "/loans-v2"))
        assert "loans: skipped: recorded with" in imported.step("state", "import", "--all").out
        refused = imported.run("apply", "--auto-approve")
        assert (1, []) == (refused.code, imported.service.creates)
        assert "europe/staging/loans" in refused.err
        imported.step("state", "import", "europe/staging/loans")
        imports = [entry for entry in imported.entries if entry["kind"] == "imported"]
        assert [None, None, True, None] == [entry.get("partial") for entry in imports]
        assert [("loans", "retire")] == imported.planned()

    def test_what_is_put_back_after_an_import_of_all(self, imported: Partner) -> None:
        """What did not exist at the service was left out of the import, and is created after it."""
        imported.journal.unlink()
        imported.step(*ACCEPT, "--force")
        imported.step("state", "import", "--all")
        imported.want(offers=["ONB10011"], deals=["ONB10001"])
        assert 0 == imported.run("apply", "--auto-approve").code
        assert 1 == len(imported.service.creates)

    def test_an_import_without_a_loss(self, imported: Partner) -> None:
        """It is not partial, whatever else `config/` defines."""
        imported.want(offers=["ONB10011"], deals=["ONB10001"], loans=["ONB10002"])
        imported.step("state", "import", "europe/staging/deals")
        assert "partial" not in imported.entries[-1]

    def test_several_are_imported_before_the_others_are_created(self, imported: Partner) -> None:
        """Of several, what exists is imported; the rest is created last: from then on nothing is refused."""
        imported.journal.unlink()
        imported.step(*ACCEPT, "--force")
        imported.want(offers=["ONB10011"], deals=["ONB10001"])
        refused = imported.step("apply", "--auto-approve", code=1).err
        every, each, rest = (
            refused.index(words)
            for words in (
                "if all of them do, run:\n    reconciler state import --all -t europe/staging\n",
                "if only some do, import each of those, and nothing else; run:\n    reconciler state import ADDRESS\n",
                "once all that exists is imported, apply with --accept-possible-duplicates europe/staging, which",
            )
        )
        assert every < each < rest
        imported.step("state", "import", "europe/staging/offers")
        imported.step("apply", "--auto-approve", "--accept-possible-duplicates", "europe/staging")
        assert [] == imported.planned()
        assert 1 == len(imported.service.creates)

    def test_other_targets_go_on(self, imported: Partner) -> None:
        """The refusal names the options for those that nothing is lost of."""
        imported.journal.unlink()
        imported.step(*ACCEPT, "--force")
        assert "to continue with" not in imported.step("apply", "--auto-approve", code=1).err
        config = imported.read("config/all.yaml")
        imported.write("config/all.yaml", config.replace("subscriptions:", OTHER))
        imported.step("state", "init", "-t", "asia/staging")
        refused = imported.step("apply", "--auto-approve", code=1).err
        assert "Error: europe/staging: the loss of an earlier record was accepted" in refused
        assert "; to continue with the other targets, use -t asia/staging\n" in refused
        imported.step("apply", "--auto-approve", "-t", "asia/staging")

    def test_many_are_not_all_named(self, imported: Partner) -> None:
        """A message names ten of them."""
        imported.journal.unlink()
        imported.step(*ACCEPT, "--force")
        imported.want(**{f"s{number:02}": [f"ONB100{number:02}"] for number in range(12)})
        assert "europe/staging/s09 and 2 others were not imported since" in imported.step("plan").err

    def test_creates_after_a_loss_that_is_accepted_with_its_duplicates(self, imported: Partner) -> None:
        """If nothing exists at the service, a flag says so, once: the creates that follow are the new record."""
        imported.journal.unlink()
        imported.step(*ACCEPT, "--force")
        imported.step("apply", "--auto-approve", "--accept-possible-duplicates", "europe/staging")
        assert 1 == len(imported.service.creates)
        assert "second time" not in imported.step("plan").err

    def test_of_a_target_that_is_not_declared(self, imported: Partner) -> None:
        """It begins for the service that the lost one belonged to."""
        imported.journal.unlink()
        imported.write("config/all.yaml", imported.read("config/all.yaml").replace("europe/", "eu/"))
        imported.succeed(*ACCEPT, "--force")
        assert imported.service.base_url == imported.entries[0]["base_url"]

    def test_a_service_that_is_not_known(self, imported: Partner) -> None:
        """A head remembered by an earlier version says nothing of it: then the target must be declared."""
        (head,) = heads(imported)
        fields = json.loads(head.read_bytes())
        head.write_text(json.dumps({**fields, "base_url": ""}))
        imported.journal.unlink()
        imported.write("config/all.yaml", imported.read("config/all.yaml").replace("europe/", "eu/"))
        done = imported.run(*ACCEPT, "--force")
        remedy = "declare the target europe/staging in config/ with its base_url, then run this command again"
        assert f"\nError: europe/staging: the service of the lost record is unknown; {remedy}\n" in done.err

    def test_nothing_was_ever_there(self, partner: Partner) -> None:
        """There is no loss to accept, and `state init` is named."""
        partner.want(offers=["ONB10011"])
        done = partner.run(*ACCEPT, "--force")
        assert 1 == done.code
        assert "if it never had one, run:\n    reconciler state init -t europe/staging\n" in done.err


class TestAnotherPlace:
    """A record of the target that was seen in another store."""

    @pytest.fixture
    def begun(self, partner: Partner) -> Partner:
        """A record of a real service in `state`."""
        partner.declare({"offers": (["ONB10011"], "https://hooks.partner.example/o")}, base_url="https://api.example")
        partner.step("state", "init")
        return partner

    def test_init_is_refused(self, begun: Partner) -> None:
        """With the wrong place in the settings, everything would be created again: the right one is named."""
        done = begun.run("state", "init", "--state", "other")
        assert (1, "", False) == (done.code, done.out, (begun.path / "other").exists())
        assert f"a record with 1 entry exists at {begun.path / 'state'}" in done.err
        begun.step("state", "init", "--state", "other", "--force")
        begun.step("plan", "--state", "other")

    def test_a_missing_record_names_it(self, begun: Partner) -> None:
        """`plan` and `state list` say where one was seen."""
        for command in (["plan"], ["state", "list"]):
            done = begun.run(*command, "--state", "other")
            assert 1 == done.code
            assert str(begun.path / "state") in done.err

    def test_another_service(self, begun: Partner) -> None:
        """A record of one service says nothing of another."""
        begun.environment["RECONCILER_EUROPE_STAGING_BASE_URL"] = "https://another.example"
        begun.succeed("state", "init", "--state", "other")

    def test_a_sandbox(self, imported: Partner) -> None:
        """A service on loopback may have its data still: a warning says what to do then."""
        done = imported.step("state", "init", "--state", "other")
        place = imported.path / "state"
        assert (
            f"Warning: europe/staging: a record with 2 entries of this sandbox exists at {place}; if the sandbox"
            f" still has its data, use it with --state {place}, or its subscriptions will be created again\n"
        ) == done.err.partition("If ")[0]
        assert "Warning" not in imported.step("state", "init", "--state", "third", "--force").err

    def test_an_empty_record_of_a_sandbox(self, partner: Partner) -> None:
        """Nothing in it could be created again."""
        partner.begin(offers=["ONB10011"])
        assert "Warning" not in partner.step("state", "init", "--state", "other").err

    @pytest.mark.parametrize(("client", "warned"), [("another-client", False), (None, True)])
    def test_a_sandbox_of_another_account(self, partner: Partner, client: str | None, warned: bool) -> None:
        """A sandbox that was started without its data has new accounts: it is another service at the same port."""
        partner.begin(offers=["ONB10011"])
        partner.step("apply", "--auto-approve")
        if client is not None:
            partner.environment["RECONCILER_EUROPE_STAGING_CLIENT_ID"] = client
        done = partner.step("state", "init", "--state", "other")
        assert warned == ("of this sandbox exists at " in done.err)


def test_an_address_that_is_a_placeholder(project: Project) -> None:
    """The record is bound to it: a warning names the targets, what to replace, and the command that is needed then."""
    project.step("init", "--region", "europe")
    done = project.step("state", "init")
    assert (
        "Warning: europe/production, europe/staging: the base_url ends in .example, which is a placeholder: replace"
        " base_url in config/ by what the operator gave you; the record is bound to the placeholder, so after that,"
        " run:\n    reconciler state rebind -t europe/production -t europe/staging\n"
    ) in done.err
    project.environment["RECONCILER_EUROPE_STAGING_BASE_URL"] = "http://127.0.0.1:9/staging"
    project.environment["RECONCILER_EUROPE_PRODUCTION_BASE_URL"] = "https://other.example"
    done = project.step("state", "init", "--state", "other", "--force")
    assert "Warning: europe/production: the base_url ends in .example" in done.err
    assert "replace RECONCILER_EUROPE_PRODUCTION_BASE_URL by what" in done.err
    del project.environment["RECONCILER_EUROPE_PRODUCTION_BASE_URL"]
    project.write("config/targets.yaml", project.read("config/targets.yaml").replace("lending.example", "lending.test"))
    project.step("state", "rebind", "-t", "europe/production", "--force")
    assert "placeholder" not in project.step("state", "init").err


def test_two_clones(imported: Partner) -> None:
    """A record that was read in two directories is missed in each of them."""
    clone = imported.path / "clone"
    (clone / "europe").mkdir(parents=True)
    (clone / "europe" / "staging.jsonl").write_bytes(imported.journal.read_bytes())
    imported.step("plan", "--state", "clone")
    imported.journal.unlink()
    assert "it was last read here with 2 entries" in imported.run("plan").err


def empty(head: Path) -> None:
    """What a full disk leaves."""
    head.write_bytes(b"")


def replace_by_pipe(head: Path) -> None:
    """A pipe that nobody writes to."""
    head.unlink()
    os.mkfifo(head)


@pytest.mark.parametrize(("spoil", "why"), [(empty, "it is empty"), (replace_by_pipe, "not a regular file")])
def test_a_head_that_cannot_be_read(imported: Partner, spoil: object, why: str) -> None:
    """An older record does not pass for the newest, since a head that was remembered cannot be read."""
    (head,) = heads(imported)
    assert callable(spoil)
    spoil(head)
    imported.journal.write_bytes(imported.journal.read_bytes().splitlines(keepends=True)[0])
    for command in (["plan"], ["apply", "--auto-approve"]):
        done = imported.run(*command)
        assert 1 == done.code
        assert f"Error: {head}: cannot read the last known head of state record {head.stem}: {why}" in done.err
        assert f"rm -r {head}" in done.err
    assert imported.service.untouched
