"""Syncs of a directory that several threads share."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from reconciler.disk.durable import sync_directory

if TYPE_CHECKING:
    from pathlib import Path


class SharedSync:
    """Waits until the names in a directory are on the disk, for any number of threads: many take no longer than one."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._counting, self._syncing = Lock(), Lock()
        self._asked = self._synced = 0

    def wait(self) -> None:
        """Wait for the names made until now: for a sync that begins after this, in whatever thread. Raises OSError."""
        with self._counting:
            self._asked += 1
            number = self._asked
        with self._syncing:
            if self._synced >= number:
                return
            covered = self._asked
            sync_directory(self.directory)
            self._synced = covered
