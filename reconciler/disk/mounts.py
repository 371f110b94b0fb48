"""File systems whose locks other hosts do not see, so that two hosts could append to one journal at once."""

from __future__ import annotations

import os
import re
from pathlib import Path

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
"""Options that make locks local to one host, for file systems that otherwise share them (nfs(5), mount.cifs(8))."""

_LOCAL = {"9p", "virtiofs", "vboxsf", "prl_fs", "vmhgfs"}
"""File systems that share the files of another machine, but not its locks."""

_FUSE_WITH_LOCKS = {
    f"fuse.{name}"
    for name in ("bindfs", "ceph-fuse", "encfs", "fuse-overlayfs", "glusterfs", "gocryptfs", "mergerfs", "shfs")
}
"""FUSE file systems that are on local disks, or share locks; any other may do neither."""


def host_only_locks(path: Path) -> str | None:
    """As `find_host_only_locks`, for a path of this machine, which need not exist; None if /proc has no mounts."""
    try:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    return find_host_only_locks(mounts, os.path.realpath(path))


def find_host_only_locks(mounts: str, path: str) -> str | None:
    """The file system of `path` if its locks may be local to this host: its type, and the option that says so.

    `mounts` is a mountinfo table (proc(5)), `path` is absolute and without symbolic links.
    """
    mount = "/", "", ""
    for line in mounts.splitlines():
        place, _, source = line.partition(" - ")
        match place.split(" "), source.split(" "):
            case [_, _, _, _, point, *_], [kind, _, options, *_]:
                mounted = _OCTAL.sub(lambda octal: chr(int(octal[1], 8)), point)
                if _is_below(path, mounted) and len(mounted) >= len(mount[0]):  # of two at one point, the later
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
