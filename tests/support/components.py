"""Programs of others that are tested with, such as servers and a browser: what a test does where one is not installed.

They are looked for on the PATH, in the directories of RECONCILER_TEST_PATH, beside this Python, and where Debian puts
them. Without one, a test is skipped; with RECONCILER_TEST_COMPONENTS=required, as in `.ci/run`, it fails.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Component = Literal[
    "postgres", "initdb", "pgbouncer", "azurite-blob", "ministack", "hypercorn", "chromium", "html-validate", "vnu"
]  # fmt: skip

_ALSO: dict[str, str] = {"chromium": "google-chrome"}
"""What does as well."""

_REQUIRED = os.environ.get("RECONCILER_TEST_COMPONENTS") == "required"  # read here: tests run without such variables
_GIVEN = os.environ.get("RECONCILER_TEST_PATH", "")


def component(name: Component) -> Path:
    """The executable; skips the test that asks for one that is not installed, or fails it where it is required."""
    found = find(name)
    if found is None:
        end = pytest.fail if _REQUIRED else pytest.skip
        end(f"{name} is not installed; .ci/components installs it")
    return found


def library(name: Literal["playwright.sync_api"]) -> Any:
    """The module, as `component` does it."""
    try:
        return import_module(name)
    except ImportError:
        end = pytest.fail if _REQUIRED else pytest.skip
        end(f"{name} is not installed; .ci/components installs it")


def find(name: Component) -> Path | None:
    """The executable; of several versions of PostgreSQL, the newest."""
    by_version = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    places = [os.environ.get("PATH", ""), _GIVEN, Path(sys.executable).parent, "/usr/sbin", *by_version]
    path = os.pathsep.join(str(place) for place in places if place)
    found = shutil.which(name, path=path) or shutil.which(_ALSO.get(name, name), path=path)
    return Path(found) if found else None


@contextmanager
def shared(folder: Path, name: str, start: Callable[[], dict[str, Any]], stop: Callable[[Any], None]) -> Iterator[Any]:
    """What `start` says of a server that all workers of a test session share; the last of them stops it.

    `folder` is the session's; `start` gives values that JSON can hold.
    """
    state = folder / f"{name}.json"
    with (folder / f"{name}.lock").open("a") as lock:
        flock(lock, LOCK_EX)
        server = json.loads(state.read_text()) if state.exists() else {"users": 0, **start()}
        state.write_text(json.dumps({**server, "users": server["users"] + 1}))
    try:
        yield server
    finally:
        with (folder / f"{name}.lock").open("a") as lock:
            flock(lock, LOCK_EX)
            users = json.loads(state.read_text())["users"] - 1
            state.write_text(json.dumps({**server, "users": users}))
            if not users:
                state.unlink()
                stop(server)


def session_folder(factory: pytest.TempPathFactory) -> Path:
    """A directory that all workers of this test session have in common."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
