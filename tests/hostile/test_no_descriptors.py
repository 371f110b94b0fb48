"""A server that is out of file descriptors waits for some, and does not turn in circles."""

from __future__ import annotations

import os
import resource
import socket
import time
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.notified import wait_until
from support.project import Project, end

if TYPE_CHECKING:
    import subprocess

SPARE = 3
COMMANDS = ("listen", "--record", "r.jsonl"), ("sandbox", "serve")


def cpu_seconds(pid: int) -> float:
    """What a process has used of the processor (proc(5)), in user and in system mode."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def listening_port(process: subprocess.Popen[bytes]) -> int:
    """The port of 127.0.0.1 that a process says it is at."""
    assert process.stderr is not None
    line = process.stderr.readline().decode()
    return int(line.partition("http://127.0.0.1:")[2].partition(" ")[0].rstrip(".;\n"))


@pytest.mark.parametrize("command", COMMANDS, ids=["listen", "sandbox serve"])
def test_a_server_without_descriptors_rests(tmp_path: Path, command: tuple[str, ...]) -> None:
    """It uses hardly any processor time, says once what it waits for, and serves again when connections have ended."""
    process = Project(tmp_path / "project").start(*command)
    try:
        port = listening_port(process)
        here = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (here + SPARE, here + SPARE))
        with ExitStack() as connections:
            for _ in range(SPARE + 10):
                connections.enter_context(socket.create_connection(("127.0.0.1", port)))
            wait_until(
                lambda: len(list(Path(f"/proc/{process.pid}/fd").iterdir())), lambda open_: open_ >= here + SPARE
            )
            before = cpu_seconds(process.pid)
            time.sleep(3)
            assert cpu_seconds(process.pid) - before < 0.6
        client = HTTPConnection("127.0.0.1", port, timeout=30)
        client.request("PATCH", "/", b"{}")
        assert client.getresponse().status in (404, 405)
        client.close()
    finally:
        done = end(process)
    assert 1 == done.err.count("Warning: Too many open files: new connections wait until open ones are closed\n")
