"""Servers of others that stores are tested with: what a test does where one is not installed.

They are looked for on the PATH, in the directories of RECONCILER_TEST_PATH, beside this Python, and where Debian puts
them. Without one, a test is skipped; with RECONCILER_TEST_COMPONENTS=required, as in `.ci/run`, it fails.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Literal

import pytest

Component = Literal["postgres", "pgbouncer", "azurite-blob", "ministack", "hypercorn", "moto_server"]

_REQUIRED = os.environ.get("RECONCILER_TEST_COMPONENTS") == "required"  # read here: tests run without such variables
_GIVEN = os.environ.get("RECONCILER_TEST_PATH", "")


def component(name: Component) -> Path:
    """The executable; skips the test that asks for one that is not installed, or fails it where it is required."""
    found = find(name)
    if found is None:
        end = pytest.fail if _REQUIRED else pytest.skip
        end(f"{name} is not installed; .ci/components installs it")
    return found


def find(name: Component) -> Path | None:
    """The executable; of several versions of PostgreSQL, the newest."""
    by_version = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    places = [os.environ.get("PATH", ""), _GIVEN, Path(sys.executable).parent, "/usr/sbin", *by_version]
    found = shutil.which(name, path=os.pathsep.join(str(place) for place in places if place))
    return Path(found) if found else None
