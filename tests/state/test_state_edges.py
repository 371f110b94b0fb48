"""The state record at its edges: where something fails half-way, and where text is nearly what it should be."""

from __future__ import annotations

import errno
import os
import random
import shutil
import stat
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyrage  # type: ignore[import-untyped]
import pytest
from support.git_world import GitWorld
from support.journal_samples import TARGET, begun, entries, imported, journal, journal_bytes
from support.store_conformance import append_one

from reconciler.disk.durable import make_directory
from reconciler.errors import StateError, StoreUnavailable
from reconciler.model.address import TargetName
from reconciler.state.heads.remembered import Heads
from reconciler.state.heads.tracking import begin_journal
from reconciler.state.journal.chain import extend
from reconciler.state.private.responses import decrypt, encrypt
from reconciler.state.stores.files import FileStore
from reconciler.state.stores.git.branch import GitStore
from reconciler.state.stores.git.command import Git, Ran, reason
from reconciler.state.stores.git.mirror import Mirror
from reconciler.state.stores.git.origin import open_git
from reconciler.state.stores.git.remote import Remote, Side
from reconciler.state.stores.git.settings import as_ours, beyond, identity, settings_of
from reconciler.state.stores.location import open_store
from reconciler.state.stores.store import StoreLocation

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """A store with a journal of two entries."""
    store = FileStore(tmp_path / "state")
    store.append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
    return store


class FailingDisk:
    """A disk on which a write fails half-way; `steps` is what is done to the file from then on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps: list[tuple[str, int]] = []
        self.full = OSError(errno.ENOSPC, "No space left on device")
        self._write, self._truncate, self._sync = os.pwrite, os.ftruncate, os.fsync
        for name, done in (("pwrite", self.write), ("ftruncate", self.truncate), ("fsync", self.sync)):
            monkeypatch.setattr(os, name, done)

    def write(self, file: int, data: memoryview, offset: int) -> int:
        self._write(file, data[:7], offset)
        self.steps.append(("written", os.fstat(file).st_size))
        raise self.full

    def truncate(self, file: int, length: int) -> None:
        self._truncate(file, length)
        self.steps.append(("truncated", os.fstat(file).st_size))

    def sync(self, file: int) -> None:
        self._sync(file)
        if stat.S_ISREG(os.fstat(file).st_mode):
            self.steps.append(("synced", os.fstat(file).st_size))


def test_failed_append_is_taken_back_on_the_disk(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written of an append that failed is cut off, durably, and the failure is the one that is told."""
    before = len(journal_bytes(entries(2)))
    _, lines = extend(journal(2), [imported("a3")])
    with monkeypatch.context() as patch:
        disk = FailingDisk(patch)
        with pytest.raises(StoreUnavailable, match="cannot write the state record: No space left on device") as caught:
            store.append(TARGET, journal(2).head, 3, lines, "append")
    assert disk.full is caught.value.__cause__
    assert [("truncated", before), ("written", before + 7), ("truncated", before), ("synced", before)] == disk.steps
    assert journal_bytes(entries(2)) == store.read(TARGET)


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_directory_where_a_file_is(tmp_path: Path, name: str) -> None:
    """A file in the way of a directory is what the system would say it is, with the path."""
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError) as caught:
        make_directory(tmp_path / name, 0o700)
    expected = (errno.ENOTDIR, "Not a directory", str(tmp_path / "file"))
    assert expected == (caught.value.errno, caught.value.strerror, caught.value.filename)


@pytest.mark.parametrize("spoil", [lambda text: f"{text[:9]}\n{text[9:]}", lambda text: f"{text}*", str.swapcase])
def test_sealed_text_is_taken_to_the_letter(spoil: Callable[[str], str]) -> None:
    """Text with anything in it that `encrypt` does not write is refused, even if the rest could be opened."""
    key = pyrage.x25519.Identity.generate()
    sealed = encrypt([str(key.to_public())], b"s3cret")
    assert b"s3cret" == decrypt(sealed, [str(key)])
    with pytest.raises(StateError, match="not an encrypted response or secret"):
        decrypt(spoil(sealed), [str(key)])


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("file:/srv/a:b:c", "/srv/a:b:c"),
        ("file:///srv/a:b", "/srv/a:b"),
        ("file:a//b", "a/b"),
        ("file:///srv/100%25/a/b", "/srv/100%/a/b"),
        ("file:/srv/100%25", "/srv/100%25"),
        ("/srv/a:b", "/srv/a:b"),
        ("a b:c", "a b:c"),
    ],
)
def test_paths_with_odd_characters(spec: str, expected: str) -> None:
    """Only what comes before the first colon is a scheme, and only a URL is percent-encoded."""
    assert expected == open_store(spec, Path("cache"), {}).location


def test_nothing_to_warn_of(tmp_path: Path) -> None:
    """Heads that have failed at nothing have no warning, before the first is remembered and afterwards."""
    heads = Heads(tmp_path / "cache")
    assert (None, None, None) == (heads.warning, heads.remember(journal(1), StoreLocation("here")), heads.warning)


class Noting(FileStore):
    """A file store that keeps what its appends were said to be about."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.notes: list[str] = []

    def append(self, target: TargetName, head: str | None, seq: int, lines: bytes, note: str) -> None:
        self.notes.append(note)
        super().append(target, head, seq, lines, note)


def test_note_of_a_beginning(tmp_path: Path) -> None:
    """A store that keeps a history of its own is told why a journal begins."""
    store = Noting(tmp_path / "state")
    begin_journal(store, begun(), Heads(tmp_path / "cache"), "europe/staging: begun")
    assert ["europe/staging: begun"] == store.notes


def test_interrupted_when_git_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt between the end of git and what is made of it finds nobody to end, and goes on as itself."""
    communicate = subprocess.Popen.communicate

    def interrupted(process: subprocess.Popen[bytes], *arguments: object) -> None:
        communicate(process, None, 60)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Git(tmp_path, os.environ, "here").run("version")


def test_url_is_seen_from_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What git starts to reach the repository of a URL does not stand in the one the user stands in."""
    world = GitWorld(tmp_path, monkeypatch)
    monkeypatch.setenv("GIT_SSH_COMMAND", "pwd >&2; exit 255;")
    store = open_git("git+ssh://somebody@host.example/a#state", world.cache, os.environ)
    with pytest.raises(StoreUnavailable, match=r"cannot fetch the branch: /; Could not read from remote"):
        store.read(TARGET)


def test_remote_made_anew_in_another_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A remote whose objects were named by SHA-256, and now are by SHA-1, is followed: its copy is made anew."""
    world = GitWorld(tmp_path, monkeypatch, "sha256")
    store = world.begin()
    shutil.rmtree(world.origin)
    world.git("init", "--quiet", "--bare", "--object-format=sha1", str(world.origin), at=world.root)
    world.begin(3, cache="elsewhere")
    assert journal_bytes(entries(3)) == store.read(TARGET)
    assert append_one(store, "a4")
    assert 40 == len(world.tip())


ORIGIN = Remote(Side("/origin"), (Side("/origin"),), Path("/"))


class Contested(Mirror):
    """A branch that somebody else has always just moved."""

    def __init__(self) -> None:
        super().__init__(Path("nowhere"), "state", Git(Path("nowhere"), {}, "here"))

    def fetch(self) -> str:
        return ""

    def commit(self, tip: str, path: str, data: bytes, message: str) -> str:
        return "commit"

    def push(self, tip: str, commit: str) -> str | None:
        return "it has moved"


def test_waits_between_pushes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first push is tried again at once; the longer the others are in the way, the longer it may wait."""
    waits: list[tuple[float, float]] = []
    monkeypatch.setattr(random, "uniform", lambda least, most: (least, most))
    monkeypatch.setattr(time, "sleep", waits.append)
    with pytest.raises(StoreUnavailable):
        GitStore("here", Contested(), ORIGIN).append(TARGET, None, 1, journal_bytes([begun()]), "begun")
    assert [(0, 0.02 * turn) for turn in range(12)] == waits


class ScriptedGit:
    """A git that answers by command; `asked` is what it was told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **said: Ran) -> None:
        self.asked: list[tuple[str, ...]] = []
        self._said = {name.replace("_", "-"): ran for name, ran in said.items()}
        monkeypatch.setattr(Git, "run", lambda _, *told, **__: self.answer(*told))

    def answer(self, *told: str) -> Ran:
        self.asked.append(told)
        return self._said.get(told[0], Ran(0, b"", b""))


def mirror_in(path: Path) -> Mirror:
    """A copy of a branch."""
    return Mirror(path / "cache" / "git" / "x.git", "state", Git(path, {}, "here"))


@pytest.mark.parametrize(
    ("ran", "expected"),
    [
        (Ran(0, b" \tsha:refs/heads/state\tdone\n", b""), None),
        (Ran(0, b"=\tsha:refs/heads/state\t[up to date]\n", b""), "already pushed by another run"),
        (Ran(1, b"", b"fatal: mismatched algorithms: client sha1\n"), "the repository uses another object format"),
        (Ran(1, b"!\tsha:refs/heads/state\t[rejected] (stale info)\n", b""), "[rejected] (stale info)"),
    ],
)
def test_pushes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran: Ran, expected: str | None) -> None:
    """A push takes only if the branch is still at the tip; it is done, or the branch has moved, and it is told why."""
    git = ScriptedGit(monkeypatch, push=ran)
    assert expected == mirror_in(tmp_path).push("tip", "commit")
    lease, refspec = "--force-with-lease=refs/heads/state:tip", "commit:refs/heads/state"
    assert ("push", "--porcelain", "--recurse-submodules=no", lease, "reconciler", refspec) == git.asked[0]


def test_history_is_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first fetch takes the last commit only; later ones what was added to it, however much that is."""
    git, mirror = ScriptedGit(monkeypatch), mirror_in(tmp_path)
    mirror.make()
    mirror.fetch()
    (tmp_path / "cache" / "git" / "x.git" / "shallow").touch()
    mirror.fetch()
    how, what = ("--quiet", "--no-tags", "--recurse-submodules=no"), "refs/heads/state:refs/reconciler/tip"
    expected = [("fetch", *how, "--depth=1", "reconciler", what), ("fetch", *how, "reconciler", what)]
    assert expected == [told for told in git.asked if told[0] == "fetch"]


@pytest.mark.parametrize(("trouble", "tries"), [("bad object", 3), ("no route", 1)])
def test_fetch_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str, tries: int) -> None:
    """A copy is made anew only if it is broken, not for ever, with what was kept; and the old ones are gone."""
    git = ScriptedGit(monkeypatch, fetch=Ran(128, b"", f"fatal: {trouble}\n".encode()))
    mirror = mirror_in(tmp_path)
    mirror.make()
    mark = tmp_path / "cache" / "git" / "x.git" / "refs" / "mark"
    mark.touch()
    with pytest.raises(StoreUnavailable, match=f"cannot fetch the branch: {trouble}"):
        mirror.fetch()
    of_remote = [told for told in git.asked if "reconciler" in told]
    of_old_copies = [told for told in git.asked if any(word.endswith(".old") for word in told)]
    assert (tries, 0 if tries == 1 else tries) == (len(of_remote), len(of_old_copies))
    assert ["fetch"] * (len(of_remote) + len(of_old_copies)) == [told[0] for told in git.asked]
    assert (tries == 1) == mark.exists()
    assert {"x.git", "x.lock"} >= {path.name for path in (tmp_path / "cache" / "git").iterdir()}


@pytest.mark.parametrize("name", ["europe", "/a", "europe/", "europe/.a", "../a", "europe/a/b", "europe/a\nb"])
def test_no_name_for_a_journal_on_a_branch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A target's name is that of a file in a directory, and git is asked for no other."""
    git = ScriptedGit(monkeypatch)
    with pytest.raises(StoreUnavailable, match="not a valid target name"):
        GitStore("here", mirror_in(tmp_path), ORIGIN).read(TargetName(name))
    assert [] == git.asked


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("host:a/b", "host:a/b"),
        ("https://me:hunter2@git.example/a", "https://git.example/a"),
        ("../a:b/c", "/srv/a:b/c"),
        ("/srv/./a", "/srv/a"),
    ],
)
def test_location_of_an_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, expected: str) -> None:
    """A path is told from the root, as seen from the top of the repository one stands in; of several URLs the first."""
    up = os.path.relpath("/srv/top", tmp_path)
    listed = f"remote.origin.url\n{url}\0remote.origin.url\n/srv/other\0".encode()
    ScriptedGit(
        monkeypatch, check_ref_format=Ran(0, b"state\n", b""), rev_parse=Ran(0, f"{up}\n".encode(), b""),
        config=Ran(0, listed, b""), remote=Ran(0, b"origin\ta (fetch)\norigin\ta (push)\n", b""),
    )  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert f"git:state of {expected}" == open_git("git:state", tmp_path / "cache", {}).location


def test_settings_as_git_lists_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value may be of several lines, or empty, or left out, which is true; none is lost."""
    ScriptedGit(monkeypatch, config=Ran(0, b"a.lines\none\ntwo\0a.flag\0a.empty\n\0", b""))
    assert [("a.lines", "one\ntwo"), ("a.flag", "true"), ("a.empty", "")] == settings_of(Git(tmp_path, {}, "here"))


def test_settings_handed_over() -> None:
    """What is about remotes, credentials and people is handed over as often as it is missing, and nothing else."""
    header, name = ("http.https://A.example/.extraheader", "x: y"), ("user.name", "Somebody")
    outer = [header, ("core.bare", "true"), header, name, header, ("HTTP.proxy", "p")]
    assert [name, header, ("HTTP.proxy", "p")] == beyond(outer, [header, header])
    others = [("remote.origins.proxy", "b"), ("http.proxy", "remote.origin.")]
    assert [("remote.reconciler.proxy", "a"), *others] == as_ours([("remote.origin.proxy", "a"), *others], "origin")
    assert [("remote.reconciler.proxy", "a")] == beyond([("remote.reconciler.proxy", "a"), others[0]], [])


@pytest.mark.parametrize(
    ("environment", "settings", "expected"),
    [
        ({}, [], {"AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"}),
        ({}, [("user.name", "me"), ("author.email", "me@a")], {"COMMITTER_EMAIL"}),
        ({}, [("committer.name", "me"), ("user.email", "me@a")], {"AUTHOR_NAME"}),
        ({}, [("user.name", ""), ("user.email", "me@a")], {"AUTHOR_NAME", "COMMITTER_NAME"}),
        ({"GIT_AUTHOR_NAME": "me", "GIT_COMMITTER_NAME": ""}, [("user.email", "me@a")], {"COMMITTER_NAME"}),
    ],
)
def test_nobody(environment: dict[str, str], settings: list[tuple[str, str]], expected: set[str]) -> None:
    """The program is named as author and committer just as far as the user is not."""
    told = {"NAME": "reconciler", "EMAIL": "reconciler@localhost.invalid"}
    named = {f"GIT_{variable}": told[variable.partition("_")[2]] for variable in expected}
    assert named == identity(environment, settings)


@pytest.mark.parametrize(
    ("stderr", "expected"),
    [
        (b"fatal: so it is\nMake sure you may\n", "so it is"),
        (b"fatal: one\nbetween\nfatal: two\nafter\n", "one; between; two"),
        (b"x" * 700, "x" * 600),
    ],
)
def test_reasons_at_length(stderr: bytes, expected: str) -> None:
    """The last thing that is fatal is the last that counts, and no reason is without end."""
    assert expected == reason(stderr)
