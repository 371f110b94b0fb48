"""What the scripts of the workflows share: they read the event, run the program, and tell the job what came of it."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from reconciler.cli.main import run
from reconciler.cli.options import Invocation
from reconciler.errors import ReconcilerError

INVOCATION = Invocation()


class Refusal(Exception):
    """What was asked for is not done; the text says why, and what to do."""


def inputs() -> dict[str, str]:
    """What was typed into the form of "Run workflow", by name; empty for other events. All of it is text."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    given = event.get("inputs") or {}
    return {name: "" if value is None else str(value) for name, value in given.items()}


def tell(**outputs: str) -> None:
    """Tell outputs. None has a line break: names, digests, and JSON that was written here."""
    append("GITHUB_OUTPUT", "".join(f"{name.replace('_', '-')}={value}\n" for name, value in outputs.items()))


def summarise(text: str) -> None:
    """Put Markdown on the job's summary."""
    append("GITHUB_STEP_SUMMARY", text)


def append(variable: str, text: str) -> None:
    """Append to the file that a variable names, if there is one."""
    path = os.environ.get(variable)
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


def complain(problem: Refusal | ReconcilerError) -> None:
    """Say on stderr why the step fails."""
    if isinstance(problem, ReconcilerError):
        INVOCATION.terminal.print_problem(problem)
    else:
        INVOCATION.terminal.complain(str(problem))


def reconciler(*arguments: str, streams: tuple[int, ...] = (1,)) -> tuple[int, str]:
    """Run the program; its exit code, and what it wrote to stdout (1), stderr (2) or both."""
    with tempfile.TemporaryFile() as file:
        kept = {stream: os.dup(stream) for stream in streams}
        for stream in streams:
            os.dup2(file.fileno(), stream)
        try:
            code = run(list(arguments), INVOCATION)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for stream, before in kept.items():
                os.dup2(before, stream)
                os.close(before)
        file.seek(0)
        return code, file.read().decode()
