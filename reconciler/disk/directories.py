"""Private directories: only their owner can write to them."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from reconciler.disk.durable import make_directory, settle_name
from reconciler.errors import Message, SettingsError, Step

if TYPE_CHECKING:
    from pathlib import Path


def private_directory(path: Path) -> Path:
    """`path`, created with mode 0700 if it does not exist.

    Raises SettingsError as `check_private` does, and OSError if it cannot be created.
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
    """The status of a directory.

    Raises SettingsError for a directory that other users could write to, FileNotFoundError if there is none.
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
