"""Durable writes, private directories, and locks with a timeout.

Each function returns only after the data and names that it wrote are on disk.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
from contextlib import contextmanager, suppress
from errno import EACCES, EINVAL, ENOTDIR, ENOTSUP, EPERM, EROFS, ETIMEDOUT
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.errors import Message, SettingsError, Step

if TYPE_CHECKING:
    from collections.abc import Iterator


_CANNOT_BE_SYNCED = {EACCES, EPERM, EINVAL, EROFS, ENOTSUP}
"""The error numbers of a sync that is not permitted or not possible, for example on a read-only file system."""


def open_regular(path: Path, flags: int) -> int:
    """Open a regular file. Raises OSError for anything else, such as a directory or a pipe, which could block."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("not a regular file")
    return descriptor


def write_at(descriptor: int, data: bytes, offset: int) -> None:
    """Write all of `data` at `offset`, in several writes if needed, and wait until it is on disk."""
    rest = memoryview(data)
    while rest:
        written = os.pwrite(descriptor, rest, offset)
        rest, offset = rest[written:], offset + written
    os.fsync(descriptor)


def make_directory(path: Path, mode: int) -> None:
    """Create a directory and its parents, durably. The mode of existing directories is not changed.

    Raises NotADirectoryError if one of these paths is not a directory, and OSError if one cannot be created.
    """
    if path.is_dir():
        settle_name(path)
        return
    make_directory(path.parent, mode)
    try:
        path.mkdir(mode=mode, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR), str(path)) from None
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Wait until the names in a directory are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def settle(descriptor: int) -> None:
    """Sync a file that was read, because its writer may have been killed before syncing it."""
    try:
        os.fsync(descriptor)
    except OSError as problem:
        if problem.errno not in _CANNOT_BE_SYNCED:
            raise


@cache
def settle_name(path: Path) -> None:
    """Wait until the name of an existing file is on disk.

    The file's creator may have been killed before syncing the name. Once per process is enough: a name that is on disk
    stays there.
    """
    try:
        sync_directory(path.parent)
    except OSError as problem:
        if problem.errno not in _CANNOT_BE_SYNCED:
            raise


def replace_file(path: Path, data: bytes, mode: int) -> None:
    """Create or replace a file atomically, once `data` is on disk."""
    beside = _write_beside(path, data, mode)
    try:
        beside.replace(path)
    except BaseException:
        _delete(beside)
        raise


@contextmanager
def written_beside(path: Path, data: bytes, mode: int) -> Iterator[Path]:
    """Write `data` durably to a temporary file next to `path`. Yield the new file's path, for the caller to link."""
    beside = _write_beside(path, data, mode)
    try:
        yield beside
    finally:
        _delete(beside)


def _write_beside(path: Path, data: bytes, mode: int) -> Path:
    """Write `data` to a new file in the directory of `path`, and return the new file's path.

    The new name begins with a dot, so that no reader takes it for a record.
    """
    beside = path.with_name(f".{path.name}.{os.urandom(8).hex()}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        try:
            write_at(descriptor, data, 0)
        finally:
            os.close(descriptor)
    except BaseException:
        _delete(beside)
        raise
    return beside


def _delete(path: Path) -> None:
    with suppress(FileNotFoundError):
        path.unlink()


_PROC_LOCKS = Path("/proc/locks")
_LONGEST_PAUSE = 0.05  # seconds between two attempts to take a lock


class LockHeld(OSError):
    """Raised if another process held a lock until the timeout; `strerror` names the process and the time waited."""

    remedy = "if that process hangs, stop it; then run the command again"


@contextmanager
def locked_file(path: Path, patience: float) -> Iterator[int]:
    """Hold an exclusive lock on a lock file, created with mode 0600 if needed, and yield the open file.

    Raises LockHeld after `patience` seconds, and OSError if the file cannot be opened or locked.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        lock(descriptor, path, patience)
        yield descriptor
    finally:
        os.close(descriptor)


def lock(descriptor: int, path: Path, patience: float) -> None:
    """Take an exclusive lock on an open file, waiting at most `patience` seconds; closing the file releases it.

    The lock is polled, because a wait in the kernel has no timeout. Raises LockHeld after the timeout, and OSError if
    the file system has no locks.
    """
    deadline = time.monotonic() + patience
    pause = 0.001
    while not _lock_now(descriptor):
        if time.monotonic() >= deadline:
            waited = f" (waited {patience:g} s)" if patience else ""
            raise LockHeld(ETIMEDOUT, f"locked by {_holder(descriptor)}{waited}", str(path))
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)


def _lock_now(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> str:
    """Return a description of the process that holds the lock on an open file, or "another process" if it is unknown.

    The description has the process id and the program's name, but not the arguments, which may contain secrets.
    """
    status = os.fstat(descriptor)
    file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    with suppress(OSError, ValueError):
        for line in _PROC_LOCKS.read_text(encoding="ascii").splitlines():
            match line.split():
                case [_, "FLOCK", _, _, pid, where, *_] if where == file:
                    name = Path(f"/proc/{pid}/comm").read_text(encoding="ascii", errors="backslashreplace")
                    return f"process {pid} ({name.rstrip()})"
    return "another process"


_MOUNTS = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")

_LOCAL_BY_OPTION = {
    "nfs": {"nolock", "local_lock=all", "local_lock=flock"},
    "nfs4": {"nolock", "local_lock=all", "local_lock=flock"},
    "cifs": {"nobrl", "nolock"},
    "smb3": {"nobrl", "nolock"},
    "lustre": {"localflock"},
    "gfs2": {"localflocks"},
    "ocfs2": {"localflocks"},
}
"""Mount options that make locks local to one host on file systems that otherwise share them (nfs(5), mount.cifs(8))."""

_LOCAL = {"9p", "virtiofs", "vboxsf", "prl_fs", "vmhgfs"}
"""File systems that share the files of another machine but not its locks."""

_FUSE_WITH_LOCKS = {
    f"fuse.{name}"
    for name in ("bindfs", "ceph-fuse", "encfs", "fuse-overlayfs", "glusterfs", "gocryptfs", "mergerfs", "shfs")
}
"""FUSE file systems that use local disks or share locks. Other FUSE file systems may do neither."""


def host_only_locks(path: Path) -> str | None:
    """Return the result of `find_host_only_locks` for a path, which need not exist.

    Returns None if the mount table in /proc cannot be read.
    """
    try:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    return find_host_only_locks(mounts, os.path.realpath(path))


def find_host_only_locks(mounts: str, path: str) -> str | None:
    """Return the type and mount option of a path's file system if its locks may be local to this host, else None.

    `mounts` is a mountinfo table (proc(5)). `path` is absolute and has no symbolic links.
    """
    mount = "/", "", ""
    for line in mounts.splitlines():
        place, _, source = line.partition(" - ")
        match place.split(" "), source.split(" "):
            case [_, _, _, _, point, *_], [kind, _, options, *_]:
                mounted = _OCTAL.sub(lambda octal: chr(int(octal[1], 8)), point)
                if _is_below(path, mounted) and len(mounted) >= len(mount[0]):  # the later of two mounts at one point
                    mount = mounted, kind, options
    return _reason(mount[1], set(mount[2].split(",")))


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _reason(kind: str, options: set[str]) -> str | None:
    local = sorted(options & _LOCAL_BY_OPTION.get(kind, set()))
    if local:
        return f"{kind}, mounted with {local[0]}"
    unknown = kind.startswith("fuse.") and kind not in _FUSE_WITH_LOCKS
    return kind if unknown or kind in _LOCAL else None


def private_directory(path: Path) -> Path:
    """Create the directory `path` with mode 0700 if it does not exist, and return it.

    Raises SettingsError as `check_private` does, and OSError if the directory cannot be created.
    """
    try:
        status = path.lstat()
    except OSError:
        status = None
    if status is None or not stat.S_ISDIR(status.st_mode):
        make_directory(path, 0o700)
        status = path.lstat()
    else:
        settle_name(path)
    _refuse_unsafe(path, status)
    return path


def check_private(path: Path) -> os.stat_result:
    """Return the status of a directory.

    Raises SettingsError if other users could write to the directory, and FileNotFoundError if it does not exist.
    """
    status = path.lstat()
    _refuse_unsafe(path, status)
    return status


def _refuse_unsafe(path: Path, status: os.stat_result) -> None:
    steps = [Step("use another directory")]
    if not stat.S_ISDIR(status.st_mode):
        trouble = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "not a directory"
    elif status.st_uid != os.geteuid():
        trouble = "owned by another user"
    elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        trouble = f"writable by other users (mode {stat.S_IMODE(status.st_mode):04o})"
        steps.append(Step("or run", ("chmod", "700", str(path))))
    else:
        return
    raise SettingsError(Message("unsafe-directory", f"unsafe directory: {trouble}", str(path), tuple(steps)))
