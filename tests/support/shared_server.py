"""A server that all workers of a test run share: whoever needs it first starts it, and it ends with the run."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from support.components import session_folder
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import pytest

KEEP = """
import os, subprocess, sys, time
if os.fork():
    os._exit(0)
os.setsid()
owner, server = int(sys.argv[1]), subprocess.Popen(sys.argv[2:])
until = time.monotonic() + 4 * 3600
while server.poll() is None:
    time.sleep(0.2)
    try:
        os.kill(owner, 0)
    except ProcessLookupError:
        server.terminate()
    if time.monotonic() > until:
        server.kill()
"""
"""Runs a server, in the background, for as long as a process lives that is not its parent."""


def shared_server(
    factory: pytest.TempPathFactory,
    name: str,
    command: Callable[[int], Sequence[str]],
    environment: Mapping[str, str],
    furnish: Callable[[int], None],
) -> int:
    """The port on loopback of the run's server of that name.

    `command` starts it at a port, with an `environment` of its own; `furnish` puts into it what all tests need.
    """
    folder = session_folder(factory) / f"server-{name}"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        noted = folder / "port"
        if not noted.exists():
            port = free_port()
            owner = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
            _start(command(port), {**os.environ, **environment}, folder, owner)
            _wait_until_open(port, folder)
            furnish(port)
            noted.write_text(str(port))
        return int(noted.read_text())


def _start(command: Sequence[str], environment: Mapping[str, str], folder: Path, owner: int) -> None:
    with (folder / "log").open("w") as log:
        subprocess.run(
            [sys.executable, "-c", KEEP, str(owner), *command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=True,
        )


def _wait_until_open(port: int, folder: Path) -> None:
    for _ in range(600):
        try:
            with socket.create_connection(("127.0.0.1", port), 1):
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"no server at port {port}: {(folder / 'log').read_text()}")
