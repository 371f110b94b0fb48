"""Two people applied from one record, each on a branch of their own: both histories are kept, by what messages say."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from support.lending_service import refusal
from support.partner import Partner
from support.project import EXECUTABLE

from reconciler.sandbox import Sandbox

if TYPE_CHECKING:
    from pathlib import Path

OFFERS = "europe/staging/offers"


@pytest.fixture
def begun(partner: Partner) -> Partner:
    """A partner with a record in a git repository, and one create to make."""
    partner.begin(offers=["ONB10011"])
    git(partner, "init", "--quiet", "--initial-branch=main")
    commit(partner)
    return partner


def git(partner: Partner, *arguments: str, code: int = 0) -> None:
    """Run git in the project."""
    who = ("-c", "user.name=operator", "-c", "user.email=operator@partner.example", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *who, *arguments], cwd=partner.path, capture_output=True, check=False, timeout=60)
    assert code == done.returncode, done


def commit(partner: Partner) -> None:
    """Commit the record and the configuration."""
    git(partner, "add", "config", "state")
    git(partner, "commit", "--quiet", "--no-edit", "-m", "The record")


def clone(partner: Partner) -> Partner:
    """The project in another directory, of somebody on another machine."""
    path = partner.path.parent / "colleague"
    shutil.copytree(partner.path, path)
    home = {"XDG_CACHE_HOME": str(path.parent / "their-cache"), "XDG_DATA_HOME": str(path.parent / "their-data")}
    return Partner(path, {**partner.environment, **home}, service=partner.service)


def merge(partner: Partner, other: Partner) -> None:
    """Merge what the other one committed, which conflicts."""
    commit(partner)
    commit(other)
    git(partner, "fetch", "--quiet", str(other.path), "main")
    git(partner, "merge", "--quiet", "FETCH_HEAD", code=1)


def commands_in(message: str) -> str:
    """The commands to paste that a message ends with."""
    (found,) = re.findall(r"(git -C .*)\n", message)
    return str(found)


def obey(partner: Partner, message: str) -> str:
    """Paste the commands of a message into a shell; what they print."""
    partner.environment["PATH"] = f"{EXECUTABLE.parent}:/usr/local/bin:/usr/bin:/bin"
    done = partner.shell(commands_in(message))
    assert 0 == done.code, done
    return done.out


def applied_by_both(begun: Partner) -> tuple[Partner, Partner]:
    """Two clones that each applied since, and a third create that only the other one made."""
    other = clone(begun)
    begun.step("apply", "--auto-approve")
    other.want(offers=["ONB10011"], deals=["ONB10012"])
    other.step("apply", "--auto-approve")
    return begun, other


def test_a_conflict_is_solved_by_what_the_message_says(begun: Partner) -> None:
    """Both histories are in the record then, and a route that was created twice is said to be."""
    ours, theirs = applied_by_both(begun)
    shutil.copyfile(theirs.path / "config" / "all.yaml", ours.path / "config" / "all.yaml")
    merge(ours, theirs)
    done = ours.run_fork("plan")
    assert (1, "") == (done.code, done.out)
    said = "is a git conflict marker: git cannot merge two copies of a journal"
    assert said in done.err
    for command in ("status", "removals"):
        assert 1 == ours.step(command, code=1).err.count(said)
    assert re.fullmatch("  europe/staging: [45] entries recovered\n", obey(ours, done.err))
    assert ["begun", "bound", "intent", "outcome", "joined"] == ours.kinds
    assert [("deals", "live"), ("offers", "live"), ("offers", "live")] == [one[:2] for one in ours.listed()]
    document = ours.plan()
    assert ([], [OFFERS]) == (document["changes"], [one["address"] for one in document["surplus"]])
    history = ours.step("state", "history").out
    assert (3, 1) == (history.count("create started"), history.count("from theirs.jsonl"))
    assert 3 == len(ours.service.creates)


def test_the_joined_record_is_shared_by_what_the_messages_say(begun: Partner) -> None:
    """Committed and pushed, without the file that one side was brought in with; the other one goes on from it."""
    origin = begun.path.parent / "origin.git"
    git(begun, "init", "--quiet", "--bare", str(origin))
    git(begun, "remote", "add", "origin", str(origin))
    git(begun, "push", "--quiet", "--set-upstream", "origin", "main")
    ours, theirs = applied_by_both(begun)
    commit(ours)
    commit(theirs)
    git(theirs, "push", "--quiet")
    git(ours, "pull", "--quiet", "--no-rebase", code=1)
    for role in ("AUTHOR", "COMMITTER"):
        ours.environment |= {f"GIT_{role}_NAME": "operator", f"GIT_{role}_EMAIL": "operator@partner.example"}
    conflict = ours.run_fork("plan").err
    assert "\n  then delete theirs.jsonl, which is not to be committed\n" in conflict
    obey(ours, conflict)
    (ours.path / "theirs.jsonl").unlink()
    done = ours.shell(commands_in(ours.step("state", "recover", theirs.journal).err))
    assert 0 == done.code, done
    assert "" == ours.shell("git status --short").out
    git(theirs, "pull", "--quiet", "--no-rebase")
    assert ours.journal.read_bytes() == theirs.journal.read_bytes()


def test_whoever_has_seen_the_other_side_accepts_the_joined_record(begun: Partner) -> None:
    """The colleague, whose machine remembers their own head, takes it and goes on from it."""
    ours, theirs = applied_by_both(begun)
    merge(ours, theirs)
    obey(ours, ours.run_fork("plan").err)
    shutil.copyfile(ours.journal, theirs.journal)
    assert [] == theirs.planned()
    theirs.step("state", "verify")


def test_joining_again_does_nothing(begun: Partner) -> None:
    """In either direction, as often as one likes."""
    ours, theirs = applied_by_both(begun)
    merge(ours, theirs)
    obey(ours, ours.run_fork("plan").err)
    with ours.appending():
        assert "  europe/staging: 0 entries recovered\n" == ours.step("state", "recover", "theirs.jsonl").out
    with theirs.appending("joined"):
        theirs.step("state", "recover", ours.journal)
    with theirs.appending():
        theirs.step("state", "recover", ours.journal)
    with ours.appending("joined"):
        ours.step("state", "recover", theirs.journal)
    assert sorted(ours.listed()) == sorted(theirs.listed())


def test_people_who_contradict_each_other_are_asked(begun: Partner) -> None:
    """One said created, the other not: it is blocked, exit 3, and settled as any unknown outcome."""
    begun.lose_answer()
    other = clone(begun)
    begun.step("state", "resolve", OFFERS, "--not-created", "--force")
    other.step("state", "resolve", OFFERS, "--created", "--force")
    done = begun.step("state", "recover", other.journal)
    attempt = begun.entries[-2]["attempt"]
    assert (
        f"The two copies disagree about attempt {attempt}, so its outcome is unknown;"
        " check with the operator whether the subscription exists;"
        f" if it does, run:\n    reconciler state resolve {OFFERS} --created\n "
        f" if it certainly does not, run:\n    reconciler state resolve {OFFERS} --not-created\n"
        f"To commit and share the record of europe/staging, run:\n    {commands_in(done.err)}\n" == done.err
    )
    assert 3 == begun.step("plan", "--detailed-exitcode", code=None).code
    assert [("offers", "blocked")] == begun.planned()
    begun.step("state", "resolve", OFFERS, "--created", "--force")
    assert [] == begun.planned()
    assert 1 == len(begun.service.creates)


def test_merged_lines(begun: Partner) -> None:
    """Where git merged line by line, the message says how to get both sides back and join them."""
    ours, theirs = applied_by_both(begun)
    lines = theirs.journal.read_bytes().splitlines(keepends=True)[1:]
    for partner in (ours, theirs):
        commit(partner)
    git(ours, "fetch", "--quiet", str(theirs.path), "main")
    with ours.journal.open("ab") as journal:
        journal.writelines(lines)
    message = ours.run_fork("plan").err
    assert "or two copies were merged; restore the journal from version control or a backup" in message
    obey(ours, message.replace("OTHER-COMMIT", "FETCH_HEAD").replace("COMMIT", "HEAD"))
    assert "joined" == ours.kinds[-1]


def test_a_record_that_is_rolled_back_gets_the_newer_journal_back(begun: Partner) -> None:
    """Nothing is to be accepted then: what was seen of it is in it again."""
    before = begun.journal.read_bytes()
    begun.step("apply", "--auto-approve")
    newer = begun.write("newer.jsonl", begun.journal.read_bytes())
    begun.journal.write_bytes(before)
    assert (
        "restore the newer journal, or run:\n    reconciler state recover NEWER.jsonl\n" in begun.run_fork("plan").err
    )
    begun.step("state", "recover", newer)
    assert newer.read_bytes() == begun.journal.read_bytes()
    assert [] == begun.planned()


def test_a_diverged_record_is_joined(begun: Partner) -> None:
    """A machine that saw another history refuses the record, and takes it once both are joined."""
    ours, theirs = applied_by_both(begun)
    mine = ours.write("mine.jsonl", ours.journal.read_bytes())
    shutil.copyfile(theirs.journal, ours.journal)
    assert "reconciler state recover NEWER.jsonl" in ours.run_fork("plan").err
    ours.step("state", "recover", mine)
    assert 3 == len(ours.listed())
    ours.step("state", "verify")


@pytest.mark.parametrize("what", ["another record", "damaged", "torn"])
def test_what_is_no_journal_of_this_record(begun: Partner, what: str) -> None:
    """Another record's, or a damaged one, is refused, and nothing is appended."""
    begun.step("apply", "--auto-approve")
    data = begun.journal.read_bytes()
    if what == "another record":
        begun.step("state", "init", "--state", "another", "--force")
        data = (begun.path / "another" / "europe" / "staging.jsonl").read_bytes()
    given = {"another record": data, "damaged": data.replace(b"ONB10011", b"ONB10012"), "torn": data[:30]}[what]
    file = begun.write("given.jsonl", given)
    said = {
        "another record": f"europe/staging: {file.name} belongs to another record; use --state with the store",
        "damaged": f"{file.name}:3: line 3 was edited",
        "torn": f"{file.name}:1: the file has no complete line",
    }[what]
    with begun.appending():
        done = begun.run_fork("state", "recover", "given.jsonl")
    assert (1, "") == (done.code, done.out)
    assert said in done.err


def test_what_was_never_answered_on_the_other_side_blocks(begun: Partner) -> None:
    """An unknown outcome of the other side is one here."""
    other = clone(begun)
    other.service.answer_next(refusal(500))
    other.step("apply", "--auto-approve", code=3)
    begun.step("state", "recover", other.journal)
    assert [("offers", "blocked")] == begun.planned()


def test_a_record_that_is_missing_is_put_back(begun: Partner) -> None:
    """A whole copy that has all that was last seen takes the place of what is missing, byte by byte."""
    begun.step("apply", "--auto-approve")
    whole = begun.journal.read_bytes()
    newer: Path = begun.write("newer.jsonl", whole + b'{"seq":99,"cut')
    begun.journal.unlink()
    assert "reconciler state recover COPY.jsonl\n" in begun.run_fork("plan").err
    done = begun.step("state", "recover", newer)
    assert f"  europe/staging: {len(whole.splitlines())} entries recovered\n" in done.out
    assert whole == begun.journal.read_bytes()
    assert 0 == begun.run_fork("plan").code


def test_an_older_copy_is_not_put_back(begun: Partner) -> None:
    """Where what was seen last is missing, what it created would be created again."""
    begun.step("apply", "--auto-approve")
    *older, _ = begun.journal.read_bytes().splitlines(keepends=True)
    copy: Path = begun.write("older.jsonl", b"".join(older))
    begun.journal.unlink()
    done = begun.run_fork("state", "recover", copy)
    assert (1, "") == (done.code, done.out)
    assert "the copy does not contain what was last seen of the record of europe/staging: " in done.err
    assert not begun.journal.exists()


def test_a_record_that_was_never_here(begun: Partner) -> None:
    """A journal is not put where none was seen: the place may be wrong, or the copy an older one."""
    newer: Path = begun.write("newer.jsonl", begun.journal.read_bytes())
    done = begun.run_fork("--state", "elsewhere", "state", "recover", newer)
    assert (1, "") == (done.code, done.out)
    assert "elsewhere/europe/staging.jsonl: no state record here; check --state\n" in done.err


def rebind(partner: Partner) -> bytes:
    """The service moves, and the record is bound to its new address; the journal then."""
    config = partner.path / "config" / "all.yaml"
    before = config.read_text(encoding="utf-8")
    here = partner.service.base_url
    config.write_text(before.replace(here, f"{here}/moved"), encoding="utf-8")
    partner.step("state", "rebind", "-t", "europe/staging", "--force")
    return partner.journal.read_bytes()


def test_a_rolled_back_record_of_another_service_is_joined(begun: Partner) -> None:
    """What was lost says that the service has moved: this machine has seen it here, so no one need rebind first."""
    begun.step("apply", "--auto-approve")
    before = begun.journal.read_bytes()
    newer = begun.write("newer.jsonl", rebind(begun))
    begun.journal.write_bytes(before)
    other = clone(begun)
    other.step("state", "retire", OFFERS)
    begun.journal.write_bytes(other.journal.read_bytes())
    assert "run:\n    reconciler state recover NEWER.jsonl\n" in begun.run("plan").err
    assert "now it is bound to" in begun.step("state", "recover", newer).err
    assert [("offers", "replace")] == begun.planned()


def test_a_copy_from_before_the_service_moved_is_joined(begun: Partner) -> None:
    """The record that was rebound stays so: whoever has the copy cannot rebind the record with their settings."""
    begun.step("apply", "--auto-approve")
    other = clone(begun)
    other.step("state", "retire", OFFERS)
    rebind(begun)
    here = begun.service.base_url
    assert f"now it is bound to {here}/moved: check" in begun.step("state", "recover", other.journal).err
    assert "belongs to the service" not in begun.step("plan").err


def test_a_copy_that_was_rebound_elsewhere_is_not_joined(begun: Partner) -> None:
    """It may have been bound to a sandbox for a rehearsal; where the service has moved, the message has a way out."""
    begun.step("apply", "--auto-approve")
    other = clone(begun)
    rebind(other)
    here = begun.service.base_url
    with begun.appending():
        refused = begun.step("state", "recover", other.journal, code=1).err
    assert (
        f"belongs to the service at {here}/moved, this record to {here}; if the service has moved there, set base_url"
        f" of europe/staging to {here}/moved (in config/, or RECONCILER_EUROPE_STAGING_BASE_URL where that is set),"
        " then rebind this record, and run this command again; to rebind, run:\n"
        "    reconciler state rebind -t europe/staging\n"
    ) in refused
    begun.step("state", "retire", OFFERS)
    rebind(begun)
    merged = begun.step("state", "recover", other.journal)
    assert (
        f"Warning: europe/staging: when the two diverged, the record was bound to the service at {here}; now it is"
        f" bound to {here}/moved: check with the operator that what was created since they diverged exists there\n"
    ) in merged.err
    assert "diverged" not in begun.step("state", "recover", other.journal).err


def rehearse(partner: Partner, *, returns: bool) -> None:
    """Retire at a sandbox what exists at the service, and create something else there."""
    with Sandbox(targets=("europe/staging",)) as sandbox:
        at_sandbox = Partner(
            partner.path, {**partner.environment, **dict(sandbox.variables())}, service=partner.service
        )
        at_sandbox.step("state", "rebind", "--force")
        at_sandbox.want(deals=["ONB10012"])
        at_sandbox.step("apply", "--auto-approve")
    if returns:
        partner.step("state", "rebind", "--force")


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("returns", [False, True])
def test_a_rehearsal_does_not_count_at_the_service(begun: Partner, *, missing: bool, returns: bool) -> None:
    """Neither of a copy that is still bound to the sandbox, nor of one that was bound back; an older one is taken."""
    begun.step("apply", "--auto-approve")
    other = clone(begun)
    older = begun.write("older.jsonl", other.journal.read_bytes())
    rehearse(other, returns=returns)
    if missing:
        begun.journal.unlink()
    refused = begun.step("state", "recover", other.journal, code=1).err
    assert "/europe/staging/api, " in refused
    assert ("perhaps to rehearse with a sandbox, and what was done there would count here" in refused) == (
        missing or returns
    )
    assert missing != begun.journal.exists()
    begun.step("state", "recover", older)
    assert [] == begun.planned()
    begun.want(offers=["ONB10011"], deals=["ONB10012"])
    assert [("deals", "create")] == begun.planned()


def test_a_copy_that_was_rebound_by_mistake_is_joined(begun: Partner) -> None:
    """Nothing was done before it was bound back."""
    begun.step("apply", "--auto-approve")
    other = clone(begun)
    config = other.read("config/all.yaml")
    rebind(other)
    other.write("config/all.yaml", config)
    other.step("state", "rebind", "--force")
    other.step("state", "retire", OFFERS)
    begun.step("state", "recover", other.journal)
    assert [("offers", "replace")] == begun.planned()


@pytest.mark.parametrize("missing", [False, True])
def test_a_service_that_moved_twice(begun: Partner, *, missing: bool) -> None:
    """What was created where it was for a time is recovered once this record has been bound there too."""
    begun.step("apply", "--auto-approve")
    other = clone(begun)
    older, here = begun.write("older.jsonl", begun.journal.read_bytes()), begun.service.base_url
    rebind(other)
    other.step("state", "retire", OFFERS)
    rebind(other)
    if missing:
        begun.journal.unlink()
    refused = begun.step("state", "recover", other.journal, code=1).err
    assert f"{here}/moved" in refused
    if missing:
        begun.step("state", "recover", older)
    rebind(begun)
    rebind(begun)
    begun.step("state", "recover", other.journal)
    assert [("offers", "replace")] == begun.planned()


def test_a_lost_record_of_a_service_that_moved_is_put_back(begun: Partner) -> None:
    """By what the message says."""
    begun.step("apply", "--auto-approve")
    other = clone(begun)
    rebind(other)
    begun.journal.unlink()
    refused = begun.step("state", "recover", other.journal, code=1).err
    assert "only if the service has moved there, first let base_url be that address" in refused
    begun.write("config/all.yaml", other.read("config/all.yaml"))
    begun.step("state", "recover", other.journal)
    assert [] == begun.planned()
