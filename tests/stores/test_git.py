"""Records on git branches: the second branch, remotes that misbehave, and whose repository is meant."""

from __future__ import annotations

import fcntl
import os
import select
import subprocess
from collections.abc import Callable
from pathlib import Path
from unittest.mock import DEFAULT, Mock, patch

import pytest
from support.git_world import SOMEBODY, GitWorld, snapshot
from support.records import add, begin, begun, linked, named, names_of, sample
from support.refusals import raised

from reconciler.disk import LockHeld
from reconciler.errors import HeadMoved, ReconcilerError, RecordError, SettingsError, StoreUnavailable
from reconciler.record.store import Store, Stored, head_moved
from reconciler.stores.git import branch, cache, command
from reconciler.stores.git.cache import BranchUpdate
from reconciler.stores.git.command import CONNECTION, reason
from reconciler.stores.git.remote import remote_of
from reconciler.stores.location import open_store

HEAD = "state-head"


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branch, "_PAUSES", (0.0, 0.01, 0.02))


@pytest.fixture
def store(git_world: GitWorld) -> Store:
    """A store with a record of two lines."""
    store = git_world.open()
    begin(store)
    return store


@pytest.fixture
def wrap(git_world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a script in the place of git, for stores that are opened from then on."""
    return lambda script: monkeypatch.setenv("PATH", git_world.wrap_git(script))


def refusal(kind: type[ReconcilerError], call: Callable[..., object], *args: object, **kwargs: object) -> str:
    """Return the name of the message that a call is refused with, which says what to do."""
    message = raised(kind, call, *args, **kwargs)
    assert message.steps or message.name == "git-branch-not-read"
    return message.name


@pytest.mark.parametrize(("stderr", "expected"), [
    ("fatal: detected dubious ownership in repository at '/srv/a b'\nTo add an exception …",
     ["git", "config", "--global", "--add", "safe.directory", "/srv/a b"]),
    ("fatal: disk full", []),
])  # fmt: skip
def test_advice_of_each_command(tmp_path: Path, wrap: Callable[[str], None], stderr: str, expected: list[str]) -> None:
    """git's own words are told, and a repository of somebody else is trusted by a command that can be pasted."""
    wrap(f'[ "$1" != check-ref-format ] || {{ echo b; exit; }}; echo "{stderr}" >&2; exit 128')
    git = command.Git(tmp_path, os.environ, "place")
    copy = cache.BranchCache(tmp_path / "copy.git", git)
    for call, connects in (
        (lambda: remote_of("git:b", git), False), (lambda: git.ask("mktree"), False), (lambda: copy.tips("b"), True),
        (lambda: copy.fetch("b"), True), (lambda: copy.push(cache.BranchUpdate("b", "", "c")), True),
    ):  # fmt: skip
        message = raised(ReconcilerError, call)
        assert expected == [word for step in message.steps for word in step.command]
        assert expected or ("disk full" in message.what, connects) == (True, CONNECTION in message.steps)


# The two branches


def test_what_is_here_is_not_fetched_again(store: Store, wrap: Callable[[str], None], git_world: GitWorld) -> None:
    """Only what another run has pushed is, without its history: a fetch of a remote may take seconds."""
    wrap('echo "$1" >>"$0.log"; exec "$GIT" "$@"')
    other = git_world.open(machine="b")
    log = git_world.root / "bin" / "git.log"
    asked = []
    for has_moved in (True, False, True, False):
        if has_moved:
            add(store, "x")
        log.write_text("")
        other.read()
        asked.append([word for word in log.read_text().split() if word in ("ls-remote", "fetch")])
    assert [["ls-remote", "fetch"], ["ls-remote"]] * 2 == asked
    (copy,) = (git_world.root / "cacheb" / "git").glob("*.git")
    assert "2" == git_world.git("rev-list", "--all", "--count", at=copy).strip()


def test_what_was_pushed_is_not_read_again(store: Store, wrap: Callable[[str], None], git_world: GitWorld) -> None:
    """Each append of a run asks the remote once, to see its own push."""
    wrap('echo "$1" >>"$0.log"; exec "$GIT" "$@"')
    run = git_world.open(machine="b")
    head, count = add(run, "x"), 3
    for name in ("y", "z"):
        (git_world.root / "bin" / "git.log").write_text("")
        lines, (line,) = linked(head, count, [named(name)])
        run.append(head, lines, name, second=line.hash)
        head, count = line.hash, count + 1
        assert (git_world.root / "bin" / "git.log").read_text().split().count("ls-remote") == 1


def test_a_server_that_moves_one_branch_at_a_time(plain_world: GitWorld, wrap: Callable[[str], None]) -> None:
    """It is given the record first, alone where there is no head to keep, and asked for both at once only once."""
    begin(plain_world.open())
    wrap('echo "$@" >>"$0.log"; exec "$GIT" "$@"')
    store = plain_world.open()
    head = add(store, "w")
    head = add(store, "x")
    words = (plain_world.root / "bin" / "git.log").read_text().split()
    assert (3 + 2, 1, 4) == tuple(map(words.count, ("push", "--atomic", "ls-remote")))
    assert head == plain_world.open(machine="b").read().second
    store.append(head, linked(head, 4, [named("y")])[0], "y")
    assert (["", "line 2", "w", "x", "y"], head) == (names_of(store), store.read().second)


def test_history(git_world: GitWorld, store: Store) -> None:
    """Each append is a commit on each branch, by the program, and follows the one before it."""
    head = add(store, "x")
    assert git_world.log("%s|%an|%cn") == ["add x|reconciler|reconciler", "begin|reconciler|reconciler"]
    assert git_world.log(branch=HEAD) == [f"head {head[:12]}", f"head {sample()[1][-1][:12]}"]
    assert git_world.git("show", f"{HEAD}:head", at=git_world.origin) == f"{head}\n"


@pytest.mark.parametrize("field", ["name", "email"])
@pytest.mark.parametrize("role", ["author", "committer"])
@pytest.mark.parametrize("source", ["variable", "setting of all", "setting of one", "empty setting"])
def test_identity_of_each_source(
    git_world: GitWorld, source: str, role: str, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable or a setting is taken for just what it says; the program's name stands for the rest."""
    own = {"name": "reconciler", "email": "reconciler@localhost.invalid"}
    expected = {"author": own, "committer": own}
    if source == "variable":
        monkeypatch.setenv(f"GIT_{role}_{field}".upper(), "given")
    else:
        given = "" if source == "empty setting" else "given"
        git_world.git("config", f"{'user' if source == 'setting of all' else role}.{field}", given)
    for each in {"setting of all": ("author", "committer"), "empty setting": ()}.get(source, (role,)):
        expected[each] = {**expected[each], field: "given"}
    begin(git_world.open())
    wanted = [expected[each][part] for each in ("author", "committer") for part in ("name", "email")]
    assert ["|".join(wanted)] == git_world.log("%an|%ae|%cn|%ce")


def test_torn_write(git_world: GitWorld, store: Store) -> None:
    """A read returns a torn write, and the next append cuts it off; a file without a byte is no missing record."""
    git_world.commit_file("state.jsonl", sample()[0] + b'{"seq":3')
    assert store.read().data == sample()[0] + b'{"seq":3'
    add(store, "x")
    assert names_of(store) == ["", "line 2", "x"]
    git_world.commit_file("state.jsonl", b"")
    assert store.read().data == b""


def test_branch_set_back(git_world: GitWorld, store: Store) -> None:
    """If the branch is set back, the second branch names a head that the record lacks, on any machine."""
    old = git_world.tip()
    head = add(store, "x")
    git_world.move("state", old)
    assert git_world.open(machine="b").read() == Stored(sample()[0], head)


def test_branch_set_back_to_the_head_of_a_run(git_world: GitWorld, store: Store) -> None:
    """A second head that neither the record nor the new lines name is never overwritten; lines that name it pass."""
    run = git_world.open(machine="b")
    old, known = git_world.tip(), sample()[1][-1]
    run.read()
    head = add(store, "x")
    git_world.move("state", old)
    for _ in range(2):  # by what it knew, and by what it sees then
        raised(HeadMoved, run.append, known, b"y\n", "y", second="f" * 64)
    assert store.read().second == head
    named = f"{head}\n".encode()
    run.append(known, named, "name it", second="f" * 64)
    assert run.read().second == "f" * 64


def test_branch_deleted(git_world: GitWorld, store: Store) -> None:
    """If the branch is deleted, the second one is left, an append is refused, and none begins there."""
    git_world.move("state")
    assert store.read() == Stored(None, sample()[1][-1])
    raised(HeadMoved, store.append, sample()[1][-1], b"x\n", "x")
    lines, (line,) = linked(None, 0, [begun("d" * 32)])
    raised(HeadMoved, store.append, None, lines, "begin", second=line.hash)


def test_second_branch_deleted(git_world: GitWorld, store: Store) -> None:
    """A second branch that is missing is "", stays so without a head to keep, and is made again by one."""
    git_world.move(HEAD)
    assert store.read().second == ""
    head = sample()[1][-1]
    store.append(head, b"", "")
    assert store.read().second == ""
    store.append(head, b"", "", second=head)
    assert store.read().second == head


def test_second_branch_of_something_else(git_world: GitWorld, store: Store) -> None:
    """A second branch that holds no head counts as missing."""
    git_world.commit_file("head", f"{sample()[1][-1]}\nhello\n".encode(), branch=HEAD)
    assert store.read().second == ""
    git_world.move(HEAD, git_world.tip())
    assert store.read().second == ""


def test_push_between_two_lists(
    git_world: GitWorld, store: Store, wrap: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A head that the record does not have yet, since they were listed in turn, is looked at again, not long."""
    old = git_world.tip()
    head = add(store, "x")
    monkeypatch.setattr(branch, "time", clock := Mock())
    once = git_world.root / "once"
    wrap(f'echo "$1" >>"$0.log"; [ "$1" = ls-remote ] && [ -e {once} ] || exec "$GIT" "$@"\ncat {once}; rm {once}')
    for machine in ("", "b"):
        once.write_text(f"{old}\trefs/heads/state\n{git_world.tip(HEAD)}\trefs/heads/{HEAD}\n")
        assert head.encode() in (git_world.open(machine=machine).read().data or b"")
    assert (git_world.root / "bin" / "git.log").read_text().split().count("fetch") == 1
    assert [0.0, 0.01, 0.0] == [slept.args[0] for slept in clock.sleep.call_args_list]


def test_identical_commit_of_another_run(git_world: GitWorld, store: Store) -> None:
    """A commit that is on the branch already, since another run made the same in that second, is a conflict."""
    old = git_world.tip()
    add(store, "x")
    raised(HeadMoved, store._cache.push, BranchUpdate("state", old, git_world.tip()))  # type: ignore[attr-defined]


# Servers without atomic pushes


@pytest.fixture
def plain_world(git_world: GitWorld) -> GitWorld:
    """A remote that cannot move two branches at once."""
    git_world.git("config", "receive.advertiseAtomic", "false", at=git_world.origin)
    return git_world


def test_second_push_fails(plain_world: GitWorld, store: Store) -> None:
    """If only the push of the head fails, the append fails, the record has the lines, and the head can follow."""
    plain_world.hook("update", f'[ "$1" != refs/heads/{HEAD} ]')
    assert refusal(StoreUnavailable, add, store, "x") == "git-push-failed"
    assert (names_of(store)[2:], store.read().second) == (["x"], sample()[1][-1])
    (plain_world.origin / "hooks" / "update").unlink()
    head = add(store, "y")
    assert store.read().second == head


def test_record_push_refused(plain_world: GitWorld, store: Store) -> None:
    """The head is not pushed if the record was refused."""
    late, old = plain_world.open(machine="b"), sample()[1][-1]
    late.read()
    head = add(store, "x")
    lines, made = linked(old, 2, [begun("d" * 32)])
    raised(HeadMoved, late.append, old, lines, "late", second=made[-1].hash)
    assert store.read().second == head


def test_another_run_went_on(plain_world: GitWorld, store: Store) -> None:
    """A head that another run has moved further meanwhile is left there."""
    other = plain_world.open(machine="b")
    push = store._cache.push  # type: ignore[attr-defined]
    pushed: list[str] = []

    def push_slowly(*updates: BranchUpdate, dry: bool = False) -> None:
        push(*updates, dry=dry)
        if len(updates) == 1 and not pushed:
            pushed.append(add(other, "theirs"))

    store._cache.push = push_slowly  # type: ignore[attr-defined]
    add(store, "ours")
    assert names_of(store)[2:] == ["ours", "theirs"]
    assert [store.read().second] == pushed


@pytest.mark.usefixtures("plain_world")
def test_second_push_comes_too_late(store: Store) -> None:
    """A second branch that stayed behind, since other pushes moved it at that moment, is pushed again."""
    cached = store._cache  # type: ignore[attr-defined]
    cached.push = Mock(wraps=cached.push, side_effect=[DEFAULT, head_moved(HEAD), head_moved(HEAD), DEFAULT])
    assert add(store, "x") == store.read().second
    assert cached.push.call_count == 4


# Remotes that misbehave


def test_remote_lags(git_world: GitWorld, store: Store, wrap: Callable[[str], None]) -> None:
    """A remote that shows a push a moment later is asked again."""
    old, lag = git_world.root / "old", git_world.root / "lag"
    old.write_text(f"{git_world.tip()}\trefs/heads/state\n{git_world.tip(HEAD)}\trefs/heads/{HEAD}\n")
    wrap(
        f'[ "$1" != push ] || cp {old} {lag}\n'
        f'if [ "$1" = ls-remote ] && [ -e {lag} ]; then cat {lag}; rm {lag}; else exec "$GIT" "$@"; fi'
    )
    head = add(git_world.open(), "x")
    assert store.read().second == head


def test_lost_answer(git_world: GitWorld, store: Store, wrap: Callable[[str], None]) -> None:
    """A push whose answer was lost fails the append; reading again shows its lines."""
    wrap('"$GIT" "$@" || exit; [ "$1" != push ] || { echo "fatal: the remote end hung up" >&2; exit 128; }')
    assert refusal(StoreUnavailable, add, git_world.open(), "x") == "git-push-failed"
    assert names_of(store)[2:] == ["x"]


def test_refused_by_a_rule(git_world: GitWorld, store: Store) -> None:
    """A push that the server's rules refuse is no conflict; why is said once, though two branches were pushed."""
    git_world.hook("pre-receive", "echo 'protected ' >&2; exit 1")
    message = raised(StoreUnavailable, add, store, "x")
    assert (message.name, len(message.steps), CONNECTION in message.steps) == ("git-push-failed", 1, False)
    what = message.what
    assert what.startswith("the push failed: protected; ")
    assert what.count("hook declined") == 1


@pytest.mark.parametrize("lock", ["state", HEAD])
def test_reference_locked(git_world: GitWorld, store: Store, lock: str) -> None:
    """A branch that another push holds locked at this moment is a conflict."""
    (git_world.origin / "refs" / "heads" / f"{lock}.lock").write_text("")
    raised(HeadMoved, add, store, "x")
    (git_world.origin / "refs" / "heads" / f"{lock}.lock").unlink()
    add(store, "x")


def test_remote_away(git_world: GitWorld, store: Store) -> None:
    """A remote that cannot be asked is never taken for one without a record."""
    git_world.origin.rename(git_world.root / "away")
    for step in (store.read, store.check_writable, lambda: add(store, "x")):
        assert refusal(StoreUnavailable, step) == "git-remote-unreachable"


@pytest.mark.parametrize(("problem", "error"), [
    (subprocess.TimeoutExpired("git", 30), StoreUnavailable), (BaseException(), BaseException),
])  # fmt: skip
def test_git_hangs(
    git_world: GitWorld, wrap: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, problem: BaseException,
    error: type[BaseException],
) -> None:  # fmt: skip
    """A git command that does not end, or that any signal interrupts, is ended, with what it started."""
    pipe, opened = git_world.root / "pipe", []
    os.mkfifo(pipe)
    wrap(f'[ "$1" != ls-remote ] || {{ exec 3>{pipe}; sleep 600; }}; exec "$GIT" "$@"')
    store = git_world.open()

    def interrupt(process: subprocess.Popen[bytes], *_: object) -> None:
        opened.append(pipe.open("rb"))
        assert os.getsid(process.pid) == process.pid
        raise problem

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupt)
    with pytest.raises(error):
        store.read()
    assert select.select(opened, [], [], 5)[0] == opened  # nothing has it open any more
    opened[0].close()


def test_git_has_ended(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A git command that an interrupt finds ended needs no end."""

    def interrupt(process: subprocess.Popen[bytes], *_: object) -> None:
        process.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.read()


def test_git_takes_too_long(git_world: GitWorld, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A git command has a limit of time."""
    monkeypatch.setattr(command, "_TIME_LIMIT", 0.0)
    message = raised(StoreUnavailable, store.read)
    assert (message.name, message.steps) == ("git-timed-out", (CONNECTION,))


def test_no_git(git_world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git, or with one that may not be run, the message says so."""
    monkeypatch.setenv("PATH", str(git_world.root))
    assert refusal(StoreUnavailable, git_world.open) == "git-not-run"
    (git_world.root / "git").touch()
    assert refusal(StoreUnavailable, git_world.open) == "git-not-run"


def test_damaged_cache(git_world: GitWorld, store: Store, wrap: Callable[[str], None]) -> None:
    """A damaged copy in the cache is replaced, also if another process has just taken it away; or it is an error."""
    (copy,) = (git_world.root / "cache" / "git").glob("*.git")
    for file in (copy / "objects").rglob("*"):
        if file.is_file():
            file.chmod(0o600)
            file.write_bytes(b"garbage")
    again = git_world.open()
    assert again.read().data == sample()[0]
    assert [copy.with_suffix(".lock"), copy] == sorted(copy.parent.iterdir(), reverse=True)
    add(again, "x")
    copy.rename(git_world.root / "away")
    again._cache.renew()  # type: ignore[attr-defined]
    assert names_of(again)[2:] == ["x"]
    with patch.object(Path, "rename", side_effect=PermissionError(13, "denied")):
        assert refusal(StoreUnavailable, again._cache.renew) == "git-cache-unusable"  # type: ignore[attr-defined]
    wrap('[ "$1" != ls-tree ] || { echo "fatal: not a tree object" >&2; exit 128; }; exec "$GIT" "$@"')
    assert refusal(StoreUnavailable, git_world.open().read) == "git-branch-not-read"


def test_cache_locked(git_world: GitWorld, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fetch waits for another one of this machine, and not forever, nor without a place for its lock."""
    add(git_world.open(machine="b"), "x")
    monkeypatch.setattr(cache, "_LOCK_TIMEOUT", 0.05)
    (copy,) = (git_world.root / "cache" / "git").glob("*.git")
    copy.with_suffix(".lock").mkdir()
    assert ["use another --cache-dir"] == [step.text for step in raised(StoreUnavailable, store.read).steps]
    copy.with_suffix(".lock").rmdir()
    with copy.with_suffix(".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        message = raised(StoreUnavailable, store.read)
    assert (message.name, message.steps[0].text) == ("git-cache-unusable", LockHeld.remedy)
    assert names_of(store)[2:] == ["x"]


def test_cache_unusable(git_world: GitWorld) -> None:
    """A cache directory that cannot be made is named, and so is one that others could write to."""
    cached = git_world.root / "cache"
    cached.symlink_to("nowhere/at/all")
    assert refusal(ReconcilerError, git_world.open) in ("git-cache-unusable", "unsafe-directory")
    cached.unlink()
    for path in (cached, cached / "git"):
        path.mkdir()
        path.chmod(0o777)
        assert refusal(SettingsError, git_world.open) == "unsafe-directory"
        path.chmod(0o700)


def test_repository_of_another_user(git_world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a repository that git does not trust the command that changes this is named."""
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert "safe.directory" in raised(ReconcilerError, git_world.open).steps[0].command


@pytest.mark.parametrize(("kind", "entry"), [("040000 tree", "state^{tree}"), ("120000 blob", "state:state.jsonl")])
def test_not_a_file(git_world: GitWorld, store: Store, kind: str, entry: str) -> None:
    """A branch on which the record's name is that of a directory or a link is an error, not one without a record."""
    tree = git_world.git("rev-parse", entry, at=git_world.origin).strip()
    listed = f"{kind} {tree}\tstate.jsonl\n".encode()
    above = git_world.git("mktree", at=git_world.origin, stdin=listed).strip()
    commit = git_world.git(*SOMEBODY, "commit-tree", above, "-m", "x", at=git_world.origin).strip()
    git_world.move("state", commit)
    assert refusal(StoreUnavailable, store.read) == "git-branch-not-read"


def test_settings_in_the_cache(git_world: GitWorld, store: Store) -> None:
    """Settings that somebody put into the cache do not count, and nobody else may: they could name commands to run."""
    (copy,) = (git_world.root / "cache" / "git").glob("*.git")
    (copy / "config").write_text('[core]\n\tbare = true\n\tsshCommand = false\n[url "nowhere"]\n\tinsteadOf = /\n')
    assert git_world.open().read().data == sample()[0]
    copy.chmod(0o777)
    assert refusal(SettingsError, git_world.open) == "unsafe-directory"


# The user's repository


def test_nothing_changes_in_the_checkout(git_world: GitWorld) -> None:
    """Neither the work tree nor its repository is touched, and its hooks do not run."""
    hook = git_world.checkout / ".git" / "hooks" / "pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    before = snapshot(git_world.checkout)
    store = git_world.open()
    begin(store)
    add(store, "x")
    assert before == snapshot(git_world.checkout)


@pytest.mark.parametrize("options", [["--depth=1"], ["--filter=blob:none"], ["--single-branch"]])
def test_clones(git_world: GitWorld, store: Store, options: list[str]) -> None:
    """A shallow, a partial and a narrow clone append as any other, and stay as they are."""
    git_world.git("config", "uploadpack.allowFilter", "true", at=git_world.origin)
    clone = git_world.root / "clone"
    git_world.git("clone", "--quiet", *options, f"file://{git_world.origin}", str(clone))
    before = snapshot(clone)
    add(git_world.open(at=clone), "x")
    assert (names_of(store)[2:], before) == (["x"], snapshot(clone))


def test_work_trees(git_world: GitWorld, store: Store) -> None:
    """A second work tree, on no branch, and a directory in one, mean the same place."""
    tree = git_world.root / "tree"
    git_world.git("worktree", "add", "--quiet", "--detach", str(tree))
    (tree / "deep").mkdir()
    assert {store.place} == {git_world.open(at=at).place for at in (tree, tree / "deep", git_world.checkout)}


def test_a_relative_cache(git_world: GitWorld, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is relative to where the program runs, and not to where git does."""
    monkeypatch.chdir(git_world.root)
    assert open_store(store.place, git_world.checkout / "config", Path("cache")).read().data == sample()[0]


def test_place_is_the_url(git_world: GitWorld, store: Store) -> None:
    """The place of `git:BRANCH` names the remote, and means the same elsewhere."""
    git_world.git("config", "--add", "remote.origin.url", "https://git.partner.example/second.git")
    assert store.place == git_world.open().place == f"git+{git_world.origin}#state"
    elsewhere = git_world.open(store.place, machine="b", at=git_world.root / "missing")
    assert (elsewhere.place, elsewhere.read().data) == (store.place, sample()[0])


def test_remote_of_the_current_branch(git_world: GitWorld) -> None:
    """The remote that the current branch follows comes first, then `origin`, then the only one."""
    git = git_world.git
    git("remote", "rename", "origin", "first")
    git("remote", "set-url", "--add", "first", "https://git.partner.example/b.git")
    assert git_world.open().place == f"git+{git_world.origin}#state"
    git("remote", "add", "origin", "https://git.partner.example/a.git")
    assert git_world.open().place == "git+https://git.partner.example/a.git#state"
    git("symbolic-ref", "HEAD", "refs/heads/a/Main")
    git("config", "branch.a/Main.remote", "first")
    git("config", "branch.a/Main.merge", "refs/heads/main")
    assert git_world.open().place == f"git+{git_world.origin}#state"
    git("config", "branch.a/Main.remote", ".")  # it follows a branch of this repository
    assert git_world.open().place == "git+https://git.partner.example/a.git#state"


def test_several_remotes(git_world: GitWorld) -> None:
    """Several remotes without an `origin` are an error that names them, and so is none."""
    git_world.git("remote", "rename", "origin", "fir.st")
    git_world.git("remote", "add", "second", "https://git.partner.example/a.git")
    message = raised(SettingsError, git_world.open)
    assert (message.name, "fir.st, second" in str(message), message.steps != ()) == ("git-several-remotes", True, True)
    for name in ("fir.st", "second"):
        git_world.git("remote", "remove", name)
    message = raised(SettingsError, git_world.open)
    assert ("git-no-remote", "git:state") == (message.name, message.where)
    assert [("git", "remote", "add", "origin", "URL")] == [step.command for step in message.steps]


def test_no_repository(git_world: GitWorld) -> None:
    """`git:BRANCH` outside of a work tree is an error."""
    assert refusal(SettingsError, git_world.open, at=git_world.root) == "git-no-work-tree"


@pytest.mark.parametrize(("name", "places"), [
    ("place-no-branch", ["git:", "git:a..b", "git:refs/heads/x", "git:heads/x", "git:remotes/origin/x", "git:@{-1}",
                         "git:-x"]),
    ("place-no-repository", ["git+x#b", "git+ext::sh#b", "git+https://h/p", "git+gopher://h/p#b", "git+#b"]),
])  # fmt: skip
def test_branch_names_and_urls(git_world: GitWorld, name: str, places: list[str]) -> None:
    """Anything but the plain name of a branch, or the URL of a repository with a branch, is an error."""
    git_world.git("checkout", "--quiet", "-b", "later")  # `@{-1}` is main
    assert [name] * len(places) == [refusal(SettingsError, git_world.open, place) for place in places]


def test_push_to_another_repository(git_world: GitWorld) -> None:
    """A push that goes elsewhere than a fetch comes from is noticed."""
    git_world.git("clone", "--quiet", "--bare", str(git_world.origin), str(git_world.root / "other.git"))
    git_world.git("config", "remote.origin.pushurl", str(git_world.root / "other.git"))
    assert refusal(StoreUnavailable, begin, git_world.open()) == "git-push-not-seen"


def test_relative_push_url(git_world: GitWorld) -> None:
    """A path to fetch from, or to push to, is one from the work tree, as for git, whatever bytes its name has."""
    for key in ("url", "pushurl"):
        git_world.git("config", f"remote.origin.{key}", "de/ep:er/../../origin.git")
    at = git_world.checkout.rename(git_world.root / "odd \udcff ")
    git_world.origin = git_world.origin.rename(at / "origin.git")
    begin(git_world.open(at=at))
    assert ["begin"] == git_world.log()


# Settings and credentials


def test_settings_that_reach_git(
    git_world: GitWorld, wrap: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of remotes, credentials and people do, as often as git has them; others do not, and a few are fixed."""
    seen, user = git_world.root / "seen", git_world.root / "gitconfig"
    own = ["pushurl", "proxy", "proxyauthmethod", "uploadpack", "receivepack", "vcs", "serveroption"]
    passed = ["credential.helper", "url.https://x/.insteadof", "protocol.version", "ssh.variant", "user.email",
              "author.name", "committer.name", "core.sshcommand", "core.askpass", "core.gitproxy", "push.pushoption",
              "http.https://x/.extraheader"]  # fmt: skip
    for name in (*passed, *(f"remote.origin.{key}" for key in own), "remote.origin.fetch", "alias.x", "core.editor"):
        git_world.git("config", name, "https://x")
    git_world.git("config", "http.extraheader", "X-User: 1")
    (git_world.root / "more").write_text("[http]\n\tproxy = http://127.0.0.1:1\n\tsslTry\n")
    condition = f'[includeIf "gitdir:{git_world.checkout}/"]\n\tpath = {git_world.root / "more"}\n'
    user.write_text(f"[http]\n\textraheader = X-User: 1\n{condition}")
    for name, value in (("COUNT", "1"), ("KEY_0", "http.extraheader"), ("VALUE_0", "X-Variable: 1")):
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    wrap(f'[ "$1" != ls-remote ] || {{ "$GIT" config --list >{seen}; exit; }}; exec "$GIT" "$@"')
    git_world.open().read()
    given = [
        line for line in seen.read_text().splitlines() if not line.startswith(("core.bare", "core.repo", "include"))
    ]
    fixed = ["core.hookspath=/dev/null", "i18n.commitencoding=UTF-8", "push.gpgsign=false"]
    fixed += [*["http.extraheader=X-User: 1"] * 2, "http.extraheader=X-Variable: 1", "http.proxy=http://127.0.0.1:1"]
    fixed += ["http.ssltry=true", f"remote.reconciler.url={git_world.origin}"]
    names = [*passed, *(f"remote.reconciler.{key}" for key in own)]
    assert sorted([*(f"{name}=https://x" for name in names), *fixed]) == sorted(given)


def test_rewritten_url(git_world: GitWorld) -> None:
    """`insteadOf` of the repository applies."""
    git_world.git("config", f"url.{git_world.root}/.insteadOf", "https://git.partner.example/")
    git_world.git("remote", "set-url", "origin", "https://git.partner.example/origin.git")
    store = git_world.open()
    begin(store)
    assert (store.place, git_world.log()) == ("git+https://git.partner.example/origin.git#state", ["begin"])


@pytest.mark.parametrize("setting", [*map("remote.origin.{}".format, ("url", "pushurl", "proxy")), "http.proxy", "url"])
@pytest.mark.parametrize(("user_info", "password"), [
    ("ci:abcdefg:hijklmn", "abcdefg:hijklmn"), ("of-eight", "of-eight"), ("of-eight:of-eight+1", "of-eight+1"),
    ("token-of-eight:x-oauth-basic", "token-of-eight"),
])  # fmt: skip
def test_credentials_of_every_url(
    git_world: GitWorld, wrap: Callable[[str], None], setting: str, user_info: str, password: str
) -> None:
    """What a server echoes of a URL's user info is not shown: a password as a whole, colons and all."""
    url = f"{'socks5' if setting == 'http.proxy' else 'https'}://{user_info}@127.0.0.1:1/a"
    git_world.git("config", *([f"url.{url}.insteadOf", "a"] if setting == "url" else [setting, url]))
    wrap(f'[ "$1" != ls-remote ] || {{ echo "fatal: no {password} circle" >&2; exit 128; }}; exec "$GIT" "$@"')
    with pytest.raises(StoreUnavailable) as caught:
        git_world.open().read()
    assert "no [redacted] circle" in str(caught.value)


def test_credentials_are_not_shown(git_world: GitWorld, wrap: Callable[[str], None]) -> None:
    """Credentials in a remote's URL and in headers are in no place, message or repr, even if a server echoes them."""
    git_world.git("remote", "set-url", "origin", "https://ci:s3cr3t%2Ftoken@127.0.0.1:1/a.git")
    header = "Authorization: basic aGVhZGVyLXNlY3JldA=="
    for value in ("", header):  # an empty one discards those before it
        git_world.git("config", "--add", "http.https://127.0.0.1:1/.extraheader", value)
    git_world.git("config", "url.https://of-a-name@127.0.0.1:1/.insteadOf", "https://127.0.0.2:1/")
    wrap(
        '[ "$1" != ls-remote ] || { echo "fatal: https://ci:s3cr3t%2Ftoken@127.0.0.1:1/a.git s3cr3t/token'
        ' aGVhZGVyLXNlY3JldA== https://me:of-another@h/ bad of-a-name" >&2; exit 128; }; exec "$GIT" "$@"'
    )
    for place in ("git:state", "git+https://127.0.0.1:1/a.git#state"):
        store = git_world.open(place)
        assert store.place == "git+https://127.0.0.1:1/a.git#state"
        with pytest.raises(StoreUnavailable) as caught:
            store.read()
        text = str(caught.value) + repr(caught.value) + repr(vars(store))
        assert not [secret for secret in ("s3cr3t", "aGVhZGVy", "of-another", "of-a-name") if secret in text]


def test_environment_of_git(git_world: GitWorld, wrap: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """git gets no credential of the service, no prompt, and no repository of a hook in which the program runs."""
    seen = git_world.root / "seen"
    monkeypatch.setenv("RECONCILER_EUROPE_STAGING_CLIENT_SECRET", "hunter2-hunter2")
    removed = "WORK_TREE INDEX_FILE OBJECT_DIRECTORY ALTERNATE_OBJECT_DIRECTORIES COMMON_DIR PREFIX NAMESPACE CONFIG"
    removed += " DEFAULT_HASH AUTHOR_DATE COMMITTER_DATE TRACE TRACE_CURL CURL_VERBOSE QUARANTINE_PATH GRAFT_FILE DIR"
    removed += " IMPLICIT_WORK_TREE SHALLOW_FILE REPLACE_REF_BASE"
    for name in (*removed.split(), "SSH_COMMAND"):
        monkeypatch.setenv(f"GIT_{name}", "1")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    wrap(f'env >>{seen}; exec "$GIT" "$@"')
    git_world.open().read()
    lines = set(seen.read_text().splitlines())
    kept = "GIT_TERMINAL_PROMPT=0 GIT_OPTIONAL_LOCKS=0 LC_ALL=C GIT_SSH_COMMAND=1 GIT_NO_REPLACE_OBJECTS=1"
    assert {*kept.split()} <= lines
    assert not [line for line in lines if "hunter2" in line or line in {f"GIT_{name}=1" for name in removed.split()}]


def test_check_writable(git_world: GitWorld, store: Store, wrap: Callable[[str], None]) -> None:
    """A push that git may not even try is noticed, and none is made; a branch that others move can be written."""
    before = git_world.tip()
    store.check_writable()
    store._cache.push = Mock(side_effect=head_moved("state"))  # type: ignore[attr-defined]
    store.check_writable()
    assert before == git_world.tip()
    wrap('[ "$1" != push ] || { echo "fatal: denied" >&2; exit 128; }; exec "$GIT" "$@"')
    assert refusal(StoreUnavailable, git_world.open().check_writable) == "git-push-failed"


def test_commit_by_hand(git_world: GitWorld, store: Store) -> None:
    """Somebody's commit on the branch, which leaves the record as it is, costs one conflict at most; its file stays."""
    git_world.commit_file("n\udcff\tte", b"hello\n")
    add(store, "x")
    assert git_world.log("%an")[1] == "Somebody"
    assert (names_of(store)[2:], git_world.git("show", "state:n\udcff\tte", at=git_world.origin)) == (["x"], "hello\n")


@pytest.mark.parametrize(("stderr", "told"), [
    ("", "no reason"), ("one\ntwo\nthree\nfour\nfatal: five\nadvice\nmore advice\n", "three; four; five"),
    ("fatal: first\nfatal: last\n", "first; last"), ("error: same\nerror: same\n", "same"),
    ("fatal: a\x1b[31m\u202eb\n", "a [31m b"), ("error: " + "long " * 500, ("long " * 500)[:600]),
    ("remote: one\n\nhint: two\nerror: failed to push some refs to 'b'\n08:00:00.123 trace: git\n", "one"),
])  # fmt: skip
def test_reason(stderr: str, told: str) -> None:
    """The last lines before git's advice, each once, as one short printable line."""
    assert told.strip() == reason(stderr).strip()


@pytest.mark.parametrize(("refusals", "error"), [
    (["[rejected] (stale info)", "[rejected] (atomic push failed)"], HeadMoved),
    (["[rejected] (stale info)", "[remote rejected] (hook declined of-eight)"], StoreUnavailable),
    (["[remote rejected] (cannot lock ref 'refs/heads/state')"], HeadMoved), ([], StoreUnavailable),
])  # fmt: skip
def test_refusals_of_a_push(
    git_world: GitWorld, store: Store, wrap: Callable[[str], None], refusals: list[str], error: type[RecordError]
) -> None:
    """A push is a conflict if a branch had moved, and no branch was refused for another reason; no secret is shown."""
    git_world.git("config", "http.extraheader", "Authorization: of-eight")
    lines = "".join(f"!\\ta:b\\t{refusal}\\377\\n" for refusal in refusals).replace("'", "")
    wrap(f"""[ "$1" != push ] || {{ printf '\\377' >&2; printf '{lines}'; exit 1; }}; exec "$GIT" "$@\"""")
    assert "of-eight" not in str(raised(error, add, git_world.open(), "x"))
