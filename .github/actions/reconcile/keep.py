"""The step of the action that keeps the record as it is after an apply, however that ended.

The journals go into the artifact's folder, as a file store holds them; the history that they tell, to stdout.
"""

from __future__ import annotations

import os
from pathlib import Path

import job
from given import take_store_credentials

from reconciler.cli.main import leave, run
from reconciler.operations.workspace import Workspace


def main() -> int:
    """Tell the history, and copy every journal; the exit code."""
    take_store_credentials()
    code = run(["state", "history"], job.INVOCATION)
    if code == 0:
        _copy(Path(os.environ["FOLDER"]) / "state")
    return code


def _copy(folder: Path) -> None:
    store = Workspace(job.INVOCATION.terminal).store
    for target in store.targets():
        path = folder / f"{target}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(store.read(target) or b"")


if __name__ == "__main__":
    leave(job.ended(main), job.INVOCATION)
