"""Entries that could not be appended, kept beside the record until it can be written again."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

from reconciler.errors import ReconcilerError
from reconciler.state.disk import sync_directory, written_beside
from reconciler.state.entries import to_fields
from reconciler.state.private import private_directory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from reconciler.model.address import TargetName
    from reconciler.model.entry import AnyEntry


def keep_entries(directory: Path, target: TargetName, record: str, entries: Sequence[AnyEntry]) -> str:
    """Keep entries in a private file below `directory`, and say so in a line; where that fails too, say them."""
    lines = [json.dumps({"record": record, "target": target, "entry": to_fields(entry)}) for entry in entries]
    name = f"{target.replace('/', '-')}-{int(time.time())}-{os.getpid()}.jsonl"
    try:
        folder = private_directory(private_directory(directory) / "unrecorded")
        with written_beside(folder / name, "".join(f"{line}\n" for line in lines).encode(), 0o600) as beside:
            beside.rename(folder / name)
        sync_directory(folder)
    except (OSError, ReconcilerError):
        return f"{target}: what became of calls could be recorded nowhere; keep these lines: {' '.join(lines)}"
    return (
        f"{target}: what became of calls could not be recorded; it is kept in {folder / name}."
        " Until it is recorded, those addresses count as unknown"
    )
