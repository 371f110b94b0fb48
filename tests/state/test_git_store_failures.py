"""What can go wrong between the git store and its remote, and what the store says of it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.git_world import GitWorld, more_lines
from support.journal_samples import TARGET, begun, entries, imported, journal, journal_bytes
from support.stopped_process import held_by_a_stopped_process
from support.store_conformance import append_one, read_back
from werkzeug import Request, Response

from reconciler.errors import HeadMoved, SettingsError, StoreUnavailable
from reconciler.model.address import TargetName
from reconciler.state.heads.remembered import Heads
from reconciler.state.heads.tracking import append_entries
from reconciler.state.stores.git import branch
from reconciler.state.stores.git import mirror as git_mirror
from reconciler.state.stores.git.command import Git, clean, reason
from reconciler.state.stores.git.mirror import Mirror

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_httpserver import HTTPServer

    from reconciler.state.stores.git.branch import GitStore

READ_IN_A_PROCESS = """
import os, sys
from pathlib import Path
from reconciler.model.address import TargetName
from reconciler.state.stores.location import open_store
open_store("git:state", Path(sys.argv[1]), os.environ).read(TargetName("europe/staging"))
"""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitWorld:
    """A remote, and a checkout of it."""
    return GitWorld(tmp_path, monkeypatch)


def append_third(store: GitStore) -> None:
    """Append one entry behind the first two."""
    head, lines = more_lines(2, [imported("a3")])
    store.append(TARGET, head, 3, lines, "import a3")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pre-receive", r"not on \[31m Fridays; \[remote rejected\] \(pre-receive hook declined\)"),
        ("update", r"not on \[31m Fridays; error: hook declined .*; \[remote rejected\] \(hook declined\)"),
    ],
)
def test_hook_that_refuses(world: GitWorld, name: str, expected: str) -> None:
    """A rule of the remote against the push is no conflict: the error gives its words, and nothing was written."""
    store = world.begin()
    world.install_hook(name, 'printf "not on\\033[31m Fridays\\n" >&2; exit 1')
    with pytest.raises(StoreUnavailable, match=f"the push failed: {expected}; check that the credentials may push"):
        append_third(store)
    assert journal_bytes(entries(2)) == store.read(TARGET)
    (world.origin / "hooks" / name).unlink()
    append_third(store)


def test_slow_hook(world: GitWorld) -> None:
    """A remote that takes too long is left; what it had begun is not waited for, and nothing is left running."""
    world.begin()
    world.install_hook("pre-receive", f"echo $$ > {world.root}/pid; exec sleep 60")
    began = time.monotonic()
    with pytest.raises(StoreUnavailable, match=r"`git push` timed out after 2 s; check the network"):
        append_third(world.open(patience=2))
    assert time.monotonic() - began < 20
    pid = int((world.root / "pid").read_text())
    assert comes_true(lambda: not is_running(pid))


def comes_true(condition: Callable[[], bool]) -> bool:
    """Whether a condition comes true within a while."""
    for _ in range(400):
        if condition():
            return True
        time.sleep(0.05)
    return False


def is_running(pid: int) -> bool:
    """Whether there is such a process, and not just what is left of one."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_interrupted(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends a wait for git ends git."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupt)
    with pytest.raises(KeyboardInterrupt):
        Git(world.root, os.environ, "here").run("cat-file", "--batch", stdin=b"")


def test_lost_answer(world: GitWorld) -> None:
    """A push that arrived, and whose answer did not, is found when the record is read again."""
    store, heads = world.begin(), Heads(world.cache)
    world.install_hook("post-receive", 'kill -9 "$PPID"')
    with pytest.raises(StoreUnavailable, match="the push failed: "):
        append_third(store)
    assert journal_bytes(entries(3)) == store.read(TARGET)
    extended = append_entries(store, journal(3), [imported("a4")], heads, "again")
    assert extended.lines == read_back(store).lines


def test_ref_that_cannot_be_locked(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that a dead process left at the remote is no conflict: after some tries the error says what to delete."""
    store = world.begin()
    lock = world.origin / "refs" / "heads" / "state.lock"
    lock.touch()
    monkeypatch.setattr(time, "sleep", lambda _: None)
    told = r"the remote rejected 12 pushes: cannot lock .*/state\.lock': .*; a git process may"
    with pytest.raises(StoreUnavailable, match=told):
        append_third(store)
    monkeypatch.setattr(time, "sleep", lambda _: lock.unlink(missing_ok=True))
    append_third(store)


def test_name_that_another_branch_rules_out(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A branch `state` cannot be beside `state/x`: the error says so, and to choose another name."""
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr(branch, "_ATTEMPTS", 2)
    world.git("push", "--quiet", "origin", "HEAD:refs/heads/state/x")
    told = "'refs/heads/state/x' exists; .*; the name conflicts with an existing branch; use another branch name$"
    with pytest.raises(StoreUnavailable, match=told):
        world.begin()


def test_branch_that_moves_all_the_time(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where others push before every try, the error says so, and that another run may succeed."""
    store = world.begin()
    other = world.open(cache="elsewhere")
    push = Mirror.push
    names = iter(range(100))

    def push_late(mirror: Mirror, tip: str, commit: str) -> str | None:
        if mirror is store._mirror:
            target = TargetName(f"europe/t{next(names)}")
            other.append(target, None, 1, journal_bytes(entries(1, target)), "meanwhile")
        return push(mirror, tip, commit)

    monkeypatch.setattr(Mirror, "push", push_late)
    monkeypatch.setattr(branch, "_ATTEMPTS", 3)
    with pytest.raises(StoreUnavailable, match=r"could not push in 3 attempts: .*other runs keep pushing"):
        append_third(store)


def test_remote_that_is_gone(world: GitWorld) -> None:
    """A remote that cannot be reached is never taken for one without a record."""
    store = world.begin()
    world.origin.rename(world.root / "gone")
    for act in (lambda: store.read(TARGET), store.targets, lambda: append_third(world.open())):
        with pytest.raises(
            StoreUnavailable, match=r"git:state of .*: cannot fetch the branch: .*not appear to be a git"
        ):
            act()
    told = (
        r"the push failed: .*; check the network, the URL, and that the credentials .* `permissions: contents: write`$"
    )
    with pytest.raises(StoreUnavailable, match=told):
        append_third(store)


@pytest.mark.parametrize(
    "url",
    [
        "https://somebody:hunter2@127.0.0.1:9/repository.git",
        "https://hunter2@127.0.0.1:9/repository.git",
        "https://somebody:hunter2@hunter2@127.0.0.1:9/repository.git",
        "ssh://somebody:hunter2@127.0.0.1:9/repository.git",
    ],
)
@pytest.mark.parametrize("own", [True, False])
def test_secrets_in_the_url(world: GitWorld, monkeypatch: pytest.MonkeyPatch, url: str, own: bool) -> None:
    """Nothing of what a URL says before its @ is in the store's location, or in an error; the rest is."""
    monkeypatch.setenv("GIT_SSH_COMMAND", "echo 'cannot reach ssh://somebody:hunter2@host' >&2; exit 255;")
    world.git("remote", "set-url", "origin", url)
    store = world.open("git:state" if own else f"git+{url}#state")
    with pytest.raises(StoreUnavailable) as caught:
        store.read(TARGET)
    assert "127.0.0.1:9/repository.git" in store.location
    assert store.location in str(caught.value)
    assert "hunter2" not in f"{caught.value}{store.location}"


def test_secrets_that_a_server_echoes(world: GitWorld, httpserver: HTTPServer) -> None:
    """What a server says of the credentials that it was sent is shown without them, in any of their spellings."""
    given = "somebody:hunter2%2Fhunter2"

    def echo(request: Request) -> Response:
        sent = request.headers.get("Authorization")
        if sent is None:
            return Response(status=401, headers={"WWW-Authenticate": 'Basic realm="git"'})
        return Response(
            f"no: {sent} {given} hunter2/hunter2 {b'hunter2/hunter2'.hex()}", 403, content_type="text/plain"
        )

    httpserver.expect_request(re.compile(".*")).respond_with_handler(echo)
    store = world.open(f"git+{httpserver.url_for('/a.git').replace('//', f'//{given}@')}#state")
    with pytest.raises(StoreUnavailable, match="cannot fetch the branch") as caught:
        store.read(TARGET)
    spellings = ("hunter2", b"hunter2".hex(), "c29tZWJvZHk6aHVudGVy", "aHVudGVyMi9odW50")
    assert [] == [one for one in spellings if one in str(caught.value)]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("git:", "no branch given"),
        ("git+https://me:hunter2@host.example/a", "no branch given"),
        ("git+https://me:hunter2@host.example/a#", "no branch given"),
        ("git+https:#state", "not a git repository URL"),
        ("git+me:hunter2@host.example:a#state", "not a git repository URL"),
        ("git+ext::sh -c hunter2% #state", "not a git repository URL"),
        ("git+-u hunter2#state", "not a git repository URL"),
        ("git+https://me:hunter2/x@host.example/a#state", "a special character makes the URL ambiguous"),
        ("git:a hunter2", "not a valid branch name"),
        ("git://me:hunter2@host.example/a#state", "not a valid branch name"),
        ("git:-hunter2", "not a valid branch name"),
        ("git:@{-1}", "not a valid branch name"),
        ("git:HEAD", "not a valid branch name"),
        ("git+/srv/a#a..hunter2", "not a valid branch name"),
    ],
)
def test_names_that_are_none(world: GitWorld, spec: str, problem: str) -> None:
    """What names no branch is refused, without an echo, and with what to write instead."""
    world.git("checkout", "--quiet", "-b", "another")
    world.git("checkout", "--quiet", "-")
    with pytest.raises(SettingsError, match=r"use git:BRANCH, or git\+https://HOST/PATH#BRANCH") as caught:
        world.open(spec)
    assert problem == caught.value.what
    assert "hunter2" not in str(caught.value)


def test_no_git(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git the error says so."""
    monkeypatch.setenv("PATH", str(world.root))
    with pytest.raises(StoreUnavailable, match=r"cannot run git: No such file or directory; install git 2.31 or newer"):
        world.open()


def lock_the_tip(mirror: Path) -> None:
    """A fetch was killed."""
    (mirror / "refs" / "reconciler" / "tip.lock").touch()


def empty_the_tip(mirror: Path) -> None:
    """The machine lost its power."""
    (mirror / "refs" / "reconciler" / "tip").write_text("")


def empty_the_objects(mirror: Path) -> None:
    """The machine lost its power, again."""
    for one in (mirror / "objects").glob("??/*"):
        one.chmod(0o644)
        one.write_bytes(b"")


def lose_the_objects(mirror: Path) -> None:
    """Somebody has tidied up."""
    for one in (mirror / "objects").glob("??/*"):
        one.unlink()


def lose_it_all(mirror: Path) -> None:
    """Somebody has emptied the cache."""
    subprocess.run(["rm", "-r", str(mirror)], check=True)


def lose_its_head(mirror: Path) -> None:
    """It is no repository any more."""
    (mirror / "HEAD").unlink()


@pytest.mark.parametrize(
    "break_it", [lock_the_tip, empty_the_tip, empty_the_objects, lose_the_objects, lose_it_all, lose_its_head]
)
def test_broken_copy(world: GitWorld, break_it: Callable[[Path], None]) -> None:
    """A copy of the branch that is broken is made anew, by a store that has it open and by the next one."""
    store = world.begin()
    read_back(store)
    for one in (store, None):
        world.push("note", os.urandom(8))
        (mirror,) = (world.cache / "git").glob("*.git")
        break_it(mirror)
        assert journal_bytes(entries(2)) == (one or world.open()).read(TARGET)
    assert append_one(store, "a3")
    assert 2 == len(list((world.cache / "git").iterdir()))


def blob_in(mirror: Path) -> Path:
    """The file that holds the journal."""
    command = ["git", "rev-parse", "refs/reconciler/tip:europe/staging.jsonl"]
    name = subprocess.check_output(command, cwd=mirror).decode().strip()
    return mirror / "objects" / name[:2] / name[2:]


def empty(path: Path) -> None:
    """A file as a machine leaves it that lost its power."""
    path.chmod(0o644)
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [Path.unlink, empty])
def test_journal_lost_in_the_copy(world: GitWorld, damage: Callable[[Path], None]) -> None:
    """A journal that only the copy lacks is never taken for one that is not there."""
    store = world.begin()
    acts: list[Callable[[], object]] = [
        lambda: store.read(TARGET),
        lambda: store.append(TARGET, None, 1, journal_bytes([begun(record="0" * 32)]), "begun anew"),
    ]
    for act in acts:
        read_back(store)
        (mirror,) = (world.cache / "git").glob("*.git")
        damage(blob_in(mirror))
        with pytest.raises(StoreUnavailable, match="was damaged and has been deleted; run the command again"):
            act()
    assert journal_bytes(entries(2)) == store.read(TARGET)
    assert append_one(store, "a3")


def test_objects_lost_before_an_append(world: GitWorld) -> None:
    """An append that finds its copy gone fails, and works when it is tried again."""
    store = world.begin()
    read_back(store)
    (mirror,) = (world.cache / "git").glob("*.git")
    lose_the_objects(mirror)
    with pytest.raises(StoreUnavailable, match="has been deleted"):
        append_third(store)
    append_third(store)
    assert journal_bytes(entries(3)) == store.read(TARGET)


def test_killed_while_fetching(world: GitWorld) -> None:
    """A process that dies within a fetch leaves nobody waiting."""
    world.begin()
    world.git("config", "remote.origin.uploadpack", f"echo > {world.root}/fetching; sleep 60; git-upload-pack")
    command = [sys.executable, "-c", READ_IN_A_PROCESS, str(world.cache)]
    with subprocess.Popen(command, start_new_session=True) as process:
        assert comes_true((world.root / "fetching").exists)
        process.kill()
    world.git("config", "--unset", "remote.origin.uploadpack")
    assert journal_bytes(entries(2)) == world.open(patience=10).read(TARGET)
    kill_the_sleepers(world)


def kill_the_sleepers(world: GitWorld) -> None:
    """End the git that the killed process has left behind, which is in a session of its own."""
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            mine = str(world.checkout) == str((directory / "cwd").readlink())
            command = (directory / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if mine and command[0] in (b"git", b"sleep", b"/bin/sh", b"sh"):
            os.kill(int(directory.name), signal.SIGKILL)


def test_readers_of_one_machine(world: GitWorld) -> None:
    """Many that read at once, on one machine, all get what is there."""
    world.begin()
    found: list[bytes | None] = []
    readers = [threading.Thread(target=lambda: found.append(world.open().read(TARGET))) for _ in range(8)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert [journal_bytes(entries(2))] * 8 == found


def test_copy_that_a_stopped_process_has_locked(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read waits for a while only, names the process that holds the lock, and works once that has ended."""
    monkeypatch.setattr(git_mirror, "_PATIENCE", 0.2)
    store = world.begin()
    (lock,) = (world.cache / "git").glob("*.lock")
    with held_by_a_stopped_process(lock) as pid:
        for act in (lambda: store.read(TARGET), store.targets, world.open):
            with pytest.raises(StoreUnavailable) as caught:
                act()
            told = f"cannot save the local copy of the branch: locked by process {pid} (python"
            assert told in caught.value.what
            assert " (waited " in caught.value.what
            assert "if that process hangs, stop it; then run the command again" == caught.value.remedy
            assert "hunter2" not in str(caught.value)
        append_third(store)
    assert journal_bytes(entries(3)) == store.read(TARGET)


def test_signal_while_waiting_for_the_lock(world: GitWorld) -> None:
    """A command that waits for the lock ends with a signal, at once."""
    world.begin()
    (lock,) = (world.cache / "git").glob("*.lock")
    command = [sys.executable, "-c", READ_IN_A_PROCESS, str(world.cache)]
    with held_by_a_stopped_process(lock), subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        assert comes_true(lambda: any(lock == opened for opened in files_of(process.pid)))
        process.send_signal(signal.SIGINT)
        assert comes_true(lambda: process.poll() is not None)


def files_of(pid: int) -> list[Path]:
    """What a process has open."""
    try:
        return [path.readlink() for path in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return []


def test_cache_that_cannot_be_kept(world: GitWorld) -> None:
    """Where the copy cannot be kept, the error names the place."""
    (world.root / "file").write_text("")
    with pytest.raises(
        StoreUnavailable, match=r"cannot save the local copy of the branch: Not a directory; .*--cache-dir"
    ):
        world.open(cache="file/cache")


def test_cache_that_others_can_write(world: GitWorld) -> None:
    """A copy that others could put something into is not used."""
    world.cache.mkdir()
    world.cache.chmod(0o777)
    with pytest.raises(SettingsError, match="unsafe directory"):
        world.open()


def test_racer_to_begin_another_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A branch begun elsewhere meanwhile, its objects named otherwise, is a conflict like any other."""
    world = GitWorld(tmp_path, monkeypatch, "sha256")
    store = world.open()
    assert store.read(TARGET) is None
    world.begin(cache="elsewhere")
    with pytest.raises(HeadMoved):
        store.append(TARGET, None, 1, journal_bytes([begun(record="0" * 32)]), "begun")
    assert journal_bytes(entries(2)) == store.read(TARGET)


def test_damaged_remote(world: GitWorld) -> None:
    """A remote that is damaged itself is not helped by fetching again and again."""
    world.begin()
    blob = world.git("rev-parse", "state:europe/staging.jsonl", at=world.origin).strip()
    empty(world.origin / "objects" / blob[:2] / blob[2:])
    with pytest.raises(StoreUnavailable, match="cannot fetch the branch: "):
        world.open(cache="elsewhere").read(TARGET)


def test_failing_command(world: GitWorld) -> None:
    """Where git fails the error says at what, where and why."""
    with pytest.raises(StoreUnavailable, match=r"^here: `git mktree` failed: input format error: nonsense$"):
        Git(world.origin, os.environ, "here").ask("mktree", stdin=b"nonsense\n")


@pytest.mark.parametrize(
    ("stderr", "expected"),
    [
        (b"", "no error message"),
        (b"fatal: not this\n\nPlease make sure you have the correct access rights\n", "not this"),
        (b"git@host: Permission denied (publickey).\r\nfatal: Could not read.\n",
         "git@host: Permission denied (publickey).; Could not read."),
        (b"remote: no\nhint: try\nerror: failed to push some refs to 'x'\n12:00:00.123456 git.c:1 trace: x\n", "no"),
        (b"fatal: at https://me:hunter2@host/a and http://x@y", "at https://host/a and http://y"),
        (b"\xff\x1b[2J\xe2\x80\xaefatal\n", "\N{REPLACEMENT CHARACTER} [2J fatal"),
        (b"one\ntwo\nthree\nfour\n", "two; three; four"),
    ],
)  # fmt: skip
def test_reasons(stderr: bytes, expected: str) -> None:
    """Of all that git says, the reason is what counts: one line, without secrets, fit for a terminal."""
    assert expected == reason(stderr)


def test_clean_environment() -> None:
    """git speaks English, asks nobody, and keeps to what the user has set up for it."""
    kept = {
        "GIT_SSH_COMMAND": "ssh",
        "GIT_ASKPASS": "x",
        "GIT_CONFIG_GLOBAL": "y",
        "HOME": "/h",
        "GIT_AUTHOR_NAME": "n",
    }
    foreign = {"GIT_DIR": "a", "GIT_INDEX_FILE": "b", "LC_ALL": "de_DE.UTF-8", "GIT_TERMINAL_PROMPT": "1"}
    expected = {**kept, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
    assert expected == clean({**kept, **foreign})


def test_read_nothing() -> None:
    """Where there is no branch there are no files, and git is not asked."""
    mirror = Mirror(Path("nowhere"), "state", Git(Path("nowhere"), {}, "here"))
    assert (None, []) == (mirror.read("", TargetName("europe/staging.jsonl")), mirror.paths(""))
