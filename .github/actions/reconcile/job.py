"""What the scripts of the workflows share: they read the event, run the program, and tell the job what came of it."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from given import ask_nobody, take_store_credentials

from reconciler.cli.main import leave, run
from reconciler.cli.options import Invocation
from reconciler.errors import Interrupted, ReconcilerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import IO

INVOCATION = Invocation()
"""Of all commands of a step: a thread stuck in a stream of one must not keep the process from ending."""


UNRESOLVED = 3
"""The exit code of a plan or an apply where a create has an unknown outcome."""
RESOLVE_BY_FORM = (
    "\n**In the browser:** *Run workflow*, operation `state resolve --created` or `state resolve --not-created`, the"
    " address that is named above, and as the note the evidence for it. See *If a create has an unknown outcome* in the"
    " README of the action, `.github/actions/reconcile/README.md`.\n"
)
"""What the commands of a report are in the form: whoever reads it on the page of a run may have no terminal."""


class Refusal(ReconcilerError):
    """What was asked for is not done; the text says why, and what to do."""


def main(commands: Mapping[str, Callable[[], int]]) -> NoReturn:
    """End the process with the exit code of one of the commands, which the first argument names."""
    leave(ended(lambda: _command(commands)), INVOCATION)


def ended(command: Callable[[], int]) -> int:
    """The exit code of a command of a script, also where a signal comes between two runs of the program."""
    ask_nobody()
    try:
        return command()
    except ReconcilerError as problem:
        INVOCATION.terminal.print_problem(problem)
        return problem.exit_code
    except Interrupted as problem:
        return problem.exit_code


def _command(commands: Mapping[str, Callable[[], int]]) -> int:
    take_store_credentials()
    return commands[sys.argv[1]]()


def inputs() -> dict[str, str]:
    """What was typed into the form of "Run workflow", by name; empty for other events. All of it is text."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    given = event.get("inputs") or {}
    return {name: "" if value is None else str(value) for name, value in given.items()}


def hand_on(**outputs: str) -> None:
    """Tell outputs that decide what later jobs do. Raises Refusal if that fails: those jobs would be left out."""
    if not tell(**outputs):
        raise Refusal("later jobs cannot be told what to do; start the workflow again")


def tell(**outputs: str) -> bool:
    """Tell outputs; whether that succeeded. None has a line break: names, numbers, digests, JSON, paths made here."""
    return _append("GITHUB_OUTPUT", "".join(f"{name.replace('_', '-')}={value}\n" for name, value in outputs.items()))


def summarise(text: str) -> None:
    """Put Markdown on the job's summary."""
    _append("GITHUB_STEP_SUMMARY", text)


def _append(variable: str, text: str) -> bool:
    """Append to the file that a variable names, if there is one; that it fails is a warning."""
    path = os.environ.get(variable)
    try:
        with Path(path or os.devnull).open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        warn(f"{variable} cannot be written: {problem.strerror}")
        return False
    return True


def warn(text: str) -> None:
    """Say on stderr what does not change the exit code: the step has that of what was done."""
    with suppress(OSError):
        sys.stderr.write(f"Warning: {text}\n")


def reconciler(*arguments: str, streams: tuple[int, ...] = (1,)) -> tuple[int, str]:
    """Run the program; its exit code, and what it wrote to stdout (1), stderr (2) or both."""
    with tempfile.TemporaryFile() as file:
        with _streams_to(file, streams):
            code = run(list(arguments), INVOCATION)
        file.seek(0)
        return code, file.read().decode()


def report(path: Path, *arguments: str) -> int:
    """Run the program with stdout to a file; its exit code."""
    with path.open("wb") as file, _streams_to(file, (1,)):
        return run(list(arguments), INVOCATION)


@contextmanager
def _streams_to(file: IO[bytes], streams: tuple[int, ...]) -> Iterator[None]:
    sys.stdout.flush()
    kept = {stream: os.dup(stream) for stream in streams}
    for stream in streams:
        os.dup2(file.fileno(), stream)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream, before in kept.items():
            os.dup2(before, stream)
            os.close(before)
