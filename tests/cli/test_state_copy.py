"""`state copy`: a record continues in another store, and what is left behind is closed."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from support.project import EXECUTABLE, finish
from support.stopped_process import wait_until_stopped

from reconciler.operations.copying import written_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from support.partner import Partner

    from reconciler.operations.workspace import Workspace

OFFERS = "europe/staging/offers"


@pytest.fixture
def branch(tmp_path: Path) -> str:
    """The value of --state for a branch of a repository that is empty."""
    origin = tmp_path / "origin.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(origin)], check=True)
    return f"git+file://{origin}#records"


@pytest.fixture
def applied(partner: Partner) -> Partner:
    """A partner with one subscription, created."""
    partner.begin(offers=["ONB10011"])
    partner.step("apply", "--auto-approve")
    return partner


def journal_at(partner: Partner, place: str) -> bytes:
    """The bytes of the journal in a store."""
    if not place.startswith("git+"):
        return (partner.path / place / "europe/staging.jsonl").read_bytes()
    origin, _, name = place.removeprefix("git+file://").partition("#")
    show = ["git", "-C", origin, "show", f"{name}:europe/staging.jsonl"]
    return subprocess.run(show, capture_output=True, check=True).stdout


def kinds_at(partner: Partner, place: str) -> list[str]:
    """The kinds of the entries in a store."""
    return [json.loads(line)["kind"] for line in journal_at(partner, place).splitlines()]


def advised(text: str) -> list[list[str]]:
    """The commands in a message, without the name of the program."""
    lines = [line.strip() for line in text.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("reconciler ")]


@pytest.mark.parametrize("way", ["to a branch", "to files", "back to files"])
def test_a_record_continues_in_the_other_store(applied: Partner, branch: str, way: str) -> None:
    """It has every line, and plans and applies as before; an apply of what is left behind is refused."""
    source, to = {"to a branch": ("state", branch), "to files": ("state", "new"), "back to files": (branch, "new")}[way]
    if way == "back to files":
        applied.step("state", "copy", "state", branch)
    before = kinds_at(applied, source)
    told = applied.run_fork("state", "copy", source, to)
    assert 0 == told.code, told
    assert f"Use --state {to} from now on, or set RECONCILER_STATE" in told.err
    left, copied = journal_at(applied, source), journal_at(applied, to)
    assert copied.startswith(left)
    assert [*before, "closed", "closed"] == kinds_at(applied, source)
    assert [*before, "closed", "closed", "opened"] == kinds_at(applied, to)
    applied.want(offers=["ONB10011"], loans=["LOA10013"])
    refused = applied.run_fork("apply", "--auto-approve", "--state", source)
    assert 1 == refused.code
    assert f"is closed here: it was copied to {to}; use it there, with --state {shlex.quote(to)}" in refused.err
    assert f"run:\n    export RECONCILER_STATE={shlex.quote(to)}\n" in refused.err
    done = applied.step("apply", "--auto-approve", "--unsealed", "--state", to)
    assert "1 created" in done.out
    assert (left, 2) == (journal_at(applied, source), len(applied.service.creates))
    applied.step("plan", "--detailed-exitcode", "--state", to)


WRITING = (
    "plan", "apply --auto-approve", f"state show {OFFERS}", f"state retire {OFFERS}", f"state removed {OFFERS} --force",
    f"state mv {OFFERS} europe/staging/others", f"state resolve {OFFERS} --created", "state import --all",
    "state observe seen.jsonl", "state rebind --force", "state accept-rollback -t europe/staging --force",
    "state recover older.jsonl", "state init", f"secret set {OFFERS}", "state list", "status",
)  # fmt: skip


def test_what_is_left_behind_is_closed(applied: Partner) -> None:
    """Every command that plans on the record or appends to it says where it is; its history can still be read."""
    observed = {"at": "2026-11-20T13:30:00Z", "url": "https://hooks.partner.example/offers", "headers": {}}
    applied.write("seen.jsonl", json.dumps({**observed, "body": json.dumps({"EventCode": "ONB10011"})}) + "\n")
    applied.write("older.jsonl", applied.journal.read_bytes())
    applied.step("state", "copy", "state", "new")
    left = applied.journal.read_bytes()
    for line in WRITING:
        told = applied.step(*shlex.split(line), code=1, stdin="a secret").err
        assert "the state record of europe/staging is closed here: it was copied to new" in told, line
    assert left == applied.journal.read_bytes()
    assert "valid, 6 entries" in applied.step("state", "verify").out
    assert "closed, since it is copied to new" in applied.step("state", "verify").out
    assert applied.step("state", "history").out.endswith("copied to new\n")


@pytest.mark.parametrize("left", ["nothing", "an older record"])
def test_what_is_left_behind_is_lost(applied: Partner, left: str) -> None:
    """Every message that would give the record up says first where it continues: all of it would be created again."""
    before = applied.journal.read_bytes()
    applied.step("state", "copy", "state", "new")
    applied.journal.unlink()
    if left != "nothing":
        applied.journal.write_bytes(before)
    place = f"it was last seen at {applied.path}/new: if it continues there, use that store with --state; "
    for command in (
        "plan",
        "state list",
        *(["state init"] if left == "nothing" else []),
        "state accept-rollback -t */*",
    ):
        done = applied.step(*command.split(), code=1)
        assert place in done.err, done
    applied.step("plan", "--state", "new", "--detailed-exitcode")


@pytest.mark.parametrize("left", ["nothing", "older"])
def test_what_is_left_behind_is_not_replaced_by_the_copy(applied: Partner, left: str) -> None:
    """It would be used in both places, and what one creates the other would create again."""
    before = applied.journal.read_bytes()
    applied.step("state", "copy", "state", "new")
    if left == "nothing":
        applied.journal.unlink()
    else:
        applied.journal.write_bytes(before)
    refused = applied.step("state", "recover", "new/europe/staging.jsonl", code=1).err
    assert "is of a record that continues in new; use it there, with --state new" in refused
    assert [["state", "copy", "new", "state"]] * (left == "nothing") == advised(refused)
    if left == "older":
        assert before == applied.journal.read_bytes()
        return
    for command in advised(refused):
        applied.step(*command)
    assert ["state"] == open_places(applied, "state", "new")


def test_only_the_copy_is_needed(applied: Partner) -> None:
    """What is left behind may be deleted: the last known head is that of the copy, and a rollback of it is noticed."""
    applied.step("state", "copy", "state", "new")
    applied.journal.unlink()
    applied.step("plan", "--detailed-exitcode", "--state", "new")
    applied.step("state", "retire", OFFERS, "--state", "new")
    copy = applied.path / "new/europe/staging.jsonl"
    copy.write_bytes(b"".join(copy.read_bytes().splitlines(keepends=True)[:-1]))
    assert "was rolled back" in applied.step("plan", "--state", "new", code=1).err


def test_again(applied: Partner) -> None:
    """A copy that is complete is not made again, whatever was appended to it since; nothing is overwritten."""
    applied.step("state", "copy", "state", "new")
    applied.step("state", "retire", OFFERS, "--state", "new")
    before = [journal_at(applied, place) for place in ("state", "new")]
    applied.step("state", "copy", "state", "new")
    applied.step("state", "copy", "./state", "./new/")
    assert before == [journal_at(applied, place) for place in ("state", "new")]


def test_a_copy_of_a_copy(applied: Partner) -> None:
    """The record moves on from where it is; back to where an older copy is left, it does not."""
    applied.step("state", "copy", "state", "second")
    refused = applied.step("state", "copy", "state", "third", code=1)
    assert "the record was copied to second, and continues there" in refused.err
    applied.step(*advised(refused.err)[0])
    refused = applied.step("state", "copy", "third", "state", code=1)
    assert "there is another record, or an older copy of this one; use an empty place" in refused.err
    applied.step("plan", "--detailed-exitcode", "--state", "third")


@pytest.mark.parametrize("other", ["another record", "the same bytes", "damage"])
def test_a_place_that_is_taken(applied: Partner, other: str) -> None:
    """Where the target has a record already, nothing is closed and nothing written."""
    data = {"the same bytes": applied.journal.read_bytes(), "damage": b"damage\n"}.get(other)
    if data is None:
        applied.step("state", "init", "--state", "new", "--force")
    else:
        applied.write("new/europe/staging.jsonl", data)
    before = [journal_at(applied, place) for place in ("state", "new")]
    refused = applied.step("state", "copy", "state", "new", code=1)
    assert ("not a journal entry" if other == "damage" else "use an empty place") in refused.err
    assert before == [journal_at(applied, place) for place in ("state", "new")]


def test_the_same_store(applied: Partner) -> None:
    """A record that is not closed is not copied onto itself."""
    with applied.appending():
        refused = applied.step("state", "copy", "state", "file:./state", code=1)
    assert "FROM and TO are the same store" in refused.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nowhere", "new"], "no state record here"),
        (["state", "ftp://host/x"], "TO: unknown store type ftp:"),
        (["", "new"], "FROM: the value is empty"),
        (["state", "new", "-t", "usa/*"], "matches no target"),
    ],
)
def test_what_cannot_be_copied(applied: Partner, arguments: Sequence[str], problem: str) -> None:
    """It is said, and nothing is closed."""
    with applied.appending():
        assert problem in applied.step("state", "copy", *arguments, code=1).err


def test_a_disk_that_is_lost_with_the_job(applied: Partner) -> None:
    """On a CI runner a record is copied to a directory by force only."""
    applied.environment["CI"] = "true"
    with applied.appending():
        assert "a CI runner's disk is lost with the job" in applied.step("state", "copy", "state", "new", code=1).err
    applied.step("state", "copy", "state", "new", "--force")


UNTRUSTWORTHY = """
from reconciler.errors import StateError
from reconciler.state.stores.files import FileStore
def prepare(store):
    raise StateError(f"{store.location} loses writes")
FileStore.prepare = prepare
"""


def test_a_store_that_cannot_be_trusted(applied: Partner) -> None:
    """The other store is tested before anything is closed."""
    applied.before_steps = UNTRUSTWORTHY
    with applied.appending():
        assert "new loses writes" in applied.step("state", "copy", "state", "new", code=1).err
    assert not (applied.path / "new").exists()


def test_a_password_in_an_argument(applied: Partner) -> None:
    """It is warned of and not repeated, and nothing is closed if that store cannot be reached."""
    with applied.appending():
        told = applied.step("state", "copy", "state", "git+http://me:hunter2@127.0.0.1:9/x#records", code=1)
    assert "TO contains a password, which every user sees in the process list" in told.err
    assert "hunter2" not in told.out + told.err


def test_files_that_are_behind_their_branch(applied: Partner) -> None:
    """Entries that the branch has would be missing in the copy: add them first."""

    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=A", "-c", "user.email=a@b.example", *arguments], cwd=applied.path, check=True
        )

    git("init", "--quiet", "--bare", "../origin.git")
    git("init", "--quiet", "--initial-branch=main")
    git("remote", "add", "origin", "../origin.git")
    older = applied.journal.read_bytes()
    applied.step("state", "retire", OFFERS)
    git("add", "state")
    git("commit", "--quiet", "--message=state")
    git("push", "--quiet", "--set-upstream", "origin", "main")
    applied.journal.write_bytes(older)
    told = applied.step("state", "copy", "state", "new", "--cache-dir", "another-machine", code=1).err
    assert "this record lacks 1 entry of origin/main, though that is pulled" in told
    assert older == applied.journal.read_bytes()


def test_a_call_that_may_be_in_flight(partner: Partner) -> None:
    """Its outcome could not be appended: the copy is refused until then, and says when."""
    partner.begin(offers=["ONB10011"])
    partner.environment["RECONCILER_TEST_FAILPOINT"] = "after-append:1:kill"
    partner.step("apply", "--auto-approve", code=-9)
    with partner.appending():
        told = partner.step("state", "copy", "state", "new", code=1).err
    assert "europe/staging: a create of this record may still be in flight" in told
    assert "if it was killed, copy the record after 20" in told
    partner.step("state", "resolve", OFFERS, "--not-created", "--force")
    partner.step("state", "copy", "state", "new")


def test_an_unknown_outcome_is_carried_over(partner: Partner) -> None:
    """What is overdue is copied as what it is, blocks its address, and is resolved where it is then."""
    partner.begin(offers=["ONB10011"])
    partner.environment["RECONCILER_TEST_FAILPOINT"] = "send_window=0.1,margin=0,after-append:1:kill"
    partner.step("apply", "--auto-approve", "--timeout", "0.1", code=-9)
    del partner.environment["RECONCILER_TEST_FAILPOINT"]
    time.sleep(0.3)
    partner.step("state", "copy", "state", "new")
    partner.step("apply", "--auto-approve", "--state", "new", code=3)
    partner.step("state", "resolve", OFFERS, "--not-created", "--state", "new")
    partner.step("apply", "--auto-approve", "--state", "new")
    assert 1 == len(partner.service.creates)


def test_an_outcome_that_comes_after_the_record_was_closed(partner: Partner) -> None:
    """It is saved to a recovery file, and the command that is advised records it where the record continues."""
    partner.begin(offers=["ONB10011"], loans=["LOA10013"])
    partner.environment["RECONCILER_TEST_FAILPOINT"] = "send_window=0.5,margin=0,before-append:2:stop"
    apply = partner.start_step("apply", "--auto-approve", "--timeout", "1")
    del partner.environment["RECONCILER_TEST_FAILPOINT"]
    wait_until_stopped(apply.pid)
    time.sleep(1.6)
    partner.step("state", "copy", "state", "new")
    left = partner.journal.read_bytes()
    apply.send_signal(signal.SIGCONT)
    done = finish(apply)
    assert 3 == done.code, done
    assert ". Cause: it was closed, since it is copied to new. Until recovered" in done.err
    assert (left, 1) == (partner.journal.read_bytes(), len(partner.service.creates))
    (command,) = [words for words in advised(done.err) if "recover" in words]
    assert ["--state", "new"] == command[-2:]
    partner.step(*command)
    assert [("offers", "create")] == [
        (change["address"].rpartition("/")[2], change["action"])
        for change in partner.step("plan", "--state", "new", "--format", "json").document["changes"]
    ]
    partner.step("apply", "--auto-approve", "--state", "new")
    assert 2 == len(partner.service.creates)


def test_an_apply_that_was_planned_before_sends_nothing(partner: Partner) -> None:
    """Its first append meets a closed record: nothing is sent, and it says where the record is."""
    partner.begin(offers=["ONB10011"])
    partner.environment["RECONCILER_TEST_FAILPOINT"] = "before-append:1:stop"
    apply = partner.start_step("apply", "--auto-approve")
    del partner.environment["RECONCILER_TEST_FAILPOINT"]
    wait_until_stopped(apply.pid)
    partner.step("state", "copy", "state", "new")
    apply.send_signal(signal.SIGCONT)
    done = finish(apply)
    assert (1, 0) == (done.code, len(partner.service.creates)), done
    assert "closed, since it is copied to new" in done.out
    partner.step("apply", "--auto-approve", "--state", "new")
    assert 1 == len(partner.service.creates)


BEFORE_AN_APPEND = """
import os, subprocess
from reconciler.state.stores.files import FileStore
append, appends = FileStore.append, []
def append_after(*arguments):
    appends.append(arguments)
    if len(appends) == {number}:
        {happens}
    return append(*arguments)
FileStore.append = append_after
"""


def before_append(partner: Partner, number: int, command: str = "", cwd: str = ".") -> None:
    """Just before the append of this number, have another process run a command; without one, be killed."""
    run = f"subprocess.run({[str(EXECUTABLE), *command.split()]!r}, cwd={cwd!r})"
    partner.before_steps = BEFORE_AN_APPEND.format(number=number, happens=run if command else "os.kill(os.getpid(), 9)")


def open_places(partner: Partner, *places: str) -> list[str]:
    """The stores in which the record can be used, on a machine that has seen none of them."""
    found = []
    for number, place in enumerate(places):
        partner.environment["RECONCILER_CACHE_DIR"] = f"machine-{number}"
        if (partner.path / place).exists() and partner.step("plan", "--state", place, code=None).code == 0:
            found.append(place)
    del partner.environment["RECONCILER_CACHE_DIR"]
    return found


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_two_copies_to_different_stores(applied: Partner, number: int) -> None:
    """Whoever is second is refused, whenever it comes, and the first goes on: one store has the record."""
    before_append(applied, number, "state copy state second")
    done = applied.step("state", "copy", "state", "first", code=None)
    applied.before_steps = ""
    winner = "second" if number == 1 else "first"
    assert (winner == "second") == (done.code == 1), done
    assert [winner] == open_places(applied, "state", "first", "second")
    if number == 1:
        assert "the record was copied to second, and continues there" in done.err


@pytest.mark.parametrize("number", [2, 3])
def test_a_copy_that_is_overridden(applied: Partner, number: int) -> None:
    """Until it is complete, a copy to another store takes its place by force, and the first one ends with an error."""
    before_append(applied, number, "state copy state second --force")
    done = applied.step("state", "copy", "state", "first", code=1)
    applied.before_steps = ""
    assert "another run has started to copy the record to second" in done.err
    assert ["second"] == open_places(applied, "state", "first", "second")


@pytest.mark.parametrize("number", [2, 3])
def test_a_copy_that_is_taken_back(applied: Partner, number: int) -> None:
    """Until it is complete, the record can be opened again where it was, and the copy ends with an error."""
    before_append(applied, number, "state copy state state --force")
    done = applied.step("state", "copy", "state", "new", code=1)
    applied.before_steps = ""
    assert "the record was opened again before the copy was complete" in done.err
    assert ["state"] == open_places(applied, "state", "new")
    applied.step("plan", "--detailed-exitcode")


def test_two_copies_at_once_to_one_store(applied: Partner) -> None:
    """One succeeds at least, the others too or they say why not; the record is there once."""
    copies = [finish(one) for one in [applied.start_step("state", "copy", "state", "new") for _ in range(3)]]
    assert 0 in [one.code for one in copies], copies
    assert all("another run has started to copy the record" in one.err for one in copies if one.code), copies
    assert ["new"] == open_places(applied, "state", "new")
    assert ["closed", "closed", "opened"] == kinds_at(applied, "new")[-3:]
    applied.step("state", "copy", "state", "new")


@pytest.mark.parametrize("number", [2, 3, 4])
def test_one_name_of_two_places(applied: Partner, number: int) -> None:
    """A relative path means another directory elsewhere: of two copies to one name, only one is opened."""
    state = str(applied.path / "state")
    (applied.path / "elsewhere").mkdir()
    before_append(applied, number, f"state copy {state} new", cwd="elsewhere")
    done = applied.step("state", "copy", state, "new", code=None)
    applied.before_steps = ""
    winner = "new" if number == 4 else "elsewhere/new"
    assert (number != 4, [winner]) == (done.code, open_places(applied, "state", "new", "elsewhere/new")), done
    again = applied.step("state", "copy", state, "new", "--cache-dir", "forgetful", code=None)
    assert (number != 4) == again.code, again
    assert again.code == 0 or "the copy that was complete is missing" in again.err
    assert [winner] == open_places(applied, "state", "new", "elsewhere/new")


def test_a_store_that_cannot_be_written(applied: Partner, branch: str) -> None:
    """The record stays closed, and the message names the commands that finish the copy, or take it back."""
    origin = branch.removeprefix("git+file://").partition("#")[0]
    hook = applied.write("pre-receive", "#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    subprocess.run(["cp", str(hook), f"{origin}/hooks/pre-receive"], check=True)
    failed = applied.step("state", "copy", "state", branch, code=1)
    assert "state may be closed until the copy is complete" in failed.err
    again = advised(failed.err)
    refused = applied.step("plan", code=1)
    assert f"a copy to {branch} was started at 20" in refused.err
    finishing, reopening = advised(refused.err)
    assert ["state", "copy", "state", branch] == again[0] == finishing[:4]
    other = applied.step("state", "copy", "state", "new", code=1)
    assert finishing == advised(other.err)[0]
    applied.step(*reopening)
    applied.step("plan", "--detailed-exitcode")
    applied.step(*again[0], code=1)
    subprocess.run(["rm", f"{origin}/hooks/pre-receive"], check=True)
    applied.step(*finishing)
    applied.step("plan", "--detailed-exitcode", "--state", branch)


def test_a_copy_that_is_lost(applied: Partner) -> None:
    """It is not made again from what is left behind, which may be older, unless by force."""
    applied.step("state", "copy", "state", "new")
    applied.environment["RECONCILER_CACHE_DIR"] = "another-machine"
    (applied.path / "new/europe/staging.jsonl").unlink()
    refused = applied.step("state", "copy", "state", "new", code=1)
    assert "the copy that was complete is missing" in refused.err
    (command,) = advised(refused.err)
    applied.step(*command)
    applied.step("plan", "--detailed-exitcode", "--state", "new")


def test_a_copy_that_was_rolled_back(applied: Partner) -> None:
    """A copy in which `opened` is missing was rolled back, where this machine has seen it: it is not opened again."""
    applied.step("state", "copy", "state", "new")
    copy = applied.path / "new/europe/staging.jsonl"
    copy.write_bytes(applied.journal.read_bytes())
    assert "was rolled back" in applied.step("state", "copy", "state", "new", code=1).err
    assert copy.read_bytes() == applied.journal.read_bytes()


def test_a_copy_that_is_not_open_yet(applied: Partner) -> None:
    """Its message names the command that finishes it, whichever of the two stores is in use."""
    before_append(applied, 4)
    applied.step("state", "copy", "state", "new", code=-9)
    applied.before_steps = ""
    for place, why in (
        ("state", "if it is closed there too, that copy was interrupted"),
        ("new", "if it was interrupted"),
    ):
        told = applied.step("plan", "--state", place, code=1).err
        assert why in told
        command, *_ = advised(told)
        assert ["state", "copy", "state", "new", "-t", "europe/staging"] == command
    applied.step(*command)
    applied.step("plan", "--detailed-exitcode", "--state", "new")


def two_targets(partner: Partner, *, shared: bool) -> None:
    """Two targets with a record, of one service or of two."""
    partner.want(offers=["ONB10011"])
    config = partner.read("config/all.yaml")
    base_url = partner.service.base_url
    other = base_url if shared else base_url.replace("/eu", "/us")
    block = config.partition("targets:\n")[2].partition("subscriptions:")[0]
    second = block.replace("europe/staging", "usa/staging").replace(f"base_url: {base_url}", f"base_url: {other}")
    partner.write("config/all.yaml", config.replace("subscriptions:", f"{second}subscriptions:", 1))
    partner.step("state", "init")


def test_targets_of_one_service_stay_together(partner: Partner) -> None:
    """Records of one service count for each other within one store only: none of them is left behind."""
    two_targets(partner, shared=True)
    with partner.appending():
        refused = partner.step("state", "copy", "state", "new", "-t", "europe/*", code=1)
    assert "the record of usa/staging belongs to the same service and would be left behind" in refused.err
    partner.step("state", "copy", "state", "new")
    partner.step("plan", "--state", "new")


def test_some_targets(partner: Partner) -> None:
    """Targets of other services are copied when that is asked for; the others are used where they are."""
    two_targets(partner, shared=False)
    partner.step("state", "copy", "state", "new", "-t", "europe/*")
    partner.step("plan", "-t", "usa/*")
    partner.step("plan", "-t", "europe/*", "--state", "new")
    partner.step("plan", "-t", "europe/*", code=1)
    partner.step("state", "copy", "state", "new", "-t", "usa/*")
    partner.step("plan", "--state", "new")


@pytest.mark.parametrize(
    ("given", "location", "local", "name"),
    [
        ("git:records", "git:records of ssh://host/x", False, "git:records"),
        ("git+https://user:pass@host/x#b", "git+https://host/x#b", False, "git+https://host/x#b"),
        ("postgresql://host/db?password=x", "postgresql://host/db", False, "postgresql://host/db"),
        ("file:///srv/state", "/srv/state", True, "/srv/state"),
        ("./state/", "state", True, "state"),
    ],
)
def test_the_name_of_a_store_in_the_record(given: str, location: str, local: bool, name: str) -> None:
    """It can be used as --state, and holds no password."""
    store: Any = SimpleNamespace(location=location, path=location if local else None)
    assert name == written_name(cast("Workspace", SimpleNamespace(store=store)), given)
