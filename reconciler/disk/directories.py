"""Directories that are their owner's alone."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from reconciler.disk.durable import make_directory
from reconciler.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path


def private_directory(path: Path) -> Path:
    """`path`, made with mode 0700 if need be.

    Raises SettingsError as `check_private` does, and OSError where it cannot be made.
    """
    make_directory(path, 0o700)
    check_private(path)
    return path


def check_private(path: Path) -> None:
    """Raises SettingsError for a directory that others could put something into, and FileNotFoundError for none."""
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        trouble = "it is a symbolic link" if stat.S_ISLNK(status.st_mode) else "it is no directory"
    elif status.st_uid != os.geteuid():
        trouble = "it belongs to another user"
    elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        trouble = f"others can write to it (mode {stat.S_IMODE(status.st_mode):04o})"
    else:
        return
    raise SettingsError(
        f"this directory cannot be trusted: {trouble}",
        where=path,
        remedy="name a directory of your own, or `chmod 700` it if it is yours",
    )
