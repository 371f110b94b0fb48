"""Directories that are their owner's alone."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from reconciler.disk.directories import check_private, private_directory
from reconciler.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_made_private(tmp_path: Path, mask: int) -> None:
    """A directory that is not there is made for its owner alone, those above it as well."""
    path = tmp_path / "cache" / "reconciler"
    before = os.umask(mask)
    try:
        assert path == private_directory(path) == private_directory(path)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(one.stat().st_mode) for one in (path, path.parent)] == [0o700, 0o700]


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_writable_by_others(tmp_path: Path, mode: int) -> None:
    """A directory that others can write to is refused, with its mode."""
    path = tmp_path / "cache"
    path.mkdir()
    path.chmod(mode)
    with pytest.raises(SettingsError, match=f"writable by other users .mode {mode:04o}.*run: chmod 700 {path}$"):
        private_directory(path)


def test_symbolic_link(tmp_path: Path) -> None:
    """A link may be turned elsewhere, and is refused."""
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(SettingsError, match="symbolic link"):
        private_directory(tmp_path / "link")


def test_a_file(tmp_path: Path) -> None:
    """A file is no directory."""
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="not a directory"):
        check_private(tmp_path / "file")


def test_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory of somebody else is refused."""
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(SettingsError, match="owned by another user"):
        private_directory(tmp_path)


def test_not_there(tmp_path: Path) -> None:
    """Checking makes nothing."""
    with pytest.raises(FileNotFoundError):
        check_private(tmp_path / "cache")
