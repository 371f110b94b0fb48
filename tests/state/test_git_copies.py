"""What somebody has put into the local copy of a branch: no command of theirs is run, and no journal of theirs read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.git_world import SOMEBODY, GitWorld, snapshot
from support.journal_samples import TARGET, entries, journal_bytes
from support.store_conformance import append_one

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitWorld:
    """A remote, and a checkout of it."""
    return GitWorld(tmp_path, monkeypatch)


def copy_of(world: GitWorld) -> Path:
    """The local copy of the branch."""
    (path,) = (world.cache / "git").glob("*.git")
    return path


def canary(world: GitWorld) -> Path:
    """A program that leaves a file `ran`, and is anything that git may run."""
    return world.script("canary", f"touch {world.root}/ran; cat; exit 0")


def settings(text: str) -> Callable[[GitWorld], None]:
    """Something that is added to the settings of the copy; @ is the program."""

    def plant(world: GitWorld) -> None:
        with (copy_of(world) / "config").open("a") as file:
            file.write(text.replace("@", str(canary(world))))

    return plant


def included_settings(world: GitWorld) -> None:
    """Settings that are elsewhere."""
    more = world.root / "more"
    more.write_text(f'[url "ext::{canary(world)} "]\ninsteadOf = reconciler-fetch:\n[protocol "ext"]\nallow = always\n')
    settings(f"[include]\npath = {more}\n")(world)


def settings_of_a_work_tree(world: GitWorld) -> None:
    """A second file of settings."""
    settings("[extensions]\nworktreeConfig = true\n")(world)
    (copy_of(world) / "config.worktree").write_text(f"[core]\nfsmonitor = {canary(world)}\n")


def hooks(world: GitWorld) -> None:
    """Hooks that git would run at a fetch and at a push."""
    (copy_of(world) / "hooks").mkdir()
    for name in ("reference-transaction", "pre-push", "post-index-change", "pre-auto-gc"):
        (copy_of(world) / "hooks" / name).symlink_to(canary(world))


def attributes(world: GitWorld) -> None:
    """A filter, and the attributes that use it."""
    settings('[filter "x"]\nclean = @\nsmudge = @\n[diff "x"]\ntextconv = @\n')(world)
    (copy_of(world) / "info").mkdir(exist_ok=True)
    (copy_of(world) / "info" / "attributes").write_text("* filter=x diff=x\n")


@pytest.mark.parametrize(
    "plant",
    [
        settings('[protocol "ext"]\nallow = always\n[url "ext::@ "]\ninsteadOf = reconciler-fetch:\ninsteadOf = /\n'),
        settings("[core]\nsshCommand = @\nfsmonitor = @\naskPass = @\npager = @\nalternateRefsCommand = @\n"),
        settings('[remote "reconciler"]\nuploadpack = @\nreceivepack = @\nvcs = ext\n'),
        settings("[credential]\nhelper = !@\n[core]\nhooksPath = hooks\n"),
        included_settings,
        settings_of_a_work_tree,
        hooks,
        attributes,
    ],
    ids=["url", "programs", "remote", "credentials", "include", "work tree", "hooks", "attributes"],
)  # fmt: skip
def test_command_in_the_copy(world: GitWorld, plant: Callable[[GitWorld], None]) -> None:
    """git runs nothing that the copy says; what somebody has put there is gone."""
    world.begin()
    before = (copy_of(world) / "config").read_bytes()
    plant(world)
    store = world.open()
    assert append_one(store, "a3")
    assert journal_bytes(entries(3)) == store.read(TARGET)
    assert not (world.root / "ran").exists()
    assert before == (copy_of(world) / "config").read_bytes()
    assert set() == {"hooks", "info", "config.worktree"} & {path.name for path in copy_of(world).iterdir()}


def forged(world: GitWorld) -> Path:
    """A copy made by somebody else, in which the branch has another journal."""
    world.push("europe/staging.jsonl", b"forged\n", "main")
    path = world.root / "forged.git"
    world.git("clone", "--quiet", "--bare", str(world.origin), str(path), at=world.root)
    return path


def alternates(world: GitWorld, other: Path) -> None:
    """The objects of another repository."""
    (copy_of(world) / "objects" / "info" / "alternates").write_text(f"{other}/objects\n")


def common_directory(world: GitWorld, other: Path) -> None:
    """The settings and refs of another repository."""
    (copy_of(world) / "commondir").write_text(f"{other}\n")


def link_to_another(world: GitWorld, other: Path) -> None:
    """Another repository in its place."""
    path = copy_of(world)
    path.rename(world.root / "away")
    path.symlink_to(other)


def link_to_other_objects(world: GitWorld, other: Path) -> None:
    """The objects of another repository in place of its own."""
    (copy_of(world) / "objects").rename(world.root / "objects")
    (copy_of(world) / "objects").symlink_to(other / "objects")


def grafts(world: GitWorld, other: Path) -> None:
    """Other parents for commits."""
    (copy_of(world) / "info").mkdir(exist_ok=True)
    (copy_of(world) / "info" / "grafts").write_text(f"{world.tip()}\n")


def pipe_for_settings(world: GitWorld, other: Path) -> None:
    """What blocks whoever opens it."""
    (copy_of(world) / "config").unlink()
    os.mkfifo(copy_of(world) / "config")


def no_directory(world: GitWorld, other: Path) -> None:
    """A file in its place."""
    path = copy_of(world)
    path.rename(world.root / "away")
    path.write_text("gitdir: elsewhere\n")


def everyone_may_write(world: GitWorld, other: Path) -> None:
    """A directory in which other users may put what they like."""
    copy_of(world).chmod(0o777)


def _name(world: GitWorld) -> str:
    """The name of the copy, also where it is gone: that of its lock says it."""
    (lock,) = (world.cache / "git").glob("*.lock")
    return lock.with_suffix(".git").name


@pytest.mark.parametrize(
    "plant",
    [
        alternates, common_directory, link_to_another, link_to_other_objects, grafts, pipe_for_settings, no_directory,
        everyone_may_write,
    ],
)  # fmt: skip
def test_files_in_the_copy(world: GitWorld, plant: Callable[[GitWorld, Path], None]) -> None:
    """A copy with a file that no command of ours leaves is replaced, and nothing outside of it is touched."""
    world.begin()
    other = forged(world)
    plant(world, other)
    outside = snapshot(other)
    planted = (world.cache / "git" / _name(world)).lstat().st_ino
    store = world.open()
    assert append_one(store, "a3")
    assert journal_bytes(entries(3)) == store.read(TARGET)
    assert planted != copy_of(world).lstat().st_ino
    assert 0o700 == copy_of(world).lstat().st_mode & 0o777
    assert outside == snapshot(other)


def test_copy_of_another_user(world: GitWorld) -> None:
    """As in a container, where a directory was made by another user: it is replaced, and git trusts the new one."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory to another user")
    world.begin()
    for directory, _, names in os.walk(copy_of(world)):
        for path in [Path(directory), *(Path(directory) / name for name in names)]:
            os.chown(path, 12345, 12345)
    store = world.open()
    assert append_one(store, "a3")
    assert os.geteuid() == copy_of(world).stat().st_uid


def test_object_that_is_replaced(world: GitWorld) -> None:
    """A ref of git's that puts one object in another's place is not followed."""
    store = world.begin()
    copy = copy_of(world)
    store.read(TARGET)
    blob = world.git("rev-parse", "refs/reconciler/tip:europe/staging.jsonl", at=copy).strip()
    other = world.git("hash-object", "-w", "--stdin", at=copy, stdin=b"forged\n").strip()
    world.git("replace", "-f", blob, other, at=copy)
    assert journal_bytes(entries(2)) == world.open().read(TARGET)


def test_copy_is_kept(world: GitWorld) -> None:
    """What git itself leaves in a copy is no reason to replace it: reflogs, packs, their lists, graphs of commits."""
    world.settings.write_text("[core]\nlogAllRefUpdates = always\n[gc]\nwriteCommitGraph = true\n")
    store = world.begin()
    store.read(TARGET)
    copy = copy_of(world)
    world.git(*SOMEBODY, "gc", "--quiet", "--prune=now", at=copy)
    world.git("update-server-info", at=copy)
    world.git("commit-graph", "write", "--reachable", at=copy)
    assert {"logs", "packed-refs", "info"} <= {path.name for path in copy.iterdir()}
    kept = copy.stat().st_ino
    assert append_one(world.open(), "a3")
    assert kept == copy_of(world).stat().st_ino


def test_no_secret_in_the_environment_of_git(world: GitWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither git nor what it starts gets the credentials of the service."""
    monkeypatch.setenv("RECONCILER_EUROPE_STAGING_CLIENT_ID", "the-id")
    monkeypatch.setenv("RECONCILER_EUROPE_STAGING_CLIENT_SECRET", "the-secret")
    world.install_hook("pre-receive", f"env >>{world.root}/environment; true")
    world.begin()
    told = (world.root / "environment").read_text()
    assert "GIT_" in told
    assert ("the-id" in told, "the-secret" in told) == (False, False)
