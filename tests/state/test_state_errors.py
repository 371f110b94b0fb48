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
from reconciler.state.stores.location import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reconciler.model.entry import AnyEntry

Act: TypeAlias = "Callable[[Path], object]"
"""What is done in a directory of its own."""

DISK = "see to the disk and the permissions, and run the command again"
RESTORE = "restore the journal from version control or a backup, then run `reconciler state verify`"
KEEPING = "see to its permissions and the space left, or seal responses into the record with `recipients`"
OWNING = "name a directory of your own, or `chmod 700` it if it is yours"
DIRECTORY = "name a directory, such as --state state or --state file:///srv/state"
BRANCH = "write git:BRANCH, or git+https://HOST/PATH#BRANCH (or git+ssh://, git+file://, git+/PATH)"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it happens: a directory with a file, and a store that holds a journal of two entries."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    store(tmp_path).append(TARGET, None, journal_bytes(entries(2)), "begin")
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
    assert (type(expected), expected.what, where, expected.remedy) == (type(told), told.what, told.where, told.remedy)


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
        StoreUnavailable("the state record cannot be listed: Not a directory", where="HERE/file", remedy=DISK),
    ),
    (
        lambda here: obstructed(here).read(TARGET),
        StoreUnavailable(
            "the state record cannot be read: this is no regular file",
            where="HERE/odd/europe/staging.jsonl",
            remedy=DISK,
        ),
    ),
    (
        lambda here: FileStore(here / "file").append(TARGET, None, b"", ""),
        StoreUnavailable(
            "the state record cannot be written: Not a directory", where="HERE/file/europe/staging.jsonl", remedy=DISK
        ),
    ),
    (
        lambda here: store(here).read(TargetName("../staging")),
        StoreUnavailable("'../staging' is no name for a journal", where="HERE/state"),
    ),
    (
        lambda here: store(here).append(TARGET, None, b"", ""),
        HeadMoved("somebody else has begun this journal", where="HERE/state/europe/staging.jsonl"),
    ),
    (
        lambda here: store(here).append(TARGET, "f" * 64, b"", ""),
        HeadMoved("somebody else has appended to this journal", where="HERE/state/europe/staging.jsonl"),
    ),
    (
        lambda here: store(here).append(OTHER, "f" * 64, b"", ""),
        HeadMoved("this journal is gone", where="HERE/state/usa/production.jsonl"),
    ),
)
def test_files(here: Path, act: Act, expected: ReconcilerError) -> None:
    """Journals as files."""
    assert_told(act, expected, here)


@acts(
    (
        lambda _: open_store(" ", Path("cache"), {}),
        SettingsError("the state record's place is empty", where="--state", remedy=DIRECTORY),
    ),
    (
        lambda _: open_store("file://host/state", Path("cache"), {}),
        SettingsError("a file: URL names a path of this machine", where="--state", remedy=DIRECTORY),
    ),
    (
        lambda _: open_store("Gopher://host/state", Path("cache"), {}),
        SettingsError(
            "gopher: is no kind of store",
            where="--state",
            remedy="known are file:, git:, s3:, gs:, az:, postgresql:; a path with a colon in it is written ./PATH",
        ),
    ),
    (
        lambda _: open_store("s3://bucket/state", Path("cache"), {}),
        StateError("s3: stores are not available in this version", where="--state", remedy=DIRECTORY),
    ),
)
def test_locations(here: Path, act: Act, expected: ReconcilerError) -> None:
    """What the user calls a store."""
    assert_told(act, expected, here)


def rolled_back(count: int, mark: str) -> Act:
    """A journal of that length is checked where one of three entries was seen before."""

    def act(here: Path) -> None:
        heads = Heads(here / "cache")
        heads.remember(journal(3), "there")
        Heads.check(journal(count, mark=mark), heads.seen())

    return act


def not_the_last_read(what: str) -> RecordRolledBack:
    """What comes of that."""
    return RecordRolledBack(
        f"the record of europe/staging is not the one last read: {what}",
        where="there",
        remedy="was a backup restored, a branch force-pushed, a line cut off? put the newer journal back, or add "
        "what it holds: reconciler state recover NEWER.jsonl; only if it is lost for good: "
        "reconciler state accept-rollback -t europe/staging",
    )


@acts(
    (
        lambda here: Heads(here / "file" / "cache").seen(),
        SettingsError(
            "the remembered heads cannot be read: Not a directory",
            where="HERE/file/cache/heads",
            remedy="see to its permissions, or name another directory with --cache-dir",
        ),
    ),
    (rolled_back(2, "a"), not_the_last_read("the last 1 of the 3 entries seen here before are missing")),
    (rolled_back(3, "b"), not_the_last_read("entry 3 is not the one that was seen here before")),
    (
        lambda here: Heads(here / "cache").remember(parse(journal_bytes([begun(record="x")]), TARGET, ""), "there"),
        RecordDamaged("the record's id is not hexadecimal", where="there: europe/staging"),
    ),
)
def test_heads(here: Path, act: Act, expected: ReconcilerError) -> None:
    """Heads that were seen before."""
    assert_told(act, expected, here)


def test_head_that_cannot_be_remembered(here: Path) -> None:
    """The warning says where, why, and what is lost by it."""
    assert Heads(here / "file" / "cache").remember(journal(1), "there") == (
        f"{here}/file/cache/heads: the last head of the state record cannot be remembered: Not a directory; "
        "a record that is rolled back would not be noticed"
    )


FIRST, SECOND, THIRD = journal_bytes(entries(3)).splitlines(keepends=True)
BEGUN_TWICE = journal_bytes([begun(), begun()]).splitlines(keepends=True)[1]
BEGUN_ANEW = journal_bytes([begun(record="f" * 32)])
NEWER = SECOND.replace(b"imported", b"teleported")
MERGED = "is a conflict marker of a merge: git cannot merge two histories of one record"
JOIN = "take one side, and add the other: reconciler state recover OTHER.jsonl"
DISPLACED = "does not follow line 1: a line is missing, repeated, replaced or re-ordered, or two histories were merged"


@pytest.mark.parametrize(
    ("line", "trouble"),
    [
        (THIRD, DISPLACED),
        (BEGUN_ANEW, "begins a record anew after line 1: two journals were joined"),
        *((marker * 7 + b" here\n", MERGED) for marker in (b"<", b"|", b"=", b">")),
        (SECOND[:-1] + b"\r\n", "ends in CRLF: something changed the line ends (git's core.autocrlf?)"),
        (b"{\0\n", "holds NUL bytes: part of the file was never written to the disk"),
        (b"\n", "is empty"),
        (NEWER, "was edited"),
        (b"<html>\n", "is no line of a journal"),
        (BEGUN_TWICE, "cannot follow the lines before it: expected `begun` as the first entry and only there"),
    ],
)
def test_damaged_line(line: bytes, trouble: str) -> None:
    """A second line that breaks a journal is named with its trouble, and with the way back."""
    with pytest.raises(RecordDamaged) as caught:
        parse(FIRST + line, TARGET, "state")
    told = caught.value
    remedy = JOIN if trouble == MERGED else RESTORE
    assert (f"line 2 {trouble}", "state:2", remedy, 2) == (told.what, told.where, told.remedy, told.line)


def rehashed(line: bytes) -> bytes:
    """A line that was edited, as a version would write it that knows what it says."""
    body, _, _ = line.rpartition(b',"hash":')
    return body + f',"hash":"{sha256(body).hexdigest()}"}}\n'.encode()


def elsewhere(here: Path, data: bytes) -> FileStore:
    """A store of which messages speak as of one that is no disk of this machine, with that journal."""
    (here / "state" / "europe" / "staging.jsonl").write_bytes(data)
    found = store(here)
    found.location, found.local = "s3://bucket/state", False
    return found


def read_until_it_is_gone(here: Path) -> None:
    """A journal is read, and read again when it is there no more."""
    for _ in range(2):
        read_journal(store(here), TARGET, Heads(here / "cache"))
        (here / "state" / "europe" / "staging.jsonl").unlink()


@acts(
    (
        lambda _: parse(FIRST[:-1], TARGET, "state"),
        RecordDamaged("it holds no whole line, so it is no journal", where="state:1", remedy=RESTORE),
    ),
    (
        lambda _: parse(SECOND, TARGET, "state"),
        RecordDamaged(
            "line 1 does not begin a journal: the lines before it are missing", where="state:1", remedy=RESTORE
        ),
    ),
    (
        lambda _: parse(FIRST + rehashed(NEWER), TARGET, "state"),
        RecordDamaged(
            "line 2 cannot be read: it is of an unknown kind, 'teleported' (written by a newer version?)",
            where="state:2",
            remedy="read it with the version of reconciler that wrote it, or restore the journal from a backup",
        ),
    ),
    (
        lambda _: parse(FIRST, OTHER, "state"),
        RecordForeign(
            "this is the record of europe/staging, not of usa/production",
            where="state",
            remedy="look for the journal that was here before, and put each back in its place",
        ),
    ),
    (
        lambda here: read_journal(elsewhere(here, FIRST + b"\n"), TARGET, Heads(here / "cache")),
        RecordDamaged("line 2 is empty", where="s3://bucket/state europe/staging:2", remedy=RESTORE),
    ),
    (
        lambda here: read_journal(store(here), OTHER, Heads(here / "cache")),
        RecordMissing(
            "usa/production has no state record here",
            where="HERE/state",
            remedy="is this the right --state? if usa/production never had a record: "
            "reconciler state init -t usa/production",
        ),
    ),
    (
        read_until_it_is_gone,
        RecordLost(
            "the state record of europe/staging is missing: it had 2 entries when it was last read here",
            where="HERE/state",
            remedy="put it back (version control, a backup, another --state); only if it is lost for good, and what it "
            "held may be created a second time: reconciler state accept-rollback -t europe/staging",
        ),
    ),
    (
        lambda here: append_entries(store(here), journal(2), [imported("a2")], Heads(here / "cache"), ""),
        StateError("this cannot be recorded: attempt a2 is started twice", where="europe/staging"),
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
        (SETTLED, {"colour": 1}, "its field 'colour' is unknown (written by a newer version?)"),
        (SETTLED, {"detail": 1}, "its field 'detail' must be a string"),
        (SETTLED, {"status": "1"}, "its field 'status' must be a whole number"),
        (SETTLED, {"outcome": 1}, f"its field 'outcome' must be one of {', '.join(Outcome)}"),
        (SETTLED, {"fields": []}, "its field 'fields' must be an object of strings, numbers and booleans"),
        (RESOLVED, {"created": 1}, "its field 'created' must be true or false"),
        (begun(), {"format": 2}, "its field 'format' is 2, and this version knows 1 (written by a newer version?)"),
    ],
)
def test_entries(entry: AnyEntry, change: Mapping[str, object], expected: str) -> None:
    """What is wrong with an entry's fields, as the end of a sentence about its line."""
    with pytest.raises(ValueError, match="its field") as caught:
        from_fields({**to_fields(entry), **change})
    assert expected == str(caught.value)


@acts(
    (
        lambda _: encrypt([str(pyrage.x25519.Identity.generate().to_public()), "age1"], b""),
        SettingsError(
            "recipient 2 is no age public key",
            where="recipients",
            remedy="put the line that `age-keygen -y` prints, which begins with age1",
        ),
    ),
    (lambda _: encrypt([], b""), SettingsError("there is nobody to seal the response to", where="recipients")),
    (
        lambda _: decrypt("age:YWdl", []),
        StateError("no age identity is given", remedy="name the file that holds it with --identity"),
    ),
    (
        lambda _: decrypt("age:YWdl", ["", "# nothing\nage1\n"]),
        StateError("line 2 of identity file 2 is no age identity", remedy="use a file that age-keygen wrote"),
    ),
    (
        lambda _: decrypt("YWdl", [str(pyrage.x25519.Identity.generate())]),
        StateError("this is no sealed response"),
    ),
    (
        lambda _: decrypt("age:YWdl", [str(pyrage.x25519.Identity.generate())]),
        StateError(
            "none of the identities opens this response",
            remedy="use the identity of one of the `recipients` at the time of the apply",
        ),
    ),
    (
        lambda here: PrivateFiles(here / "data").read("..", "a1", "response"),
        StateError("the record or the attempt has an id that is no name for a file", where="HERE/data"),
    ),
    (
        lambda here: PrivateFiles(here / "file" / "data").check_writable(RECORD),
        StateError("a create response cannot be written here: Not a directory", where="HERE/file/data", remedy=KEEPING),
    ),
    (
        lambda here: obstructed_responses(here).read(RECORD, "a1", "response"),
        StateError("a create response cannot be read here: Is a directory", where="HERE/data", remedy=KEEPING),
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
        SettingsError("this directory cannot be trusted: it is a symbolic link", where="HERE/link", remedy=OWNING),
    ),
    (
        lambda here: Heads(here / "file").seen(),
        SettingsError("this directory cannot be trusted: it is no directory", where="HERE/file", remedy=OWNING),
    ),
    (
        lambda here: private_directory(open_to_others(here)),
        SettingsError(
            "this directory cannot be trusted: others can write to it (mode 1722)", where="HERE/open", remedy=OWNING
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
    return GitStore("there", mirror(here))


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
            "the branch cannot be fetched: so it is",
            where="there",
            remedy="check the network, the URL, and the credentials that git has for it",
        ),
    ),
    (
        {"push": REFUSED},
        lambda here: mirror(here).push("tip", "commit"),
        StoreUnavailable(
            "the push failed: not today; [remote rejected] (declined)",
            where="there",
            remedy="may these credentials push to the branch? in a workflow that takes `permissions: contents: write`",
        ),
    ),
    (
        {"cat_file": Ran(0, b"sha tree 3\nabc\n", b"")},
        lambda here: mirror(here).read("tip", "europe/staging.jsonl"),
        StoreUnavailable("europe/staging.jsonl is no file, but a tree", where="there"),
    ),
    (
        {"ls_tree": Ran(0, b"100644 blob sha\teurope\0", b"")},
        lambda here: mirror(here).commit("tip", "europe/staging.jsonl", b"", "note"),
        StoreUnavailable("europe is no directory", where="there"),
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
            "the copy of the branch was damaged, and has been thrown away", where="there", remedy="try again"
        ),
    ),
    (
        {},
        lambda here: Mirror(here / "file" / "git" / "x.git", "state", Git(here, {}, "there")).make(),
        StoreUnavailable(
            "the copy of the branch cannot be kept: Not a directory",
            where="HERE/file/git/x.git",
            remedy="see to the disk and the permissions, or name another directory with --cache-dir",
        ),
    ),
    (
        {},
        lambda here: git_store(here).read(TargetName("../staging")),
        StoreUnavailable("'../staging' is no name for a journal", where="there"),
    ),
    (
        {"rev_parse": NAMED, "cat_file": A_FILE},
        lambda here: git_store(here).append(TARGET, None, b"", ""),
        HeadMoved("somebody else has begun this journal", where="there europe/staging"),
    ),
    (
        {"rev_parse": NAMED, "cat_file": A_FILE},
        lambda here: git_store(here).append(TARGET, "f" * 64, b"", ""),
        HeadMoved("somebody else has appended to this journal", where="there europe/staging"),
    ),
    (
        {"rev_parse": NAMED, "cat_file": NO_FILE},
        lambda here: git_store(here).append(TARGET, "f" * 64, b"", ""),
        HeadMoved("this journal is gone", where="there europe/staging"),
    ),
    (
        {"rev_parse": NAMED, "cat_file": NO_FILE, "push": MOVED},
        lambda here: git_store(here).append(TARGET, None, b"", ""),
        StoreUnavailable(
            "nobody else pushed to the branch, and the remote refused 12 pushes: [rejected] (fetch first)",
            where="there",
            remedy="if a git process died at the remote, delete the file refs/heads/BRANCH.lock it left in the"
            " repository there; otherwise ask whoever runs the remote",
        ),
    ),
    (
        {},
        lambda here: open_here(here, "git+nothing"),
        SettingsError("this names no git repository", where="--state", remedy=BRANCH),
    ),
    (
        {},
        lambda here: open_here(here, "git:"),
        SettingsError("the branch is missing", where="--state", remedy=BRANCH),
    ),
    (
        {"check_ref_format": FAILED},
        open_here,
        SettingsError("no branch can have this name", where="--state", remedy=BRANCH),
    ),
    (
        {"check_ref_format": NAMED, "rev_parse": FAILED},
        open_here,
        StateError("so it is", where="git:state", remedy=f"run it inside the repository; or {BRANCH}"),
    ),
    (
        {"check_ref_format": NAMED, "rev_parse": UNTRUSTED},
        open_here,
        StateError(
            "detected dubious ownership in repository at '/srv/a'",
            where="git:state",
            remedy="it belongs to another user; if you trust it: git config --global --add safe.directory /srv/a",
        ),
    ),
    (
        {"check_ref_format": NAMED},
        open_here,
        StateError(
            "the repository one stands in has no remote `origin`",
            where="git:state",
            remedy=f"git remote add origin URL; or {BRANCH}",
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
            "git cannot be run: No such file or directory", where="there", remedy="install git 2.31 or newer"
        ),
    ),
    (
        lambda here: slow_git(here).run("fetch", "--quiet"),
        StoreUnavailable(
            "`git fetch` did not come to an end within 0.1 s", where="there", remedy="see to the network, and try again"
        ),
    ),
)
def test_running_git(here: Path, act: Act, expected: ReconcilerError) -> None:
    """The command itself."""
    assert_told(act, expected, here)
