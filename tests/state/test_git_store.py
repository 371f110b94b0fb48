"""Journals on a branch: the conformance suite, and what only git does."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.git_world import PRODUCTION, SOMEBODY, GitWorld, more_lines
from support.journal_samples import OTHER, TARGET, entries, imported, journal_bytes
from support.store_conformance import StoreConformance, append_one, read_back

from reconciler.errors import HeadMoved, RecordLost, RecordRolledBack, StoreUnavailable
from reconciler.model.address import TargetName
from reconciler.state.heads.remembered import Heads
from reconciler.state.heads.tracking import append_entries, read_journal
from reconciler.state.journal.chain import link
from reconciler.state.stores.git.command import Git

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reconciler.state.stores.git.command import Ran
    from reconciler.state.stores.store import Store

RACERS = 8  # in the long runs

APPEND_IN_A_PROCESS = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from support.journal_samples import TARGET, imported
from support.git_world import more_lines
from reconciler.errors import HeadMoved
from reconciler.state.stores.location import open_store
store = open_store("git:state", Path(sys.argv[2]), os.environ)
store.read(TARGET)
sys.stdin.readline()
head, lines = more_lines(2, [imported(sys.argv[3])])
try:
    store.append(TARGET, head, 3, lines, sys.argv[3])
except HeadMoved:
    print("moved")
else:
    print("won")
"""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitWorld:
    """A remote, and a checkout of it."""
    return GitWorld(tmp_path, monkeypatch)


class TestGitStore(StoreConformance):
    """The git store is a store."""

    turns = 1
    racers = 3
    watched_appends = 6

    @pytest.fixture
    def another_handle(self, world: GitWorld) -> Callable[[], Store]:
        """Another handle on the same branch; the copy of it is shared, as on one machine."""
        return world.open

    @pytest.fixture
    def spec(self) -> str:
        """The branch, in the repository that one stands in."""
        return "git:state"

    @pytest.fixture
    def spec_at(self) -> Callable[[Path], str]:
        """A branch is no path."""
        pytest.skip("not on this machine")

    @pytest.fixture
    def locked_out(self) -> Iterator[Store]:
        """A push that git refuses for a lock is told of in test_git_store_failures."""
        pytest.skip("without a lock")

    @pytest.fixture
    def broken(self, store: Store, world: GitWorld) -> Store:
        """Its remote is away."""
        world.origin.rename(world.origin.with_name("away"))
        return store

    @pytest.mark.soak
    def test_contended_applies_share_the_work(self, another_handle: Callable[[], Store], tmp_path: Path) -> None:
        """By default with quicker stores only: it is the protocol that shares."""
        super().test_contended_applies_share_the_work(another_handle, tmp_path)

    @pytest.fixture
    def tear(self, world: GitWorld) -> Callable[[TargetName, bytes], None]:
        """Pushed by hand: a blob is never torn by itself."""

        def tear(target: TargetName, tail: bytes) -> None:
            path = f"{target}.jsonl"
            world.push(path, subprocess.check_output(["git", "show", f"state:{path}"], cwd=world.origin) + tail)

        return tear


@pytest.mark.soak
def test_racing_processes(world: GitWorld) -> None:
    """Of many processes that append to one head at once, one wins, and says so."""
    world.begin()
    command = [sys.executable, "-c", APPEND_IN_A_PROCESS, str(Path(__file__).parents[1]), str(world.cache)]
    racers = [
        subprocess.Popen([*command, f"r{number}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number in range(RACERS)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = [racer.communicate(timeout=60)[0].strip() for racer in racers]
    assert ["moved"] * (RACERS - 1) + ["won"] == sorted(said)
    winner = f"r{said.index('won')}"
    assert journal_bytes([*entries(2), imported(winner)]) == world.open().read(TARGET)
    assert [winner, f"{TARGET}: begun"] == world.log()


@pytest.mark.parametrize("count", [3, pytest.param(RACERS, marks=pytest.mark.soak)])
def test_racing_targets(world: GitWorld, count: int) -> None:
    """Appends to different journals of one branch, from different machines, all get there, one commit each."""
    targets = [TargetName(f"europe/t{number}") for number in range(count)]
    barrier = threading.Barrier(count)

    def begin(target: TargetName) -> None:
        store = world.open(cache=target.environment)
        store.read(target)
        barrier.wait()
        store.append(target, None, 1, journal_bytes(entries(2, target)), f"{target}: begun")

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(begin, targets))
    assert targets == world.open().targets()
    assert sorted(f"{target}: begun" for target in targets) == sorted(world.log())


def test_threads_of_one_store(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that share a store do not get into each other's way: one push for each append."""
    store = world.open()
    commands = count_commands(monkeypatch)
    targets = [TargetName(f"europe/t{number}") for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda target: store.append(target, None, 1, journal_bytes(entries(1, target)), target), targets))
    assert (4, 1) == (commands.count("push"), commands.count("fetch"))
    assert targets == store.targets()


def count_commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The git commands that are run from now on."""
    commands: list[str] = []
    run = Git.run

    def note(git: Git, *arguments: str, stdin: bytes | None = None) -> Ran:
        commands.append(arguments[0])
        return run(git, *arguments, stdin=stdin)

    monkeypatch.setattr(Git, "run", note)
    return commands


def test_what_an_append_costs(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """One commit and one push, and no fetch where the tip is known; a read is one fetch."""
    store = world.begin()
    commands = count_commands(monkeypatch)
    head, lines = more_lines(2, [imported("a3")])
    store.append(TARGET, head, 3, lines, "more")
    told = ["cat-file", "hash-object", "ls-tree", "ls-tree", "mktree", "mktree", "commit-tree", "push"]
    assert told == commands
    commands.clear()
    store.read(TARGET)
    assert ["fetch", "rev-parse", "cat-file"] == commands


def test_history(world: GitWorld) -> None:
    """Every append is a commit that says what it was about, changes one file, and follows the one before."""
    store = world.begin()
    append_one(store, "a3")
    assert ["import a3", f"{TARGET}: begun"] == world.log()
    assert ["reconciler <reconciler@localhost.invalid>"] * 2 == world.log("%cn <%ce>")
    assert "1\t0\teurope/staging.jsonl" == world.git("diff", "--numstat", "state~1", "state", at=world.origin).strip()


def test_one_of_two_targets_has_moved(world: GitWorld) -> None:
    """What is known of the branch may be old: only the target's own journal decides."""
    store = world.begin()
    assert store.read(PRODUCTION) is None
    elsewhere = world.open(cache="elsewhere")
    elsewhere.append(PRODUCTION, None, 1, journal_bytes(entries(2, PRODUCTION)), "elsewhere")
    head, lines = more_lines(2, [imported("a3")])
    store.append(TARGET, head, 3, lines, "here")
    assert ["here", "elsewhere", f"{TARGET}: begun"] == world.log()
    lines, _ = link(head, 2, [imported("b3")])
    elsewhere.read(PRODUCTION)
    with pytest.raises(
        HeadMoved, match=r"git:state of .*origin.git europe/staging: conflict: another run appended to this"
    ):
        elsewhere.append(TARGET, head, 3, lines, "too late")
    with pytest.raises(HeadMoved, match="conflict: another run initialized this journal"):
        elsewhere.append(TARGET, None, 1, lines, "too late")


def test_append_without_reading(world: GitWorld) -> None:
    """An append that knows an old head only, of a journal that has moved since, finds that out by itself."""
    store = world.begin()
    assert append_one(world.open(cache="elsewhere"), "a3")
    lines, _ = link(read_back(world.open()).head, 3, [imported("a4")])
    store.append(TARGET, read_back(world.open()).head, 4, lines, "on")
    assert len(read_back(store).lines) == 4


def test_other_files_stay(world: GitWorld) -> None:
    """What else is on the branch stays as it is, and is no target: a branch with code on it is taken too."""
    world.push("europe/.hidden.jsonl", b"", "main")
    world.push("europe/deep/er.jsonl", b"", "main")
    world.push("europe/näme with\ttab", b"", "main")
    world.push("stray.jsonl", b"", "main")
    before = world.git("ls-tree", "-r", "main", at=world.origin).splitlines()
    store = world.open("git:main")
    store.append(TARGET, None, 1, journal_bytes(entries(2)), "begun")
    store.append(OTHER, None, 1, journal_bytes(entries(2, OTHER)), "begun")
    after = world.git("ls-tree", "-r", "main", at=world.origin).splitlines()
    assert {"europe/staging.jsonl", "usa/production.jsonl"} == {
        line.partition("\t")[2] for line in set(after) ^ set(before)
    }
    assert store.targets() == [TARGET, OTHER]
    assert (world.checkout / "deep").exists()


def test_branch_with_slashes(world: GitWorld) -> None:
    """A branch may be called anything that git allows; branches do not get mixed up."""
    odd = world.open("git:state/of#things")
    odd.append(TARGET, None, 1, journal_bytes(entries(2)), "begun")
    world.open("git:state/of").read(TARGET)
    assert ["begun"] == world.log(branch="state/of#things")
    assert odd.location == f"git:state/of#things of {world.origin}"


@pytest.mark.parametrize("url", ["git+file://{origin}#state", "git+{origin}#state", "GIT+file://{origin}#state"])
def test_another_repository(world: GitWorld, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository that is named is used from anywhere, one's own repository or none."""
    monkeypatch.chdir(tmp_path)
    store = world.open(url.format(origin=world.origin))
    store.append(TARGET, None, 1, journal_bytes(entries(2)), "begun")
    assert ["begun"] == world.log()
    assert journal_bytes(entries(2)) == store.read(TARGET)
    assert store.place.location == store.location == f"git+{url[4:].format(origin=world.origin)}"


def test_two_repositories_are_told_apart(world: GitWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words in another repository name another place, with nothing of the first in it."""
    world.begin()
    here = world.open().place.location
    world.git("init", "--quiet", "--bare", "other.git", at=tmp_path)
    world.git("remote", "set-url", "origin", "../other.git")
    assert world.open().read(TARGET) is None
    assert [f"git:state of {tmp_path}/{name}.git" for name in ("origin", "other")] == [
        here,
        world.open().place.location,
    ]
    assert world.open().path is None


def test_deleted_branch(world: GitWorld) -> None:
    """A branch that was deleted is no journal; an append to it does not bring it back, and its loss is noticed."""
    store, heads = world.begin(), Heads(world.cache)
    journal = read_journal(store, TARGET, heads)
    world.git("update-ref", "-d", "refs/heads/state", at=world.origin)
    with pytest.raises(HeadMoved, match="the journal is missing"):
        append_entries(store, journal, [imported("a3")], heads, "more")
    assert store.read(TARGET) is None
    with pytest.raises(RecordLost, match="is missing: it was last read here with 2 entries"):
        read_journal(store, TARGET, heads)


def test_force_pushed_branch(world: GitWorld) -> None:
    """A branch that was set back is fetched as it is, and the entries that are missing are noticed."""
    store, heads = world.begin(), Heads(world.cache)
    append_one(store, "a3")
    journal = read_journal(store, TARGET, heads)
    world.git("update-ref", "refs/heads/state", "state~1", at=world.origin)
    with pytest.raises(HeadMoved):
        append_entries(store, journal, [imported("a4")], heads, "more")
    assert journal_bytes(entries(2)) == store.read(TARGET)
    with pytest.raises(RecordRolledBack, match="the last 1 of 3 entries"):
        read_journal(store, TARGET, heads)


def test_long_history(world: GitWorld) -> None:
    """What was before the first look at a branch is not fetched, and not missed even where the branch goes back."""
    first = world.begin()
    for number in range(3, 6):
        assert append_one(first, f"a{number}")
    store = world.open(cache="elsewhere")
    assert journal_bytes(entries(5)) == store.read(TARGET)
    (mirror,) = (world.root / "elsewhere" / "git").glob("*.git")
    assert "1" == world.git("rev-list", "--count", "refs/reconciler/tip", at=mirror).strip()
    assert append_one(store, "a6")
    assert append_one(first, "a7")
    assert journal_bytes(entries(7)) == store.read(TARGET)
    world.git("update-ref", "refs/heads/state", "state~4", at=world.origin)
    assert journal_bytes(entries(3)) == store.read(TARGET)
    assert append_one(store, "b4")
    assert ["import b4", "import a3", f"{TARGET}: begun"] == world.log()


def test_another_history(world: GitWorld) -> None:
    """A branch that was replaced by one without common commits is read as it is."""
    store = world.begin()
    tree = world.git("write-tree")
    commit = world.git(*SOMEBODY, "commit-tree", tree.strip(), "-m", "anew").strip()
    world.git("push", "--quiet", "--force", "origin", f"{commit}:refs/heads/state")
    assert store.read(TARGET) is None


def test_identical_commits(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two appends that are one commit to the byte, one wins: a push that has nothing to do is not one's own."""
    world.begin()
    monkeypatch.setattr("reconciler.state.stores.git.origin.clean", lambda one: {**one, "LC_ALL": "C"})
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_DATE", "2026-11-20T13:30:00Z")
    first, second = world.open(), world.open()
    head, lines = more_lines(2, [imported("a3")])
    for store in (first, second):
        store.read(TARGET)
    first.append(TARGET, head, 3, lines, "same")
    with pytest.raises(HeadMoved):
        second.append(TARGET, head, 3, lines, "same")
    assert ["same", f"{TARGET}: begun"] == world.log()


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_object_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, object_format: str) -> None:
    """Whatever a repository calls its objects by is found out, from its answers alone."""
    world = GitWorld(tmp_path, monkeypatch, object_format)
    assert world.open().read(TARGET) is None
    store = world.begin()
    assert append_one(store, "a3")
    assert journal_bytes(entries(3)) == world.open(cache="elsewhere").read(TARGET)
    assert len(world.tip()) == {"sha1": 40, "sha256": 64}[object_format]


@pytest.mark.parametrize("name", ["europe", "europe/", "/staging", "../staging", ".git/config", "europe/a/b", "a/b\n"])
def test_no_name_for_a_file(world: GitWorld, name: str) -> None:
    """A target's name never leads anywhere else."""
    with pytest.raises(StoreUnavailable, match="not a valid target name"):
        world.open().read(TargetName(name))


def test_something_else_in_the_way(world: GitWorld) -> None:
    """A directory for a journal, and a file for a region, are errors and stay as they are."""
    world.push("europe/staging.jsonl/file", b"", "main")
    world.push("usa", b"", "main")
    store, before = world.open("git:main"), world.tip("main")
    with pytest.raises(StoreUnavailable, match=r"staging.jsonl is a tree, not a file"):
        store.read(TARGET)
    with pytest.raises(StoreUnavailable, match="usa is not a directory"):
        store.append(OTHER, None, 1, journal_bytes(entries(1, OTHER)), "begun")
    assert before == world.tip("main")


def test_environment_of_the_caller(world: GitWorld) -> None:
    """Opening a store takes the variables it is given, and leaves those of the process alone."""
    before = dict(os.environ)
    world.begin()
    assert before == dict(os.environ)
