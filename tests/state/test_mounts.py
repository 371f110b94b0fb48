"""File systems whose locks hold on one host only are known by their mount."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reconciler.disk import mounts
from reconciler.disk.mounts import find_host_only_locks, host_only_locks

if TYPE_CHECKING:
    from pathlib import Path

ROOT = "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw,errors=remount-ro\n"


def mounted(point: str, kind: str, options: str = "rw") -> str:
    """A table with something mounted below the root."""
    return f"{ROOT}90 22 0:50 / {point} rw,relatime shared:9 master:2 - {kind} server:/export {options}\n"


@pytest.mark.parametrize(
    ("kind", "options", "reason"),
    [
        ("nfs", "rw,vers=3,nolock,addr=10.0.0.1", "nfs, mounted with nolock"),
        ("nfs", "rw,vers=3,local_lock=all", "nfs, mounted with local_lock=all"),
        ("nfs4", "rw,vers=4.2,local_lock=flock", "nfs4, mounted with local_lock=flock"),
        ("nfs4", "rw,vers=4.2,local_lock=none", None),
        ("nfs4", "rw,vers=4.2,local_lock=posix", None),
        ("cifs", "rw,vers=3.1.1,nobrl", "cifs, mounted with nobrl"),
        ("cifs", "rw,vers=3.1.1", None),
        ("lustre", "rw,localflock", "lustre, mounted with localflock"),
        ("9p", "rw,trans=virtio", "9p"),
        ("virtiofs", "rw", "virtiofs"),
        ("vboxsf", "rw", "vboxsf"),
        ("fuse.sshfs", "rw,user_id=0", "fuse.sshfs"),
        ("fuse.s3fs", "rw", "fuse.s3fs"),
        ("fuse.glusterfs", "rw", None),
        ("fuseblk", "rw", None),
        ("ext4", "rw", None),
        ("tmpfs", "rw,nolock", None),
    ],
)
def test_what_is_mounted(kind: str, options: str, reason: str | None) -> None:
    """The type and the options decide."""
    assert reason == find_host_only_locks(mounted("/srv", kind, options), "/srv/state")


@pytest.mark.parametrize(
    ("path", "reason"),
    [("/srv", "9p"), ("/srv/a/b", "9p"), ("/srvs/state", None), ("/", None), ("/home/state", None)],
)
def test_what_is_below_a_mount(path: str, reason: str | None) -> None:
    """Only what is below the mount is on it."""
    assert reason == find_host_only_locks(mounted("/srv", "9p"), path)


def test_the_innermost_and_latest_mount_counts() -> None:
    """A local disk mounted on a shared one, or over it, is local."""
    inner = mounted("/srv", "9p") + "91 90 8:1 / /srv/disk rw - ext4 /dev/sdb rw\n"
    assert (None, "9p") == (find_host_only_locks(inner, "/srv/disk/x"), find_host_only_locks(inner, "/srv/x"))
    over = mounted("/srv", "9p") + "91 90 8:1 / /srv rw - ext4 /dev/sdb rw\n"
    assert None is find_host_only_locks(over, "/srv/x")


def test_a_name_with_blanks() -> None:
    """The table escapes them."""
    assert "9p" == find_host_only_locks(mounted(r"/srv/my\040files", "9p"), "/srv/my files/state")


@pytest.mark.parametrize("table", ["", "\n", "1 2 3\n", "22 1 254:0 / / rw - \n", " - - - \n"])
def test_a_table_of_another_shape(table: str) -> None:
    """Nothing is known then."""
    assert None is find_host_only_locks(table, "/srv")


def test_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path is taken without its links, and without a table nothing is known."""
    link = tmp_path / "link"
    link.symlink_to("/srv/real")
    monkeypatch.setattr(mounts, "_MOUNTS", tmp_path / "mounts")
    assert None is host_only_locks(link)
    (tmp_path / "mounts").write_text(mounted("/srv/real", "9p"))
    assert ("9p", None) == (host_only_locks(link / "state"), host_only_locks(tmp_path))
