"""The man pages say what the help says, and the wheel has them."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = runpy.run_path(str(ROOT / ".ci" / "man_pages.py"))
WRITTEN = sorted((ROOT / ".github" / "man").iterdir())


def test_they_follow_the_help() -> None:
    """Each command has a page, and no other is there; `python .ci/man_pages.py` writes them."""
    assert dict(SCRIPT["pages"]()) == {path.name: path.read_text(encoding="utf-8") for path in WRITTEN}


def test_text_is_no_request() -> None:
    """What begins as a request of roff, or has a backslash in it, is shown as it is."""
    assert r"\&.so \efile \-v" == SCRIPT["escaped"](r".so \file -v")


def test_they_can_be_formatted() -> None:
    """Without a warning, and a line that is not wrapped stays whole."""
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(
        ["groff", "-Kutf8", "-man", "-Tutf8", "-ww", *WRITTEN], check=True, capture_output=True, timeout=60
    )
    assert "" == done.stderr.decode()
    assert "until [ -s sandbox.env ]; do sleep 0.1; done; set -a; . ./sandbox.env; set +a\n" in done.stdout.decode()


def test_they_are_installed() -> None:
    """Where `man` looks for the pages of programs in this `bin`, unless the sources are used in place."""
    installed = distribution("reconciler")
    if json.loads(installed.read_text("direct_url.json") or "{}").get("dir_info", {}).get("editable"):
        pytest.skip("an editable installation has no data files")
    pages = Path(sys.prefix) / "share" / "man" / "man1"
    assert [] == [path.name for path in WRITTEN if not pages.joinpath(path.name).is_file()]
