"""The canary: the steps of the workflow on a runner, against the sandbox that it starts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from support.forge import ROOT, Forge, from_elsewhere

if TYPE_CHECKING:
    from pathlib import Path

CANARY = ".github/workflows/canary.yml"


def test_canary(tmp_path: Path) -> None:
    """From nothing to production, and nothing left to do; the sandbox is ended."""
    forge = Forge(tmp_path / "forge", workflow=CANARY)
    forge.project.write(CANARY, from_elsewhere((ROOT / CANARY).read_text()))
    forge.push("Watch")
    done = forge.run("push", {}, extra={"XDG_DATA_HOME": str(tmp_path), "SSL_CERT_DIR": os.environ["SSL_CERT_DIR"]})
    assert 0 == done.code, done.log
    assert 2 == done.summary.count("### Applied: 4 create calls (4 new): 4 created.")
    assert "### No changes." in done.summary
