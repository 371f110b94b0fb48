"""Journals as files: the conformance suite, and what only files do."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.journal_samples import TARGET, begun, entries, imported, journal, journal_bytes
from support.store_conformance import StoreConformance, append_one, read_back

from reconciler.errors import HeadMoved, StoreUnavailable
from reconciler.model.address import TargetName
from reconciler.state.journal.chain import link, parse
from reconciler.state.stores import files
from reconciler.state.stores.files import FileStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reconciler.state.stores.store import Store

APPEND_ON_A_FULL_DISK = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from support.journal_samples import TARGET, imported, journal_bytes, begun
from reconciler.errors import StoreUnavailable
from reconciler.model.address import TargetName
from reconciler.state.stores.files import FileStore
from reconciler.state.journal.chain import link
from support.store_conformance import read_back
store = FileStore(Path(sys.argv[2]))
before = store.read(TARGET)
resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, len(before) + 50))
lines, _ = link(read_back(store).head, 2, [imported("a3")])
try:
    store.append(TARGET, read_back(store).head, 3, lines, "full")
except StoreUnavailable as problem:
    print(f"{problem.what}; {problem.remedy}")
other = TargetName("europe/production")
try:
    store.append(other, None, 1, journal_bytes([begun(other)]) * 9, "full")
except StoreUnavailable as problem:
    print(f"{problem.what}; {problem.remedy}")
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory for the store, not made yet."""
    return tmp_path / "deep" / "state"


def path_of(root: Path) -> Path:
    """Where the journal of TARGET should be."""
    return root / "europe" / "staging.jsonl"


def append_to(store: Store, attempt: str = "a3") -> None:
    """Append one entry behind the first two."""
    head = journal(2).head
    store.append(TARGET, head, 3, link(head, 2, [imported(attempt)])[0], "test")


class TestFileStore(StoreConformance):
    """The file store is a store."""

    @pytest.fixture
    def another_handle(self, root: Path) -> Callable[[], Store]:
        """Another handle on the same directory."""
        return lambda: FileStore(root)

    @pytest.fixture
    def spec(self, root: Path) -> str:
        """Its path."""
        return str(root)

    @pytest.fixture
    def spec_at(self) -> Callable[[Path], str]:
        """The path alone."""
        return str

    @pytest.fixture
    def locked_out(self, store: Store, root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
        """The journal is locked."""
        monkeypatch.setattr(files, "_PATIENCE", 0.1)
        with path_of(root).open() as locked:
            fcntl.flock(locked, fcntl.LOCK_EX)
            yield FileStore(root)

    @pytest.fixture
    def broken(self, store: Store, root: Path) -> Store:
        """Its directory is none any more."""
        root.rename(root.with_name("away"))
        root.write_text("in its place")
        return store

    @pytest.fixture
    def tear(self, root: Path) -> Callable[[TargetName, bytes], None]:
        """Written past the store."""

        def tear(target: TargetName, tail: bytes) -> None:
            with path_of(root).open("ab") as file:
                file.write(tail)

        return tear


@pytest.fixture
def store(root: Path) -> FileStore:
    """A store with a journal of two entries."""
    store = FileStore(root)
    store.append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
    return store


def run(script: str, *arguments: str) -> subprocess.Popen[str]:
    """Start Python on a script that may import the test modules of this directory."""
    command = [sys.executable, "-c", script, str(Path(__file__).parents[1]), *arguments]
    # A measurement of coverage writes files of its own, which a full disk would keep it from.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


FIRST = "first make room on its disk, or raise the limit on the size of files (ulimit -f)"


def test_full_disk(store: FileStore, root: Path) -> None:
    """Where the disk is full an append fails and leaves the journal, to the byte, as it was; none is half begun."""
    said, problems = run(APPEND_ON_A_FULL_DISK, str(root)).communicate(timeout=60)
    assert (said.splitlines(), problems) == ([f"cannot write the state record: File too large; {FIRST}"] * 2, "")
    assert journal_bytes(entries(2)) == store.read(TARGET)
    assert store.targets() == [TARGET]
    assert [path.name for path in (root / "europe").iterdir()] == ["staging.jsonl"]


def test_short_writes(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """An append is whole however little the system takes at once."""
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, offset: write(file, data[:7], offset))
    append_to(store)
    assert journal_bytes(entries(3)) == store.read(TARGET)


@pytest.mark.parametrize("problem", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()])
def test_failed_sync(store: FileStore, monkeypatch: pytest.MonkeyPatch, problem: BaseException) -> None:
    """Lines that may not be on the disk, or whose writer was interrupted, are taken back."""

    def fail(_: int) -> None:
        raise problem

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises((StoreUnavailable, KeyboardInterrupt)):
            append_to(store)
    assert journal_bytes(entries(2)) == store.read(TARGET)


def test_reads_the_tail_only(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an append reads does not grow with the journal."""
    lines, head = link(journal(2).head, 2, [imported(f"b{number}") for number in range(2_000)])
    store.append(TARGET, journal(2).head, 3, lines, "long")
    read: list[int] = []
    pread = os.pread

    def count(file: int, size: int, offset: int) -> bytes:
        read.append(size)
        return pread(file, size, offset)

    monkeypatch.setattr(os, "pread", count)
    store.append(TARGET, head, 2_003, link(head, 2_002, [imported("last")])[0], "one more")
    assert sum(read) < 10_000


@pytest.mark.parametrize("size", [8191, 8192, 8193, 65_535, 65_536, 65_537])
def test_last_line_at_the_edge_of_what_is_read(root: Path, size: int) -> None:
    """Wherever the newlines fall, the last line is found."""
    store = FileStore(root)
    lines, head = link(None, 0, [begun(), imported("a2")])
    last = len(link(head, 2, [imported("")])[0])
    long, head = link(head, 2, [imported("x" * (size - last))])
    assert size == len(long)
    store.append(TARGET, None, 1, lines + long, "begin")
    store.append(TARGET, head, 4, link(head, 3, [imported("a4")])[0], "more")
    assert len(read_back(store).lines) == 4


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_modes(root: Path, mask: int) -> None:
    """Files and directories follow the umask, and are never for others to write."""
    before = os.umask(mask)
    try:
        FileStore(root).append(TARGET, None, 1, journal_bytes([begun()]), "begin")
    finally:
        os.umask(before)
    found = [stat.S_IMODE(path.stat().st_mode) for path in (path_of(root), path_of(root).parent, root, root.parent)]
    assert [0o644 & ~mask, *[0o755 & ~mask] * 3] == found


def test_other_files_are_left_alone(store: FileStore, root: Path) -> None:
    """What is no journal is no target."""
    (root / "README.md").write_text("about")
    (root / "stray.jsonl").write_text("")
    (root / ".git" / "x").mkdir(parents=True)
    (root / ".git" / "x.jsonl").write_text("")
    (root / "europe" / ".staging.jsonl.0123.new").write_text("")
    (root / "europe" / ".hidden.jsonl").write_text("")
    (root / "europe" / "notes.txt").write_text("")
    assert store.targets() == [TARGET]


def test_location_is_the_path_as_given() -> None:
    """Messages name the store as the user did."""
    assert FileStore(Path("some/state")).location == "some/state"


def test_linked_journal(store: FileStore, root: Path, tmp_path: Path) -> None:
    """A journal that is a symbolic link is read and appended to where it is, and stays a link."""
    real = tmp_path / "real.jsonl"
    path_of(root).rename(real)
    path_of(root).symlink_to(real)
    append_to(store)
    assert journal_bytes(entries(3)) == real.read_bytes() == store.read(TARGET)
    assert path_of(root).is_symlink()


def test_dangling_link(root: Path, tmp_path: Path) -> None:
    """A link to nothing is no journal; one is begun where it points."""
    path_of(root).parent.mkdir(parents=True)
    path_of(root).symlink_to(tmp_path / "elsewhere" / "real.jsonl")
    store = FileStore(root)
    assert store.read(TARGET) is None
    store.append(TARGET, None, 1, journal_bytes([begun()]), "begin")
    assert journal_bytes([begun()]) == (tmp_path / "elsewhere" / "real.jsonl").read_bytes()


def make_directory(path: Path) -> None:
    """A directory where the journal should be."""
    path.mkdir(parents=True)


def make_loop(path: Path) -> None:
    """A link to itself where the journal should be."""
    path.parent.mkdir(parents=True)
    path.symlink_to(path)


def make_file_above(path: Path) -> None:
    """A file where the region's directory should be."""
    path.parent.parent.mkdir(parents=True)
    path.parent.write_text("")


def make_pipe(path: Path) -> None:
    """A pipe that nobody will ever write to where the journal should be."""
    path.parent.mkdir(parents=True)
    os.mkfifo(path)


@pytest.mark.parametrize("obstacle", [make_directory, make_loop, make_file_above, make_pipe])
def test_something_else_in_the_way(root: Path, obstacle: Callable[[Path], None]) -> None:
    """What is in the way of a journal is an error that names the place, for reading and for writing."""
    obstacle(path_of(root))
    store = FileStore(root)
    with pytest.raises(StoreUnavailable, match=r"staging.jsonl: cannot read the state record: "):
        store.read(TARGET)
    with pytest.raises(StoreUnavailable, match=r"staging.jsonl: cannot write the state record: "):
        store.append(TARGET, "f" * 64, 3, b"", "append")


def test_root_is_a_file(tmp_path: Path) -> None:
    """A file for a directory is an error, not an empty store."""
    (tmp_path / "state").write_text("")
    store = FileStore(tmp_path / "state")
    with pytest.raises(StoreUnavailable, match="cannot list the state record"):
        store.targets()
    with pytest.raises(StoreUnavailable, match="cannot write the state record"):
        store.append(TARGET, None, 1, journal_bytes([begun()]), "begin")


@pytest.mark.parametrize("name", ["europe", "europe/", "/staging", "../staging", "europe/../../x", "europe/a/b"])
def test_no_name_for_a_journal(store: FileStore, name: str) -> None:
    """A target's name never leads out of the store."""
    with pytest.raises(StoreUnavailable, match="not a valid target name"):
        store.read(TargetName(name))


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A directory that can be read and not written; for root, as somebody else."""
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory)
        FileStore(path).append(TARGET, None, 1, journal_bytes(entries(2)), "begin")
        for below in (path_of(path), path_of(path).parent, path):
            below.chmod(0o444 if below.is_file() else 0o555)
        if user == 0:
            os.seteuid(65534)
        yield path
        os.seteuid(user)
        path.chmod(0o755)
        path_of(path).parent.chmod(0o755)


def test_read_only_directory(unprivileged: Path) -> None:
    """What cannot be written can still be read; writing says what is wrong."""
    store = FileStore(unprivileged)
    assert (journal_bytes(entries(2)), [TARGET]) == (store.read(TARGET), store.targets())
    with pytest.raises(StoreUnavailable, match=r"cannot write the state record: Permission denied.*permissions"):
        append_to(store)
    for target in (TargetName("europe/new"), TargetName("new/new")):
        with pytest.raises(StoreUnavailable, match="Permission denied"):
            store.append(target, None, 1, journal_bytes([begun(target)]), "begin")


def test_replaced_while_waiting(store: FileStore, root: Path, tmp_path: Path) -> None:
    """A journal that was replaced while an append waited for its lock is the one that is appended to."""
    replacement = tmp_path / "replacement"
    replacement.write_bytes(path_of(root).read_bytes())
    with path_of(root).open("rb") as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)
        waiting = threading.Thread(target=append_to, args=(store,))
        waiting.start()
        time.sleep(0.2)
        replacement.rename(path_of(root))
    waiting.join(10)
    assert journal_bytes(entries(3)) == store.read(TARGET)


def test_deleted_while_waiting(store: FileStore, root: Path) -> None:
    """A journal that was deleted while an append waited for its lock is gone, and not brought back."""
    caught: list[HeadMoved] = []

    def append() -> None:
        try:
            append_to(store)
        except HeadMoved as moved:
            caught.append(moved)

    with path_of(root).open("rb") as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)
        waiting = threading.Thread(target=append)
        waiting.start()
        time.sleep(0.2)
        path_of(root).unlink()
    waiting.join(10)
    assert [moved.what for moved in caught] == ["the journal is missing"]
    assert store.read(TARGET) is None


def test_crash_between_any_two_writes(store: FileStore, root: Path) -> None:
    """Wherever a writer dies within an append, readers see the journal before it, and the next append works."""
    lines = link(journal(2).head, 2, [imported("b3")])[0]
    before = journal_bytes(entries(2))
    for length in range(0, len(lines), 9):
        path_of(root).write_bytes(before + lines[:length])
        assert journal(2).lines == read_back(store).lines
        assert append_one(store, "a3")
        assert parse(journal_bytes(entries(3)), TARGET, "state") == read_back(store)
