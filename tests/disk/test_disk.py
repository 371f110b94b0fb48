"""Files are replaced as a whole, and what fails leaves nothing behind."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import nullcontext
from errno import EACCES, EDQUOT, EINVAL, EIO, ENOLCK, ENOSPC, ENOTSUP, EPERM, EROFS
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from support.refusals import raised

from reconciler import disk
from reconciler.disk import LockHeld, find_host_only_locks, host_only_locks, locked_file
from reconciler.errors import SettingsError

PROBLEMS = [OSError(ENOSPC, "no space left"), KeyboardInterrupt()]


@pytest.fixture(autouse=True)
def _nothing_is_left_open() -> Iterator[None]:
    """Whatever fails."""
    before = [*Path("/proc/self/fd").iterdir()]
    yield
    assert before == [*Path("/proc/self/fd").iterdir()]


def test_a_replaced_file_has_all_of_the_data_and_the_mode(tmp_path: Path) -> None:
    """Nothing else is in its directory, before or after."""
    file = tmp_path / "note"
    for data, mode in ((b"one", 0o600), (b"x" * 100_000, 0o644), (b"", 0o600)):
        disk.replace_file(file, data, mode)
        assert (data, mode) == (file.read_bytes(), file.stat().st_mode & 0o777)
        assert [file] == list(tmp_path.iterdir())


@pytest.mark.parametrize("problem", PROBLEMS, ids=["full", "interrupted"])
@pytest.mark.parametrize("call", ["pwrite", "fsync"])
def test_a_write_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, problem: BaseException) -> None:
    """The file is what it was, and nothing is beside it."""
    file = tmp_path / "note"
    file.write_bytes(b"before")
    monkeypatch.setattr(os, call, Mock(side_effect=problem))
    with pytest.raises(type(problem)):
        disk.replace_file(file, b"after", 0o600)
    with pytest.raises(type(problem)), disk.written_beside(file, b"after", 0o600):
        pass
    assert [(file, b"before")] == [(found, found.read_bytes()) for found in tmp_path.iterdir()]


@pytest.mark.parametrize("problem", PROBLEMS, ids=["full", "interrupted"])
def test_a_file_out_of_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: BaseException) -> None:
    """Nothing is beside what has its name."""
    (tmp_path / "note").touch()
    monkeypatch.setattr(os, "replace", Mock(side_effect=problem))
    with pytest.raises(type(problem)):
        disk.replace_file(tmp_path / "note", b"after", 0o600)
    assert [tmp_path / "note"] == list(tmp_path.iterdir())


def test_the_data_is_on_the_disk_before_it_has_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that stops between the two has the old file."""
    file, synced = tmp_path / "note", list[bytes]()
    file.write_bytes(b"before")
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(file.read_bytes()))
    disk.replace_file(file, b"after", 0o600)
    assert b"before" == synced[0]


@pytest.mark.parametrize("ends", ["well", "linked", "taken", "badly"])
def test_what_is_written_beside_is_deleted(tmp_path: Path, ends: str) -> None:
    """However its use ends; what was linked to the name stays."""
    file = tmp_path / "note"
    expected = pytest.raises(KeyboardInterrupt) if ends == "badly" else nullcontext()
    with expected, disk.written_beside(file, b"", 0o600), disk.written_beside(file, b"data", 0o600) as beside:
        assert (b"data", tmp_path) == (beside.read_bytes(), beside.parent)
        assert beside.name.startswith(".")
        if ends == "linked":
            file.hardlink_to(beside)
        if ends == "taken":
            beside.replace(file)
        if ends == "badly":
            raise KeyboardInterrupt
    assert ([file] if ends in {"linked", "taken"} else []) == list(tmp_path.iterdir())


def test_a_file_in_the_way_of_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named by the error; a directory that exists, or is made by another process just then, keeps its mode."""
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError) as caught:
        disk.make_directory(tmp_path / "file" / "below", 0o700)
    assert str(tmp_path / "file") in str(caught.value)
    (tmp_path / "open").mkdir(mode=0o755)
    disk.make_directory(tmp_path / "open" / "one" / "two", 0o700)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "is_dir", Mock(side_effect=[False, True, True]))
        disk.make_directory(tmp_path / "open" / "one", 0o755)
    modes = [(tmp_path / "open" / path).stat().st_mode & 0o777 for path in ("", "one", "one/two")]
    assert [0o755, 0o700, 0o700] == modes


@pytest.mark.parametrize("kind", ["link", "file", "group", "others", "of another"])
def test_an_unsafe_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """It is refused, with the command that makes it safe if one does; and whoever else could write to it."""
    path = tmp_path / "private"
    assert 0o700 == disk.private_directory(path).stat().st_mode & 0o777
    assert (path.stat(), path) == (disk.check_private(path), disk.private_directory(path))
    if kind == "link":
        (tmp_path / "link").symlink_to(path)
    if kind == "file":
        (tmp_path / "file").touch()
    if kind in {"group", "others"}:
        path.chmod(0o720 if kind == "group" else 0o1702)
    if kind == "of another":
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    path = tmp_path / kind if kind in {"link", "file"} else path
    message = raised(SettingsError, disk.check_private, path)
    with pytest.raises(NotADirectoryError if kind == "file" else SettingsError):
        disk.private_directory(path)
    commands = [step.command for step in message.steps if step.command]
    assert ("unsafe-directory", str(path), kind == "link") == (message.name, message.where, "link" in message.what)
    assert [("chmod", "700", str(path))] * (kind in {"group", "others"}) == commands


def test_a_lock_names_its_holder(tmp_path: Path) -> None:
    """By its number and name, as long as it is held; a link is no lock file."""
    for name in ("a", "b"):
        with locked_file(tmp_path / name, 0), pytest.raises(LockHeld) as caught, locked_file(tmp_path / name, 0.01):
            pass
        assert f"locked by process {os.getpid()} (" in str(caught.value.strerror)
        assert str(caught.value.strerror).endswith("(waited 0.01 s)")
    assert 0o600 == (tmp_path / "a").stat().st_mode & 0o777
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(OSError, match="symbolic links"), locked_file(tmp_path / "link", 0):
        pass


def test_a_lock_is_tried_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At least every 0.05 s until the patience ends and no longer, unless there are no locks."""
    pauses = list[float]()
    monkeypatch.setattr(disk, "time", SimpleNamespace(monotonic=lambda: sum(pauses), sleep=pauses.append))
    for problem, words in ((BlockingIOError(), "waited 30 s"), (OSError(ENOLCK, "no locks"), "no locks")):
        monkeypatch.setattr(fcntl, "flock", Mock(side_effect=problem))
        with pytest.raises(OSError, match=words), locked_file(tmp_path / "a", 30):
            pass
    assert (0.05, True) == (max(pauses), 30 <= sum(pauses) <= 30.05)


@pytest.mark.parametrize(("line", "is_named"), [
    ("1: FLOCK ADVISORY WRITE {pid} {file} 0 EOF", True), ("1: FLOCK ADVISORY WRITE {pid} {file}1 0 EOF", False),
    ("1: POSIX ADVISORY WRITE {pid} {file} 0 EOF", False), ("1: FLOCK ADVISORY WRITE 0 {file} 0 EOF", False),
    ("1: FLOCK ADVISORY WRITE -1 {file} 0 EOF", False), ("1: FLOCK ADVISORY WRITE x {file} 0 EOF", False),
    ("1: FLOCK ADVISORY WRITE 99999999 {file} 0 EOF", False), ("\xe9", False), ("", False),
    ("\n1: -> FLOCK\n2: FLOCK ADVISORY WRITE {pid} {file} 0 EOF", True),
])  # fmt: skip
def test_the_holder_of_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, is_named: bool) -> None:
    """It is named only if the table of locks has it; who did not wait is told no time."""
    (tmp_path / "a").touch()
    status = (tmp_path / "a").stat()
    file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    (tmp_path / "locks").write_bytes(line.format(pid=os.getpid(), file=file).encode("latin-1"))
    monkeypatch.setattr(disk, "_PROC_LOCKS", tmp_path / "locks")
    name = Path("/proc/self/comm").read_text(encoding="ascii").strip()
    holder = f"process {os.getpid()} ({name})" if is_named else "another process"
    with locked_file(tmp_path / "a", 0), pytest.raises(LockHeld) as caught, locked_file(tmp_path / "a", 0):
        pass
    assert (f"locked by {holder}", str(tmp_path / "a")) == (caught.value.strerror, caught.value.filename)


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    """A directory and a pipe are errors at once."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(OSError, match="not a regular file"):
            disk.open_regular(path, os.O_RDONLY)


def test_a_write_in_several_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part follows the one before, from the offset on, and all is synced once at the end."""
    file, done, write = tmp_path / "a", list[str](), os.pwrite
    file.write_bytes(b"0123456789")

    def write_two(to: int, data: memoryview, at: int) -> int:
        done.append("write")
        return write(to, bytes(data)[:2], at)

    monkeypatch.setattr(os, "pwrite", write_two)
    monkeypatch.setattr(os, "fsync", lambda _: done.append("sync"))
    with file.open("r+b") as opened:
        disk.write_at(opened.fileno(), b"abcde", 3)
    assert (b"012abcde89", ["write"] * 3 + ["sync"]) == (file.read_bytes(), done)


def test_the_names_of_directories_are_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of new ones, from the top down, and of one that another process may just have made."""
    synced = list[Path]()
    monkeypatch.setattr(disk, "sync_directory", synced.append)
    disk.private_directory(tmp_path / "a" / "b")
    assert [tmp_path.parent, tmp_path, tmp_path / "a"] == synced
    (tmp_path / "c" / "d").mkdir(parents=True, mode=0o700)
    disk.private_directory(tmp_path / "c" / "d")
    disk.make_directory(tmp_path / "c", 0o700)
    assert [tmp_path / "c", tmp_path] == synced[3:]


def test_the_file_system_of_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is that of what a link leads to, also of a file that is not there yet; without a table it is not known."""
    shared = tmp_path / "größe"
    shared.mkdir()
    (tmp_path / "link").symlink_to(shared)
    table = f"1 0 8:1 / / rw - ext4 d rw\n2 1 0:5 / {shared} rw - 9p s rw\n3 1 0:6 / /caf\udce9 rw - vfat u rw\n"
    (tmp_path / "mounts").write_bytes(os.fsencode(table))
    for table, reason in (("mounts", "9p"), ("nothing", None), ("", None)):
        monkeypatch.setattr(disk, "_MOUNTS", tmp_path / table)
        assert [reason, reason, None] == [host_only_locks(tmp_path / name) for name in ("link/a", "größe", "other")]


@pytest.mark.parametrize(("kind", "options", "alone"), [
    *((kind, f"local_lock={which}", True) for kind in ("nfs", "nfs4") for which in ("all", "flock")),
    ("nfs", "nolock", True), ("nfs4", "nolock", True), ("ext4", "nolock", False), ("cifs", "localflock", False),
    *((kind, options, True) for kind in ("cifs", "smb3") for options in ("nobrl", "nolock")),
    ("lustre", "localflock", True), ("gfs2", "localflocks", True), ("ocfs2", "localflocks", True),
    *((kind, "", False) for kind in ("nfs", "nfs4", "cifs", "smb3", "lustre", "gfs2", "ocfs2", "ext4", "fuseblk")),
    *((kind, "", True) for kind in ("9p", "virtiofs", "vboxsf", "prl_fs", "vmhgfs", "fuse.sshfs", "fuse.rclone")),
    *((f"fuse.{name}", "", False) for name in (
        "bindfs", "ceph-fuse", "encfs", "fuse-overlayfs", "glusterfs", "gocryptfs", "mergerfs", "shfs")),
])  # fmt: skip
def test_locks_that_other_hosts_do_not_see(kind: str, options: str, alone: bool) -> None:
    """Those of mounts with an option, of shared folders, and of unknown file systems in user space."""
    mounts = f"1 0 8:1 / / rw - ext4 d rw\n2 1 0:5 / /a\\040\\134b rw shared:1 - {kind} s:/ rw,{options}\n"
    reason = f"{kind}, mounted with {options}" if options else kind
    assert [reason if alone else None] * 2 == [find_host_only_locks(mounts, path) for path in ("/a \\b", "/a \\b/c/d")]
    assert [None] * 3 == [find_host_only_locks(mounts, path) for path in ("/", "/a \\bc", "/c/a \\b")]
    assert find_host_only_locks(f"{mounts}3 2 8:2 / /a\\040\\134b rw - ext4  rw\n", "/a \\b/c") is None
    below = f"3 2 8:2 / /a\\040\\134b/c rw - ext4 d rw\n{mounts}"
    assert find_host_only_locks(below, "/a \\b/c/d") is None


@pytest.mark.parametrize(("problem", "matters"), [
    *((number, True) for number in (EIO, ENOSPC, EDQUOT)),
    *((number, False) for number in (EACCES, EPERM, EINVAL, EROFS, ENOTSUP)),
])  # fmt: skip
def test_what_was_read_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: int, matters: bool
) -> None:
    """A sync that fails is an error of whoever writes; of a reader, unless it is not possible for this user or disk."""
    with (tmp_path / "a").open("wb") as file:
        disk.settle(file.fileno())
        disk.settle_name(tmp_path / "b")
        monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(problem, "failed")))
        with pytest.raises(OSError, match="failed") if matters else nullcontext():
            disk.settle(file.fileno())
        with pytest.raises(OSError, match="failed") if matters else nullcontext():
            disk.settle_name(tmp_path / "c")
        with pytest.raises(OSError, match="failed"):
            disk.write_at(file.fileno(), b"", 0)
    with pytest.raises(OSError, match="failed"):
        disk.sync_directory(tmp_path)
