"""Warns of file locks that may not work where the state record is stored."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reconciler.operations.notices import Notices
    from reconciler.state.stores.store import Store


def warn_of_host_only_locks(notices: Notices, store: Store) -> None:
    """Warn of a directory that other hosts may share, but not its locks."""
    if not store.local:
        return
    from reconciler.disk.mounts import host_only_locks  # noqa: PLC0415 - a command pays only for what it uses

    kind = host_only_locks(Path(store.location))
    if kind is not None:
        notices.warn(
            f"{store.location}: file locks on this file system ({kind}) may not work across hosts; run reconciler on"
            " one host only, or use --state git:BRANCH"
        )
