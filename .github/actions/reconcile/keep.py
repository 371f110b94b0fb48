"""The step of the action that keeps the record as it is after an apply, however that ended.

The journals go into the artifact's folder, as a file store holds them; the history that they tell, to stdout.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from given import take_store_credentials

from reconciler.cli.main import run
from reconciler.cli.options import Invocation
from reconciler.operations.workspace import Workspace


def main() -> int:
    """Tell the history, and copy every journal; the exit code."""
    take_store_credentials()
    code = run(["state", "history"])
    if code == 0:
        _copy(Path(os.environ["FOLDER"]) / "state")
    return code


def _copy(folder: Path) -> None:
    store = Workspace(Invocation().terminal).store
    for target in store.targets():
        path = folder / f"{target}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(store.read(target) or b"")


if __name__ == "__main__":
    sys.exit(main())
