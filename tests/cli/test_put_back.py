"""A branch with the record was set back: what this machine has seen of it is put back, by what the message says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from support.partner import Partner
from support.project import EXECUTABLE

if TYPE_CHECKING:
    from pathlib import Path

    from support.project import Finished

PUT_BACK = "reconciler state recover -t europe/staging"


@pytest.fixture
def seen(partner: Partner) -> Partner:
    """A partner whose record is on a branch, with one create in it, which its own push was the last to show."""
    partner.want(offers=["ONB10011"])
    git(partner.path, "init", "--quiet", "--bare", str(origin(partner)))
    git(partner.path, "init", "--quiet")
    git(partner.path, "remote", "add", "origin", str(origin(partner)))
    partner.environment["RECONCILER_STATE"] = "git:record"
    partner.step("state", "init")
    partner.step("apply", "--auto-approve", "--unsealed")
    return partner


def origin(partner: Partner) -> Path:
    """The repository that is shared."""
    return partner.path.parent / "origin.git"


def git(at: Path, *arguments: str) -> str:
    """Run git; what it prints."""
    return subprocess.run(["git", *arguments], cwd=at, capture_output=True, check=True, text=True, timeout=60).stdout


def journal(partner: Partner) -> str:
    """The journal on the branch."""
    return git(origin(partner), "show", "record:europe/staging.jsonl")


def kinds(partner: Partner) -> list[str]:
    """The kinds of the entries on the branch."""
    return [json.loads(line)["kind"] for line in journal(partner).splitlines()]


def set_back(partner: Partner, to: str = "record~1") -> None:
    """Somebody restores the branch as it was before, or pushes that by force."""
    git(origin(partner), "update-ref", "refs/heads/record", to)


def copies(partner: Partner) -> Path:
    """The directory of the local copies of branches."""
    return partner.path.parent / "home" / "cache" / "reconciler" / "git"


def colleague(partner: Partner) -> Partner:
    """Somebody with the same project on another machine."""
    home = partner.path.parent / "theirs"
    return Partner(
        partner.path,
        {**partner.environment, "XDG_CACHE_HOME": str(home / "cache"), "XDG_DATA_HOME": str(home / "data")},
        service=partner.service,
    )


def advised(done: Finished) -> str:
    """The first command that a message names, which stands on a line of its own."""
    return str(re.findall(r"run:\n    (.*)\n", done.err)[0])


def test_what_was_seen_is_put_back(seen: Partner) -> None:
    """To the byte, though git has tidied up since; nothing is to be accepted, and nothing is planned twice."""
    before = journal(seen)
    set_back(seen)
    done = seen.step("plan", code=1)
    assert "was rolled back: the last 1 of 4 entries are missing; this machine still has what is missing" in done.err
    assert (PUT_BACK, False) == (advised(done), "accept-rollback" in done.err)
    (copy,) = copies(seen).glob("*.git")
    git(copy, "gc", "--quiet", "--prune=now")
    assert "  europe/staging: 1 entry recovered\n" == seen.step(*advised(done).split()[1:]).out
    assert before == journal(seen)
    assert [] == seen.planned()
    assert "Nothing to recover.\n" == seen.step(*advised(done).split()[1:]).out
    assert 1 == len(seen.service.creates)


def test_what_was_added_since_stays(seen: Partner) -> None:
    """Somebody who has not seen the newer journal appends to the older one: both are in the record then."""
    set_back(seen)
    other = colleague(seen)
    other.step("state", "resolve", "europe/staging/offers", "--created", "--force")
    added = journal(seen)
    done = seen.step("plan", code=1)
    assert "to restore it after the 4 entries that are here, which stay, run:" in done.err
    seen.step(*advised(done).split()[1:])
    assert journal(seen).startswith(added)
    assert ["begun", "bound", "intent", "resolved", "joined"] == kinds(seen)
    assert [] == seen.planned()
    assert [] == other.planned()


def test_each_puts_back_what_they_have(seen: Partner) -> None:
    """The copies of two people differ: in whatever order, nothing is lost."""
    other = colleague(seen)
    other.step("plan")
    seen.step("state", "retire", "europe/staging/offers")
    set_back(seen, "record~2")
    done = other.step("plan", code=1)
    assert "the last 1 of 4 entries are missing; this machine still has what is missing" in done.err
    other.step(*advised(done).split()[1:])
    done = seen.step("plan", code=1)
    assert "the last 1 of 5 entries are missing; this machine still has what is missing" in done.err
    seen.step(*advised(done).split()[1:])
    assert "retired" == kinds(seen)[-1]
    assert "valid, 5 entries" in other.step("state", "verify").out


@pytest.mark.parametrize("again", [False, True])
def test_a_branch_that_was_deleted_is_put_back(seen: Partner, *, again: bool) -> None:
    """The journal is put back to the byte; one that somebody began anew is another record, and is left alone."""
    before = journal(seen)
    git(origin(seen), "update-ref", "-d", "refs/heads/record")
    if again:
        colleague(seen).step("state", "init")
        done = seen.step("plan", code=1)
        assert "was replaced" in done.err
        assert PUT_BACK not in done.err
        assert "Nothing to recover.\n" == seen.step(*PUT_BACK.split()[1:]).out
        return
    for command in (("state", "init"), ("plan",)):
        done = seen.step(*command, code=1)
        assert (PUT_BACK, False) == (advised(done), "accept-rollback" in done.err)
    assert "  europe/staging: 4 entries recovered\n" == seen.step(*advised(done).split()[1:]).out
    assert before == journal(seen)
    assert [] == seen.planned()


SECOND = """\
  europe/production:
    auth_url: https://login.service.example
    base_url: https://api.service.example
subscriptions:
"""


@pytest.fixture
def both(seen: Partner) -> Partner:
    """A second target beside the first, with a record too."""
    config = (seen.path / "config" / "all.yaml").read_text(encoding="utf-8")
    seen.write("config/all.yaml", config.replace("subscriptions:\n", SECOND))
    seen.step("state", "init", "-t", "europe/production")
    return seen


ALL = "reconciler state recover -t '*/*'"
COMMANDS = [("plan",), ("apply", "--auto-approve"), ("status",), ("removals",), ("state", "list"), ("state", "verify")]


@pytest.mark.parametrize("command", [*COMMANDS, ("state", "init")])
def test_all_targets_on_a_deleted_branch_have_one_command(both: Partner, command: tuple[str, ...]) -> None:
    """What is missing of each is told once, and one command restores it."""
    before = journal(both)
    git(origin(both), "update-ref", "-d", "refs/heads/record")
    done = both.step(*command, code=1)
    assert (
        f"Error: git:record of {origin(both)}: the state records of europe/production, europe/staging are missing;"
        " until they are restored, nothing is created there; if they were copied to another store, use that store with"
        " --state; otherwise, this machine still has what is missing; to restore all of it,"
        f" run:\n    {ALL}\n"
    ) == done.err
    both.shell(f"{EXECUTABLE} {ALL.removeprefix('reconciler ')}")
    assert before == journal(both)
    assert [] == both.planned()


def test_all_targets_on_a_branch_that_was_set_back_have_one_command(both: Partner) -> None:
    """Beside one that is missing too: what was added since stays."""
    before = git(origin(both), "rev-parse", "record").strip()
    both.step("state", "retire", "europe/staging/offers")
    set_back(both, f"{before}~1")
    done = both.step("plan", code=1)
    assert "the state records of europe/production, europe/staging are missing or were rolled back; " in done.err
    assert ALL == advised(done)
    both.shell(f"{EXECUTABLE} {ALL.removeprefix('reconciler ')}")
    both.step("plan")


def test_one_that_is_damaged_does_not_stop_the_others(both: Partner) -> None:
    """On a branch that somebody began anew; the command is not named again."""
    before = journal(both)
    damaged = git(origin(both), "show", "record:europe/production.jsonl").replace("api.service", "eu.service")
    config = both.read("config/all.yaml")
    both.write("config/all.yaml", config.replace("subscriptions:\n", SECOND.replace("production", "testing")))
    both.step("state", "init", "-t", "europe/testing")
    git(origin(both), "update-ref", "-d", "refs/heads/record")
    colleague(both).step("state", "init", "-t", "europe/production")
    both.write("damaged.jsonl", damaged)
    git(both.path, "fetch", "--quiet", "origin", "record")
    blob = git(both.path, "hash-object", "-w", "damaged.jsonl").strip()
    git(both.path, "read-tree", "FETCH_HEAD")
    git(both.path, "update-index", "--add", "--cacheinfo", f"100644,{blob},europe/production.jsonl")
    tree = git(both.path, "write-tree").strip()
    who = ("-c", "user.name=S", "-c", "user.email=s@partner.example")
    commit = git(both.path, *who, "commit-tree", "-m", "Edited", tree).strip()
    git(both.path, "push", "--quiet", "--force", "origin", f"{commit}:refs/heads/record")
    assert ALL == advised(both.step("plan", code=1))
    done = both.shell(f"{EXECUTABLE} {ALL.removeprefix('reconciler ')}")
    assert 1 == done.code
    assert "europe/production:1: line 1 was edited" in done.err
    assert before == journal(both)
    refused = both.step("plan", code=1).err
    assert "line 1 was edited" in refused
    assert ALL not in refused


def test_the_others_on_a_deleted_branch_are_put_back_too(both: Partner) -> None:
    """What is pushed for the first target does not take the place of what is kept of the second."""
    seen = both
    before = journal(seen)
    git(origin(seen), "update-ref", "-d", "refs/heads/record")
    for target in ("europe/production", "europe/staging"):
        done = seen.step("plan", "-t", target, code=1)
        assert f"reconciler state recover -t {target}" == advised(done)
        seen.step(*advised(done).split()[1:])
    assert before == journal(seen)
    assert [] == seen.planned()


def test_two_histories_of_a_deleted_branch_are_put_back(seen: Partner) -> None:
    """What was seen of somebody's appends to an older journal counts too: it is not created again."""
    set_back(seen, "record~2")
    other = colleague(seen)
    other.want(loans=["LOA10013"])
    other.step("apply", "--auto-approve", "--unsealed")
    other.want(offers=["ONB10011"], loans=["LOA10013"])
    seen.step("plan", code=1)
    git(origin(seen), "update-ref", "-d", "refs/heads/record")
    seen.step(*advised(seen.step("plan", code=1)).split()[1:])
    assert [] == seen.planned()
    assert "Nothing to recover.\n" == seen.step(*PUT_BACK.split()[1:]).out


@pytest.mark.parametrize("is_seen", [False, True])
def test_a_branch_that_was_deleted_after_a_copy(seen: Partner, *, is_seen: bool) -> None:
    """The record continues elsewhere: what says so is put back if it was seen, and the message asks for it if not."""
    colleague(seen).step("state", "copy", "git:record", "git:moved")
    if is_seen:
        seen.step("plan", code=1)
    git(origin(seen), "update-ref", "-d", "refs/heads/record")
    done = seen.step("plan", code=1)
    assert "if it was copied to another store, use that store with --state; otherwise, this machine still" in done.err
    seen.step(*advised(done).split()[1:])
    assert is_seen == ("closed" in kinds(seen))
    if is_seen:
        assert "git:moved" in seen.step("plan", code=1).err


def test_what_is_lost_is_accepted(seen: Partner) -> None:
    """Where the copy is gone too, there is nothing to put back, and no message says so."""
    set_back(seen)
    shutil.rmtree(copies(seen))
    done = seen.step("plan", code=1)
    assert ("reconciler state recover NEWER.jsonl", True) == (advised(done), "accept-rollback" in done.err)
    assert "not everything is lost" not in seen.step("state", "accept-rollback", "-t", "europe/staging", "--force").err


def test_a_part_is_put_back_first(seen: Partner) -> None:
    """A copy that has seen less than this machine has is not taken for the whole record."""
    (copy,) = copies(seen).glob("*.git")
    kept = copy.with_suffix(".kept")
    shutil.copytree(copy, kept)
    seen.step("state", "retire", "europe/staging/offers")
    shutil.rmtree(copy)
    kept.rename(copy)
    set_back(seen, "record~2")
    done = seen.step("plan", code=1)
    assert "this machine still has a part of what is missing, in a copy with 4 entries" in done.err
    assert PUT_BACK == advised(done)
    assert done.err.index("for the rest:") < done.err.index("accept-rollback")


def test_accepting_a_loss_that_is_none_warns(seen: Partner) -> None:
    """Whoever gives up what is still there is told so first."""
    set_back(seen)
    done = seen.step("state", "accept-rollback", "-t", "europe/staging", "--force")
    assert "not everything is lost: to restore what this machine still has" in done.err
    assert PUT_BACK == advised(done)


@pytest.mark.parametrize("arguments", [(), ("x.jsonl", "-t", "europe/staging")])
def test_one_source_is_named(seen: Partner, arguments: tuple[str, ...]) -> None:
    """A file or a target: what is recovered is never a guess."""
    assert "use FILE or -t TARGET" in seen.step("state", "recover", *arguments, code=1).err


def test_what_was_kept_outlives_a_git_that_died(seen: Partner) -> None:
    """A lock that it left makes the copy unusable for git, not what the branch was set back from."""
    before = journal(seen)
    set_back(seen)
    seen.step("plan", code=1)
    (copy,) = copies(seen).glob("*.git")
    (copy / "refs/reconciler/tip.lock").touch()
    git(origin(seen), "update-ref", "refs/heads/record", "record~1")
    for _ in range(2):
        done = seen.step("plan", code=1)
        assert "this machine still has what is missing" in done.err
    assert not (copy / "refs/reconciler/tip.lock").exists()
    seen.step(*advised(done).split()[1:])
    assert before == journal(seen)


def test_the_record_that_replaced_another_is_put_back(seen: Partner) -> None:
    """Not the longer one before it, whose loss it accepts."""
    git(origin(seen), "update-ref", "-d", "refs/heads/record")
    seen.step("state", "accept-rollback", "-t", "europe/staging", "--force")
    seen.step("state", "import", "--all")
    before = journal(seen)
    git(origin(seen), "update-ref", "-d", "refs/heads/record")
    seen.step(*advised(seen.step("plan", code=1)).split()[1:])
    assert before == journal(seen)
    assert [] == seen.planned()


def test_a_rebinding_that_was_set_back_is_put_back(seen: Partner) -> None:
    """The record that is here is the older one of the same history: it need not belong to the same service."""
    before_rebinding = seen.service.base_url
    config = (seen.path / "config" / "all.yaml").read_text(encoding="utf-8")
    seen.write("config/all.yaml", config.replace(before_rebinding, f"{before_rebinding}/moved"))
    seen.step("state", "rebind", "-t", "europe/staging", "--force")
    before = journal(seen)
    set_back(seen)
    seen.step(*advised(seen.step("plan", code=1)).split()[1:])
    assert before == journal(seen)
    assert [] == seen.planned()


def move(partner: Partner) -> str:
    """The service moves to another address, which `config/` names from then on."""
    here = partner.service.base_url
    config = (partner.path / "config" / "all.yaml").read_text(encoding="utf-8")
    partner.write("config/all.yaml", config.replace(here, f"{here}/moved"))
    return f"{here}/moved"


@pytest.mark.parametrize("rebinds_here", [True, False])
def test_a_rebinding_in_one_of_two_histories(seen: Partner, *, rebinds_here: bool) -> None:
    """One command merges them, whoever rebound the record: it stays bound to where the service has moved."""
    other, old, new = colleague(seen), seen.service.base_url, f"{seen.service.base_url}/moved"
    rebinding = ("state", "rebind", "-t", "europe/staging", "--force")
    if rebinds_here:
        move(seen)
        seen.step(*rebinding)
        set_back(seen)
        other.step("state", "retire", "europe/staging/offers")
    else:
        seen.step("state", "retire", "europe/staging/offers")
        set_back(seen)
        move(seen)
        other.step(*rebinding)
    assert PUT_BACK == advised(seen.step("plan", code=1))
    done = seen.step(*PUT_BACK.split()[1:])
    assert "  europe/staging: 1 entry recovered\n" == done.out
    here, there = (old, new) if rebinds_here else (new, old)
    assert (
        f"Warning: europe/staging: the record was bound to the service at {here}, what was recovered to the service"
        f" at {there}; now it is bound to {new}: check with the operator that what was created since they diverged"
        " exists there\n" == done.err
    )
    assert [("offers", "replace")] == seen.planned()
    assert "belongs to the service" not in seen.step("plan").err
    assert "Nothing to recover.\n" == seen.step(*PUT_BACK.split()[1:]).out
    assert [("offers", "replace")] == other.planned()
