"""How things reach stdout and stderr: results on the one, everything else on the other.

The exit code says what the command did, whatever becomes of its streams:

============================  ==================================================================================
stdout cannot be written      a command that only shows something has failed: an error, exit code 1; one that has
(full disk, broken terminal)  changed something by then (`work_is_done`) warns, and its exit code stands
its reader has left           nothing more is shown, nothing is said of it, and the exit code stands
it was closed from the start  as above: nobody wanted to read it
stderr, any of these          what cannot be said is not said, and the exit code stands
============================  ==================================================================================
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Literal, TextIO

import click

from reconciler.cli.actions import annotate
from reconciler.cli.options import flags
from reconciler.errors import ConfigError, ReconcilerError
from reconciler.reports.text import Line, Tone
from reconciler.reports.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_STYLES: dict[Tone, dict[str, object]] = {
    Tone.PLAIN: {},
    Tone.HEADING: {"bold": True},
    Tone.ADDED: {"fg": "green"},
    Tone.CHANGED: {"fg": "yellow"},
    Tone.REMOVED: {"fg": "red"},
    Tone.WARNING: {"fg": "yellow"},
    Tone.ERROR: {"fg": "red", "bold": True},
    Tone.FAINT: {"dim": True},
}


# Results, on stdout


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines, in colour where that is wanted. Raises ReconcilerError where they cannot be written."""
    text = _joined(lines, wants_colour())
    print_bytes(f"{text}\n".encode(sys.stdout.encoding, errors="backslashreplace"))


def print_bytes(data: bytes) -> None:
    """Print bytes as they are, ended by a newline. Raises ReconcilerError where they cannot be written."""
    try:
        _write(data if data.endswith(b"\n") else data + b"\n")
    except BrokenPipeError:
        _lead_nowhere(sys.stdout)
        _left.add("stdout")
    except OSError as problem:
        _lead_nowhere(sys.stdout)
        what = f"cannot be written: {problem.strerror}"
        if not _done:
            raise ReconcilerError(what, where="standard output") from None
        warn(f"standard output: {what}; the command has been carried out all the same")


def print_document(text: str) -> None:
    """Print a document and nothing else: in UTF-8 whatever the locale, and never in colour."""
    print_bytes(text.encode(errors="replace"))


def work_is_done() -> None:
    """From now on a result that cannot be printed is no failure: repeated for it, the command would do it again."""
    _done.add("work")


def reader_has_left() -> bool:
    """Whether whoever read stdout has read enough."""
    return bool(_left)


_done: set[str] = set()
_left: set[str] = set()


def _write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:  # with PYTHONUNBUFFERED a write may take a part only
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()


def _lead_nowhere(stream: TextIO) -> None:
    """What is still buffered must not fail once more when the interpreter ends: it would change the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


# Everything else, on stderr


def say(text: str) -> None:
    """Tell the user something that is no result, unless -q was given."""
    say_line(Line(visible(text)))


def say_line(line: Line) -> None:
    """As `say`, of a line as reports make them."""
    if not flags().get("quiet"):
        _tell("info", line.text.strip(), line)


def say_more(text: str) -> None:
    """Tell the user, with -v, what the program works with."""
    if flags().get("verbose") and not flags().get("quiet"):
        _tell("info", text, Line(f"Info: {visible(text)}", Tone.FAINT))


def warn(text: str) -> None:
    """Warn the user, unless -q was given."""
    if not flags().get("quiet"):
        _tell("warning", text, Line(f"Warning: {visible(text)}", Tone.WARNING))


def complain(text: str) -> None:
    """Tell the user what went wrong, whatever was given."""
    _tell("error", text, Line(f"Error: {visible(text)}"))


def end(text: str) -> None:
    """Tell the user, whatever was given, how the command came to its end where that is no mistake of anyone's."""
    _tell("error", text, Line(visible(text)))


def print_problem(problem: ReconcilerError) -> None:
    """Print an error: where, what, what to do."""
    if isinstance(problem, ConfigError):
        for mistake in problem.mistakes:
            annotate(mistake)
            complain(str(mistake))
        if len(problem.mistakes) == 1:
            return
    complain(str(problem))


def _tell(level: str, text: str, line: Line) -> None:
    """Say something, as --log-format wants it."""
    if flags().get("log_format") == "json":
        from reconciler.cli.logs import as_object  # noqa: PLC0415 - a command pays only for what it uses

        tell_raw(as_object(level, "reconciler", text))
    else:
        colour = wants_colour(err=True)
        tell_raw(_joined([line], colour), colour=colour)


def tell_raw(text: str, *, colour: bool | None = None) -> None:
    """Write a line to stderr, now or in the background. That nobody hears it stops nothing: calls may be in flight."""
    write = partial(click.echo, text, err=True, color=colour)
    later = _later  # read once: threads that log may outlive what is told in the background
    if later is None:
        with suppress(OSError):
            write()
    else:
        later.put(write)


_later: SimpleQueue[Callable[[], None] | None] | None = None
_PATIENCE = 1.0  # seconds for whoever reads a stream, once all else is done
given_up: set[str] = set()
"""The streams that nobody reads: a thread is stuck in each, and the interpreter could not end as usual."""


@contextmanager
def telling_in_background() -> Iterator[None]:
    """While inside, a thread of its own writes to stderr: a reader that is slow, or stopped, holds up nothing else."""
    global _later  # noqa: PLW0603 - as stderr itself, there is one
    queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
    thread = Thread(target=_write_all, args=(queue,), name="teller", daemon=True)
    thread.start()
    _later = queue
    try:
        yield
    finally:
        _later = None
        queue.put(None)
        wait_for_reader(thread, "stderr")


def wait_for_reader(thread: Thread, name: Literal["stdout", "stderr"]) -> None:
    """Wait a moment for a thread that writes to a stream; if it is stuck there, nothing is written there any more."""
    thread.join(_PATIENCE)
    if thread.is_alive():
        given_up.add(name)
        setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))


def _write_all(queue: SimpleQueue[Callable[[], None] | None]) -> None:
    for write in iter(queue.get, None):
        with suppress(OSError):
            write()


# Colour


def _joined(lines: Iterable[Line], colour: bool) -> str:
    return "\n".join(_styled(line, colour) for line in lines)


def _styled(line: Line, colour: bool) -> str:
    style = _STYLES[line.tone]
    return click.style(line.text, **style) if colour and style and line.text else line.text  # type: ignore[arg-type]


def wants_colour(*, err: bool = False) -> bool:
    """Whether to colour: --color, then NO_COLOR, then FORCE_COLOR, then whether a terminal is there to see it."""
    choice = flags().get("color")
    if choice in ("always", "never"):
        return bool(choice == "always")
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    stream = sys.stderr if err else sys.stdout
    return stream.isatty() and os.environ.get("TERM") != "dumb"
