"""A person at a terminal: the executable with a pseudo-terminal for all three streams."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time
from typing import TYPE_CHECKING

from support import warm
from support.project import EXECUTABLE, Finished

if TYPE_CHECKING:
    from pathlib import Path

    from support.project import Project


def at_terminal(
    project: Project,
    *arguments: str,
    answers: dict[str, str] | None = None,
    program: str | Path = EXECUTABLE,
    typed: str = "",
    stop_at: str = "",
    fork: bool = False,
) -> Finished:
    """Run `reconciler`, or another program, at a terminal, and type an answer when its prompt has appeared.

    With `fork`, it is a fork (see `warm`), for a test of what is shown, and not of how it gets to the terminal.

    Something may have been typed before there was a prompt. What runs until it is interrupted is, when `stop_at` has
    appeared.

    What appears, results and the rest, is the `out` of what is given back; its lines end as they do elsewhere. The
    terminal is so wide that no line of it wraps, unless the project's environment has COLUMNS.
    """
    ours, theirs = pty.openpty()
    environment = {"TERM": "xterm", **project.variables(), "COLUMNS": project.environment.get("COLUMNS", "1000")}
    process: subprocess.Popen[bytes] | warm.Started
    if fork:
        process = warm.Started(arguments, project.path, environment, streams=[theirs] * 3)
    else:
        process = subprocess.Popen(
            [program, *arguments],
            cwd=project.path,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,  # so that the terminal of whoever runs the tests is not asked
        )
    os.close(theirs)
    os.write(ours, typed.encode())
    try:
        shown = _converse(ours, dict(answers or {}), process, stop_at)
        return Finished(process.wait(20), shown.replace("\r\n", "\n"), "")
    finally:
        os.close(ours)
        process.kill()
        process.wait()


def _converse(
    terminal: int, answers: dict[str, str], process: subprocess.Popen[bytes] | warm.Started, stop_at: str
) -> str:
    shown, deadline = b"", time.monotonic() + 30
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 1)
        if not ready:
            continue
        try:
            read = os.read(terminal, 65536)
        except OSError:  # nobody has the other end open
            break
        shown += read
        for prompt in [one for one in answers if one.encode() in shown]:
            os.write(terminal, answers.pop(prompt).encode())
        if stop_at and stop_at.encode() in shown:
            process.send_signal(signal.SIGINT)
            stop_at = ""
    assert not answers, f"never asked for: {list(answers)}; shown: {shown.decode()}"
    return shown.decode()
