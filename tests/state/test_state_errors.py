"""What each error about the state record says, to the letter: what went wrong, where, and what to do next."""

from __future__ import annotations

import time
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pyrage  # type: ignore[import-untyped]
import pytest
from support.journal_samples import AT, BY, OTHER, RECORD, TARGET, begun, entries, imported, journal, journal_bytes

from reconciler.disk.directories import private_directory
from reconciler.errors import (
    HeadMoved,
    ReconcilerError,
    RecordDamaged,
    RecordForeign,
    RecordLost,
    RecordMissing,
    RecordRolledBack,
    SettingsError,
    StateError,
    StoreUnavailable,
)
from reconciler.model.address import TargetName
from reconciler.model.entry import Resolved, Settled
from reconciler.model.outcome import Outcome
from reconciler.state.heads.remembered import Heads
from reconciler.state.heads.tracking import append_entries, read_journal
from reconciler.state.journal.chain import parse
from reconciler.state.journal.entries import from_fields, to_fields
from reconciler.state.private.responses import PrivateFiles, decrypt, encrypt
from reconciler.state.stores.files import FileStore
from reconciler.state.stores.git.branch import GitStore
from reconciler.state.stores.git.command import Git, Ran
from reconciler.state.stores.git.mirror import Mirror
from reconciler.state.stores.git.origin import open_git
from reconciler.state.stores.git.remote import Remote, Side
from reconciler.state.stores.location import open_store
from reconciler.state.stores.store import StoreLocation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reconciler.model.entry import AnyEntry

Act: TypeAlias = "Callable[[Path], object]"
"""What is done in a directory of its own."""

DISK = "check the disk and the permissions, then run the command again"
RESTORE = "restore the journal from version control or a backup, then run: reconciler state verify"
KEEPING = "check permissions and free space, or add `recipients` to encrypt responses into the record"
DIRECTORY = (
    "use a directory (--state state, --state file:///srv/state), a git branch (--state git:BRANCH), an object store"
    " (--state s3://BUCKET/PREFIX) or a database (--state postgresql://HOST/DATABASE)"
)
OBSTRUCTED = "a file is in the place of a directory: move it away, or use another directory with --state"
BY_URL = "git+https://HOST/PATH#BRANCH (or git+ssh://, git+file://, git+/PATH)"
BRANCH = f"use git:BRANCH, or {BY_URL}"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it happens: a directory with a file, and a store that holds a journal of two entries."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    store(tmp_path).append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
    return tmp_path


def acts(*given: tuple[Act, ReconcilerError]) -> pytest.MarkDecorator:
    """A test for each act, with the error that comes of it; HERE in its place is where it happens."""
    return pytest.mark.parametrize(("act", "expected"), given, ids=[expected.what for _, expected in given])


def assert_told(act: Act, expected: ReconcilerError, here: Path) -> None:
    """The act ends with that error, and no other."""
    with pytest.raises(ReconcilerError) as caught:
        act(here)
    told = caught.value
    where = None if expected.where is None else expected.where.replace("HERE", str(here))
    remedy = None if expected.remedy is None else expected.remedy.replace("HERE", str(here))
    assert (type(expected), expected.what, where, remedy) == (type(told), told.what, told.where, told.remedy)


def store(here: Path) -> FileStore:
    """The store that is there."""
    return FileStore(here / "state")


def obstructed(here: Path) -> FileStore:
    """A store with a directory where the journal should be."""
    (here / "odd" / "europe" / "staging.jsonl").mkdir(parents=True)
    return FileStore(here / "odd")


def obstructed_responses(here: Path) -> PrivateFiles:
    """Private files with a directory where the response should be."""
    (here / "data" / RECORD / "a1.response.1").mkdir(parents=True)
    return PrivateFiles(here / "data")


@acts(
    (
        lambda here: FileStore(here / "file").targets(),
        StoreUnavailable("cannot list the state record: Not a directory", where="HERE/file", remedy=OBSTRUCTED),
    ),
    (
        lambda here: obstructed(here).read(TARGET),
        StoreUnavailable(
            "cannot read the state record: not a regular file",
            where="HERE/odd/europe/staging.jsonl",
            remedy=DISK,
        ),
    ),
    (
        lambda here: FileStore(here / "file").append(TARGET, None, 1, b"", ""),
        StoreUnavailable(
            "cannot write the state record: Not a directory",
            where="HERE/file/europe/staging.jsonl",
            remedy=OBSTRUCTED,
        ),
    ),
    (
        lambda here: store(here).read(TargetName("../staging")),
        StoreUnavailable("not a valid target name: '../staging'", where="HERE/state"),
    ),
    (
        lambda here: store(here).append(TARGET, None, 1, b"", ""),
        HeadMoved("conflict: another run initialized this journal", where="HERE/state/europe/staging.jsonl"),
    ),
    (
        lambda here: store(here).append(TARGET, "f" * 64, 3, b"", ""),
        HeadMoved("conflict: another run appended to this journal", where="HERE/state/europe/staging.jsonl"),
    ),
    (
        lambda here: store(here).append(OTHER, "f" * 64, 3, b"", ""),
        HeadMoved("the journal is missing", where="HERE/state/usa/production.jsonl"),
    ),
)
def test_files(here: Path, act: Act, expected: ReconcilerError) -> None:
    """Journals as files."""
    assert_told(act, expected, here)


@acts(
    (
        lambda _: open_store(" ", Path("cache"), {}),
        SettingsError("the value is empty", where="--state", remedy=DIRECTORY),
    ),
    (
        lambda _: open_store("file://host/state", Path("cache"), {}),
        SettingsError("a file: URL cannot have a host", where="--state", remedy=DIRECTORY),
    ),
    (
        lambda _: open_store("Gopher://host/state", Path("cache"), {}),
        SettingsError(
            "unknown store type gopher:",
            where="--state",
            remedy="valid types: file:, git:, s3:, gs:, az:, postgresql:; write a path that contains a colon as ./PATH",
        ),
    ),
)
def test_locations(here: Path, act: Act, expected: ReconcilerError) -> None:
    """What the user calls a store."""
    assert_told(act, expected, here)


def rolled_back(count: int, mark: str) -> Act:
    """A journal of that length is checked where one of three entries was seen before."""

    def act(here: Path) -> None:
        heads = Heads(here / "cache")
        heads.remember(journal(3), StoreLocation("there"))
        Heads.check(journal(count, mark=mark), heads.seen(), StoreLocation("there"))

    return act


def not_the_last_read(what: str) -> RecordRolledBack:
    """What comes of that."""
    return RecordRolledBack(
        f"the record of europe/staging was rolled back: {what}",
        where="there",
        remedy="a backup may have been restored, a branch force-pushed or lines deleted; restore the newer journal, or "
        "run: reconciler state recover NEWER.jsonl; if it is lost for good, run: "
        "reconciler state accept-rollback -t europe/staging",
    )


@acts(
    (
        lambda here: Heads(here / "file" / "cache").seen(),
        SettingsError(
            "cannot read the last known heads: Not a directory",
            where="HERE/file/cache/heads",
            remedy="check the permissions, or use another --cache-dir",
        ),
    ),
    (rolled_back(2, "a"), not_the_last_read("the last 1 of 3 entries are missing")),
    (rolled_back(3, "b"), not_the_last_read("entry 3 differs from the one last seen on this machine")),
    (
        lambda here: Heads(here / "cache").remember(
            parse(journal_bytes([begun(record="x")]), TARGET, ""), StoreLocation("there")
        ),
        RecordDamaged("the record's id is not hexadecimal", where="there: europe/staging"),
    ),
)
def test_heads(here: Path, act: Act, expected: ReconcilerError) -> None:
    """Heads that were seen before."""
    assert_told(act, expected, here)


def test_head_that_cannot_be_remembered(here: Path) -> None:
    """The warning says where, why, and what is lost by it."""
    assert Heads(here / "file" / "cache").remember(journal(1), StoreLocation("there")) == (
        f"{here}/file/cache/heads: cannot save the last known head of the state record: Not a directory; "
        "a later rollback would not be detected"
    )


FIRST, SECOND, THIRD = journal_bytes(entries(3)).splitlines(keepends=True)
BEGUN_TWICE = journal_bytes([begun(), begun()]).splitlines(keepends=True)[1]
BEGUN_ANEW = journal_bytes([begun(record="f" * 32)])
NEWER = SECOND.replace(b"imported", b"teleported")
MERGED = "is a git conflict marker: git cannot merge two copies of a journal"
JOIN = "to keep one side and recover the other, run: reconciler state recover OTHER.jsonl"
DISPLACED = "does not follow line 1: a line is missing, repeated, replaced or reordered, or two copies were merged"


@pytest.mark.parametrize(
    ("line", "trouble"),
    [
        (THIRD, DISPLACED),
        (BEGUN_ANEW, "starts a new record after line 1: two journals were concatenated"),
        *((marker * 7 + b" here\n", MERGED) for marker in (b"<", b"|", b"=", b">")),
        (SECOND[:-1] + b"\r\n", "has CRLF line endings; check git's core.autocrlf"),
        (b"{\0\n", "contains NUL bytes: part of the file was never written to disk"),
        (b"\n", "is empty"),
        (NEWER, "was edited"),
        (b"<html>\n", "is not a journal entry"),
        (BEGUN_TWICE, "is invalid after the lines before it: expected `begun` as the first entry and only there"),
    ],
)
def test_damaged_line(line: bytes, trouble: str) -> None:
    """A second line that breaks a journal is named with its trouble, and with the way back."""
    with pytest.raises(RecordDamaged) as caught:
        parse(FIRST + line, TARGET, "state")
    told = caught.value
    remedy = JOIN if trouble == MERGED else RESTORE
    assert (f"line 2 {trouble}", "state:2", remedy) == (told.what, told.where, told.remedy)


def rehashed(line: bytes) -> bytes:
    """A line that was edited, as a version would write it that knows what it says."""
    body, _, _ = line.rpartition(b',"hash":')
    return body + f',"hash":"{sha256(body).hexdigest()}"}}\n'.encode()


class Elsewhere(FileStore):
    """A store with other words for where a journal is."""

    def where(self, target: TargetName) -> str:
        return f"s3://bucket/state {target}"


def elsewhere(here: Path, data: bytes) -> FileStore:
    """A store of which messages speak as of one that is no disk of this machine, with that journal."""
    (here / "state" / "europe" / "staging.jsonl").write_bytes(data)
    return Elsewhere(here / "state")


def read_until_it_is_gone(here: Path) -> None:
    """A journal is read, and read again when it is there no more."""
    for _ in range(2):
        read_journal(store(here), TARGET, Heads(here / "cache"))
        (here / "state" / "europe" / "staging.jsonl").unlink()


@acts(
    (
        lambda _: parse(FIRST[:-1], TARGET, "state"),
        RecordDamaged("the file has no complete line: not a journal", where="state:1", remedy=RESTORE),
    ),
    (
        lambda _: parse(SECOND, TARGET, "state"),
        RecordDamaged(
            "line 1 is not the first entry of a journal: earlier lines are missing", where="state:1", remedy=RESTORE
        ),
    ),
    (
        lambda _: parse(FIRST + rehashed(NEWER), TARGET, "state"),
        RecordDamaged(
            "line 2 cannot be read: unknown entry kind 'teleported' (written by a newer version?)",
            where="state:2",
            remedy="use the reconciler version that wrote it, or restore the journal from a backup",
        ),
    ),
    (
        lambda _: parse(FIRST, OTHER, "state"),
        RecordForeign(
            "this journal belongs to target europe/staging, not usa/production",
            where="state",
            remedy="two journals were swapped or copied; restore each in its own location",
        ),
    ),
    (
        lambda here: read_journal(elsewhere(here, FIRST + b"\n"), TARGET, Heads(here / "cache")),
        RecordDamaged("line 2 is empty", where="s3://bucket/state europe/staging:2", remedy=RESTORE),
    ),
    (
        lambda here: read_journal(store(here), OTHER, Heads(here / "cache")),
        RecordMissing(
            "no state record for usa/production",
            where="HERE/state",
            remedy="check --state; if usa/production never had one, run: reconciler state init -t usa/production",
        ),
    ),
    (
        read_until_it_is_gone,
        RecordLost(
            "the state record of europe/staging is missing: it was last read here with 2 entries; until it is"
            " restored, nothing is created there",
            where="HERE/state",
            remedy="restore it (version control, a backup, another --state), or with a copy of it, such as a"
            " colleague's, run: reconciler state recover COPY.jsonl; if it is lost for good, initialize"
            " a new one, into which its subscriptions can be imported; run: reconciler state accept-rollback -t"
            " europe/staging",
        ),
    ),
    (
        lambda here: append_entries(store(here), journal(2), [imported("a2")], Heads(here / "cache"), ""),
        StateError("cannot append this entry: attempt a2 is started twice", where="europe/staging"),
    ),
)
def test_journals(here: Path, act: Act, expected: ReconcilerError) -> None:
    """Journals that are damaged from the start, newer, another's or gone, and what cannot be appended."""
    assert_told(act, expected, here)


SETTLED = Settled(at=AT, by=BY, attempt="a1", outcome=Outcome.CREATED)
RESOLVED = Resolved(at=AT, by=BY, attempt="a1", created=True)


@pytest.mark.parametrize(
    ("entry", "change", "expected"),
    [
        (SETTLED, {"colour": 1}, "unknown field 'colour' (written by a newer version?)"),
        (SETTLED, {"detail": 1}, "field 'detail' must be a string"),
        (SETTLED, {"status": "1"}, "field 'status' must be a whole number"),
        (SETTLED, {"outcome": 1}, f"field 'outcome' must be one of {', '.join(Outcome)}"),
        (SETTLED, {"fields": []}, "field 'fields' must be an object of strings, numbers and booleans"),
        (RESOLVED, {"created": 1}, "field 'created' must be true or false"),
        (begun(), {"format": 2}, "field 'format' is 2, but this version supports 1 (written by a newer version?)"),
    ],
)
def test_entries(entry: AnyEntry, change: Mapping[str, object], expected: str) -> None:
    """What is wrong with an entry's fields, as the end of a sentence about its line."""
    with pytest.raises(ValueError, match="field") as caught:
        from_fields({**to_fields(entry), **change})
    assert expected == str(caught.value)


@acts(
    (
        lambda _: encrypt([str(pyrage.x25519.Identity.generate().to_public()), "age1"], b""),
        SettingsError(
            "recipient 2 is not an age public key",
            where="recipients",
            remedy="use the line that `age-keygen -y` prints (age1…)",
        ),
    ),
    (lambda _: encrypt([], b""), SettingsError("no recipients to encrypt to", where="recipients")),
    (
        lambda _: decrypt("age:YWdl", []),
        StateError("no age identity", remedy="use --identity FILE"),
    ),
    (
        lambda _: decrypt("age:YWdl", ["", "# nothing\nage1\n"]),
        StateError("line 2 of identity file 2 is not an age identity", remedy="use a file that age-keygen wrote"),
    ),
    (
        lambda _: decrypt("YWdl", [str(pyrage.x25519.Identity.generate())]),
        StateError("not an encrypted response or secret"),
    ),
    (
        lambda _: decrypt("age:YWdl", [str(pyrage.x25519.Identity.generate())]),
        StateError(
            "no identity can decrypt this",
            remedy="use the identity of a recipient that was in config/ when it was encrypted",
        ),
    ),
    (
        lambda here: PrivateFiles(here / "data").read("..", "a1", "response"),
        StateError("the id of the record or attempt is not a valid file name", where="HERE/data"),
    ),
    (
        lambda here: PrivateFiles(here / "file" / "data").check_writable(RECORD),
        StateError("cannot save a create response: Not a directory", where="HERE/file/data", remedy=KEEPING),
    ),
    (
        lambda here: obstructed_responses(here).read(RECORD, "a1", "response"),
        StateError("cannot read a create response: Is a directory", where="HERE/data", remedy=KEEPING),
    ),
)
def test_responses(here: Path, act: Act, expected: ReconcilerError) -> None:
    """Create responses, sealed or kept."""
    assert_told(act, expected, here)


def open_to_others(here: Path) -> Path:
    """A directory that anybody can write to."""
    (here / "open").mkdir()
    (here / "open").chmod(0o1722)
    return here / "open"


def linked(here: Path) -> Path:
    """A symbolic link to a directory."""
    (here / "link").symlink_to(here)
    return here / "link"


@acts(
    (
        lambda here: private_directory(linked(here)),
        SettingsError("unsafe directory: a symbolic link", where="HERE/link", remedy="use another directory"),
    ),
    (
        lambda here: Heads(here / "file").seen(),
        SettingsError("unsafe directory: not a directory", where="HERE/file", remedy="use another directory"),
    ),
    (
        lambda here: private_directory(open_to_others(here)),
        SettingsError(
            "unsafe directory: writable by other users (mode 1722)",
            where="HERE/open",
            remedy="use another directory, or run: chmod 700 HERE/open",
        ),
    ),
)
def test_directories(here: Path, act: Act, expected: ReconcilerError) -> None:
    """Directories that are to be private."""
    assert_told(act, expected, here)


def git_says(**said: Ran) -> Callable[..., Ran]:
    """A git that answers by command (with _ for -), and makes the repositories it is told to make."""

    def answer(_: Git, command: str, *arguments: str, stdin: bytes | None = None) -> Ran:
        if command == "init":
            Path(arguments[-1]).mkdir()
        return said.get(command.replace("-", "_"), Ran(0, b"", b""))

    return answer


def mirror(here: Path) -> Mirror:
    """A copy of a branch."""
    return Mirror(here / "cache" / "git" / "x.git", "state", Git(here, {}, "there"))


def git_store(here: Path) -> GitStore:
    """The store on that branch."""
    return GitStore("there", mirror(here), Remote(Side("/origin"), (Side("/origin"),), here))


def open_here(here: Path, spec: str = "git:state") -> GitStore:
    """A store, opened where it happens."""
    return open_git(spec, here / "cache", {})


FAILED = Ran(128, b"", b"fatal: so it is\n")
UNTRUSTED = Ran(128, b"", b"fatal: detected dubious ownership in repository at '/srv/a'\n")
NAMED = Ran(0, b"state\n", b"")
NO_FILE = Ran(0, b"name missing\n", b"")
A_FILE = Ran(0, b"name blob 2\n{}\n", b"")
MOVED = Ran(1, b"!\tsha:refs/heads/state\t[rejected] (fetch first)\n", b"")
REFUSED = Ran(1, b"!\tsha:refs/heads/state\t[remote rejected] (declined)\n", b"remote: not today\n")


def acts_of_git(*given: tuple[dict[str, Ran], Act, ReconcilerError]) -> pytest.MarkDecorator:
    """A test for each act, with what git says meanwhile and the error that comes of it."""
    return pytest.mark.parametrize(("said", "act", "expected"), given, ids=[expected.what for *_, expected in given])


@acts_of_git(
    (
        {"fetch": FAILED},
        lambda here: mirror(here).fetch(),
        StoreUnavailable(
            "cannot fetch the branch: so it is",
            where="there",
            remedy="check the network, the URL and the credentials",
        ),
    ),
    (
        {"push": REFUSED},
        lambda here: mirror(here).push("tip", "commit"),
        StoreUnavailable(
            "the push failed: not today; [remote rejected] (declined)",
            where="there",
            remedy="check that the credentials may push to the branch; a workflow needs `permissions: contents: write`",
        ),
    ),
    (
        {"cat_file": Ran(0, b"sha tree 3\nabc\n", b"")},
        lambda here: mirror(here).read("tip", "europe/staging.jsonl"),
        StoreUnavailable("europe/staging.jsonl is a tree, not a file", where="there"),
    ),
    (
        {"ls_tree": Ran(0, b"100644 blob sha\teurope\0", b"")},
        lambda here: mirror(here).commit("tip", "europe/staging.jsonl", b"", "note"),
        StoreUnavailable("europe is not a directory", where="there"),
    ),
    (
        {"ls_tree": FAILED},
        lambda here: mirror(here).paths("tip"),
        StoreUnavailable("`git ls-tree` failed: so it is", where="there"),
    ),
    (
        {"cat_file": NO_FILE, "ls_tree": Ran(0, b"100644 blob name\teurope/staging.jsonl", b"")},
        lambda here: mirror(here).read("tip", "europe/staging.jsonl"),
        StoreUnavailable(
            "the local copy of the branch was damaged and has been deleted",
            where="there",
            remedy="run the command again",
        ),
    ),
    (
        {},
        lambda here: Mirror(here / "file" / "git" / "x.git", "state", Git(here, {}, "there")).make(),
        StoreUnavailable(
            "cannot save the local copy of the branch: Not a directory",
            where="HERE/file/git/x.git",
            remedy="check the disk and the permissions, or use another --cache-dir",
        ),
    ),
    (
        {},
        lambda here: git_store(here).read(TargetName("../staging")),
        StoreUnavailable("not a valid target name: '../staging'", where="there"),
    ),
    (
        {"rev_parse": NAMED, "cat_file": A_FILE},
        lambda here: git_store(here).append(TARGET, None, 1, b"", ""),
        HeadMoved("conflict: another run initialized this journal", where="there europe/staging"),
    ),
    (
        {"rev_parse": NAMED, "cat_file": A_FILE},
        lambda here: git_store(here).append(TARGET, "f" * 64, 3, b"", ""),
        HeadMoved("conflict: another run appended to this journal", where="there europe/staging"),
    ),
    (
        {"rev_parse": NAMED, "cat_file": NO_FILE},
        lambda here: git_store(here).append(TARGET, "f" * 64, 3, b"", ""),
        HeadMoved("the journal is missing", where="there europe/staging"),
    ),
    (
        {"rev_parse": NAMED, "cat_file": NO_FILE, "push": MOVED},
        lambda here: git_store(here).append(TARGET, None, 1, b"", ""),
        StoreUnavailable(
            "the remote rejected 12 pushes: [rejected] (fetch first)",
            where="there",
            remedy="a git process may have crashed on the remote: delete refs/heads/BRANCH.lock in that repository, or"
            " ask its administrator",
        ),
    ),
    (
        {},
        lambda here: open_here(here, "git+nothing"),
        SettingsError("not a git repository URL", where="--state", remedy=BRANCH),
    ),
    (
        {},
        lambda here: open_here(here, "git:"),
        SettingsError("no branch given", where="--state", remedy=BRANCH),
    ),
    (
        {"check_ref_format": FAILED},
        open_here,
        SettingsError("not a valid branch name", where="--state", remedy=BRANCH),
    ),
    (
        {"check_ref_format": NAMED, "rev_parse": FAILED},
        open_here,
        StateError("so it is", where="git:state", remedy=f"run it inside the repository; or use {BY_URL}"),
    ),
    (
        {"check_ref_format": NAMED, "rev_parse": UNTRUSTED},
        open_here,
        StateError(
            "detected dubious ownership in repository at '/srv/a'",
            where="git:state",
            remedy="the repository belongs to another user; if you trust it, run:"
            " git config --global --add safe.directory /srv/a",
        ),
    ),
    (
        {"check_ref_format": NAMED},
        open_here,
        StateError(
            "the current repository has no remote `origin`",
            where="git:state",
            remedy=f"run: git remote add origin URL; or use {BY_URL}",
        ),
    ),
)
def test_git(
    here: Path, monkeypatch: pytest.MonkeyPatch, said: dict[str, Ran], act: Act, expected: ReconcilerError
) -> None:
    """Journals on a branch: what git says of it, and what is made of that."""
    monkeypatch.setattr(Git, "run", git_says(**said))
    monkeypatch.setattr(time, "sleep", lambda _: None)
    assert_told(act, expected, here)


def slow_git(here: Path) -> Git:
    """A git that does not come to an end."""
    (here / "git").write_text("#!/bin/sh\nPATH=/usr/bin:/bin exec sleep 60\n")
    (here / "git").chmod(0o755)
    return Git(here, {"PATH": str(here)}, "there", patience=0.1)


@acts(
    (
        lambda here: Git(here, {"PATH": str(here)}, "there").run("version"),
        StoreUnavailable(
            "cannot run git: No such file or directory", where="there", remedy="install git 2.31 or newer"
        ),
    ),
    (
        lambda here: slow_git(here).run("fetch", "--quiet"),
        StoreUnavailable("`git fetch` timed out after 0.1 s", where="there", remedy="check the network, then retry"),
    ),
)
def test_running_git(here: Path, act: Act, expected: ReconcilerError) -> None:
    """The command itself."""
    assert_told(act, expected, here)
