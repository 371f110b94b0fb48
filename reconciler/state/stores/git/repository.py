"""The files of a local copy: what is in them apart from objects and refs is written here, and nothing else is accepted.

git runs commands that a repository's files name: `ext::` behind an `insteadOf`, hooks, `core.fsmonitor`,
`core.sshCommand`, filters. It takes objects from wherever `alternates` says, and settings from wherever `include` says.
So a copy whose settings are not, byte for byte, those written here, or that has a file which no command of ours leaves,
is no copy, and is replaced.
"""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, Literal

from reconciler.disk.directories import check_private
from reconciler.disk.durable import open_regular
from reconciler.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

ObjectFormat = Literal["sha1", "sha256"]

_HEAD = b"ref: refs/heads/tip\n"
_SETTINGS: dict[ObjectFormat, bytes] = {
    "sha1": b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
    "sha256": b"[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n",
}
_FILES = {
    "": re.compile(
        r"(HEAD|config|packed-refs|shallow|FETCH_HEAD|gc\.log|gc\.pid)(\.lock|\.new)?|\.tmp-.*|(shallow|packed-refs)_\w+"
    ),
    "info": re.compile(r"refs(\.lock|_\w+)?"),
    "objects/info": re.compile(r"(packs|commit-graph)(\.lock|_\w+)?|tmp_\w+"),
}
"""The files that git leaves in a directory of a repository like ours, for a moment or for good."""
_DIRECTORIES = {"": {"objects", "refs", "info", "logs"}, "info": set[str](), "objects/info": {"commit-graphs"}}


def create(path: Path, object_format: ObjectFormat) -> None:
    """An empty bare repository at `path`, which does not exist. Raises OSError."""
    path.mkdir(mode=0o700)
    for name in ("objects/info", "objects/pack", "refs"):
        (path / name).mkdir(parents=True)
    (path / "HEAD").write_bytes(_HEAD)
    (path / "config").write_bytes(_SETTINGS[object_format])


def is_ours(path: Path) -> bool:
    """Whether the repository at `path` is as `create` and git's commands leave one. Raises OSError."""
    try:
        check_private(path)
        return (
            _content(path / "HEAD") == _HEAD
            and _content(path / "config") in _SETTINGS.values()
            and all(_has_only_known(path / inside, files, _DIRECTORIES[inside]) for inside, files in _FILES.items())
        )
    except (SettingsError, FileNotFoundError, NotADirectoryError):
        return False


def _content(path: Path) -> bytes | None:
    """The content of a small file; None for a link, and for what is no file."""
    try:
        descriptor = open_regular(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(1024)


def _has_only_known(directory: Path, files: re.Pattern[str], directories: set[str]) -> bool:
    """Whether a directory of a repository, if there is one, has no other files, no other directories and no links."""
    try:
        status = directory.lstat()
    except FileNotFoundError:
        return True
    if not stat.S_ISDIR(status.st_mode):
        return False
    with os.scandir(directory) as found:
        return all(
            entry.name in directories
            if entry.is_dir(follow_symlinks=False)
            else entry.is_file(follow_symlinks=False) and files.fullmatch(entry.name) is not None
            for entry in found
        )
