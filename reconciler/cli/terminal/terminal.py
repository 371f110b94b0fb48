"""The streams of one run of the command line: results go to stdout, everything else to stderr.

The exit code says what the command did, even if its streams fail:

============================  ==================================================================================
stdout cannot be written      a command that only shows something has failed: an error, exit code 1; one that has
(full disk, broken terminal)  changed something by then (`work_is_done`) warns, and keeps its exit code
its reader has left           nothing more is printed or reported, and the exit code stays
it was closed from the start  as above
stderr, any of these          the message is dropped, and the exit code stays
============================  ==================================================================================
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Literal, TextIO

import click

from reconciler.cli import columns
from reconciler.cli.terminal.actions import annotate
from reconciler.cli.terminal.commands import INTRODUCTIONS, WITHOUT_STATE, apart, lacks_state, with_flags
from reconciler.errors import ConfigError, ReconcilerError
from reconciler.reports.line import Line, Tone
from reconciler.reports.visible import harmless_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from queue import SimpleQueue

    from reconciler.reports.formats import Report

_CLEAR = "\r\x1b[2K"
_GATHERING = 0.05  # seconds between writes in the background: nobody reads faster
_PATIENCE = 1.0  # seconds for the reader of a stream, after all else is done


class Terminal:
    """The streams of one run, written as its `flags` say; `given_up` are those in which a thread is stuck.

    `has_live_line`: the cursor of stderr is in a line that is drawn again and again.
    """

    def __init__(self, flags: Mapping[str, Any]) -> None:
        self.flags = flags
        self.given_up: set[str] = set()
        self.has_live_line = False
        self._is_done = False
        self._lacks_state = False
        self._endings: list[Callable[[float], None]] = []
        self._reader_left = False
        self._later: SimpleQueue[Callable[[], None] | None] | None = None

    # Results, on stdout

    def print_lines(self, lines: Iterable[Line]) -> None:
        """Print lines, in colour where that is wanted. Raises ReconcilerError where they cannot be written."""
        text = self._joined(lines, sys.stdout, self.wants_colour())
        self.print_bytes(f"{text}\n".encode(sys.stdout.encoding, errors="backslashreplace"))

    def print_line(self, text: str) -> None:
        """Print one line, as `print_lines` does."""
        self.print_lines([Line(text)])

    def print_report(self, report: Report) -> None:
        """Print a report, as lines or as a document. Raises ReconcilerError where it cannot be written."""
        match report:
            case str():
                self.print_document(report)
            case _:
                self.print_lines(report)

    def print_bytes(self, data: bytes) -> None:
        """Print bytes as they are, ended by a newline. Raises ReconcilerError where they cannot be written."""
        try:
            _write(data if data.endswith(b"\n") else data + b"\n")
        except BrokenPipeError:
            _lead_nowhere(sys.stdout)
            self._reader_left = True
        except OSError as problem:
            _lead_nowhere(sys.stdout)
            what = f"cannot write: {problem.strerror}"
            if not self._is_done:
                raise ReconcilerError(what, where="standard output") from None
            self.warn(f"standard output: {what}; the command itself succeeded")

    def print_document(self, text: str) -> None:
        """Print a document and nothing else: in UTF-8 whatever the locale, and never in colour."""
        self.print_bytes(text.encode(errors="replace"))

    def work_is_done(self) -> None:
        """From now on a result that cannot be printed is no failure: a second run would do the work again."""
        self._is_done = True

    def reader_has_left(self) -> bool:
        """Whether the reader of stdout has closed it."""
        return self._reader_left

    def at_end(self, do: Callable[[float], None]) -> None:
        """Have something done after the command, in as many seconds as it is given."""
        self._endings.append(do)

    def do_endings(self, seconds: float) -> None:
        """Do what was to be done after the command, once; then say what its commands lack."""
        endings, self._endings = self._endings, []
        for ending in endings:
            ending(seconds)
        if self._lacks_state:
            self._tell("info", WITHOUT_STATE, Line(WITHOUT_STATE))

    # Everything else, on stderr

    @property
    def is_quiet(self) -> bool:
        """Whether only errors go to stderr."""
        return bool(self.flags.get("quiet"))

    def say(self, text: str) -> None:
        """Print a message that is not a result, unless -q was given."""
        self.say_line(Line(text))

    def say_line(self, line: Line) -> None:
        """As `say`, of a line as reports make them."""
        if not self.is_quiet:
            self._tell("info", line.text.strip(), line)

    def say_more(self, text: str) -> None:
        """Tell the user, with -v, what the program works with."""
        if self.flags.get("verbose") and not self.is_quiet:
            self._tell("info", text, Line(f"Info: {text}", Tone.FAINT))

    def warn(self, text: str) -> None:
        """Warn the user, unless -q was given."""
        if not self.is_quiet:
            self._tell("warning", text, Line(f"Warning: {text}", Tone.WARNING))

    def complain(self, text: str) -> None:
        """Report an error, even with -q."""
        self._tell("error", text, Line(f"Error: {text}", Tone.ERROR))

    def end(self, text: str) -> None:
        """Report, even with -q, how the command ended if that is not an error."""
        self._tell("error", text, Line(text))

    def print_problem(self, problem: ReconcilerError) -> None:
        """Print an error: where, what, what to do."""
        if isinstance(problem, ConfigError):
            for mistake in problem.mistakes:
                annotate(mistake)
                self.complain(str(mistake))
            if len(problem.mistakes) == 1:
                return
        self.complain(str(problem))

    def start_logging(self) -> None:
        """Have log records reach stderr; to be called before what logs is used, once or more."""
        from reconciler.cli.terminal.logs import start_logging  # noqa: PLC0415 - a command pays only for what it uses

        start_logging(self.flags, self._tell_record)

    def _tell_record(self, level: str, text: str, logger: str) -> None:
        tone = {"error": Tone.ERROR, "warning": Tone.WARNING}.get(level, Tone.FAINT)
        self._tell(level, text, Line(f"{level.capitalize()}: {text}", tone), logger)

    def _tell(self, level: str, text: str, line: Line, logger: str = "reconciler") -> None:
        """Say something, as --log-format wants it."""
        if self.flags.get("log_format") == "json":
            from reconciler.cli.terminal.logs import as_object  # noqa: PLC0415 - a command pays only for what it uses

            self._write_err(as_object(level, logger, self._to_paste(text)))
        else:
            self._write_err(self._joined([line], sys.stderr, self.wants_colour(err=True)))

    def _write_err(self, text: str) -> None:
        """Write a line to stderr, now or in the background. A failure stops nothing: calls may be in flight."""
        start = _CLEAR if self.has_live_line else ""
        write = partial(click.echo, f"{start}{text}", err=True, color=True)  # it has escapes only where they are wanted
        later = self._later  # read once: threads that log may outlive what is written in the background
        if later is None:
            with suppress(OSError):
                write()
        else:
            later.put(write)

    @contextmanager
    def in_background(self) -> Iterator[None]:
        """While inside, a thread of its own writes to stderr: a reader that is slow, or stopped, delays nothing."""
        from queue import SimpleQueue  # noqa: PLC0415 - few commands need it

        queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        over = Event()
        thread = Thread(target=_write_all, args=(queue, over.wait), name="teller", daemon=True)
        thread.start()
        self._later = queue
        try:
            yield
        finally:
            self._later = None
            queue.put(None)
            over.set()
            self.wait_for_reader(thread, "stderr")

    def wait_for_reader(self, thread: Thread, name: Literal["stdout", "stderr"]) -> None:
        """Wait a moment for a thread that writes to a stream; if it is stuck there, nothing is written there again."""
        thread.join(_PATIENCE)
        if thread.is_alive():
            self.given_up.add(name)
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))

    def _joined(self, lines: Iterable[Line], stream: TextIO, colour: bool) -> str:
        """Lines as they are written to a stream; only a terminal has a width, and tables."""
        width = None
        if stream.isatty():
            from reconciler.cli.terminal.layout import aligned  # noqa: PLC0415 - of no use without a terminal

            width = columns(stream)
            lines = aligned([*lines], width)
        return "\n".join(self._shown(line, width, colour) for line in lines)

    def _shown(self, line: Line, width: int | None, colour: bool) -> str:
        """A line with each command that it names apart, whole and without colour."""
        parts = apart(self._to_paste(_with_distances(line.text))).split("\n")
        shown = []
        for number, part in enumerate(parts):
            is_command = number > 0 and parts[number - 1].endswith(INTRODUCTIONS)
            rows = [harmless_line(part)] if number else [part]
            if width is not None and not is_command:
                from reconciler.cli.terminal.layout import wrapped  # noqa: PLC0415 - of no use without a terminal

                rows = wrapped(rows[0], width, follows=number > 0)
            if colour and not is_command:
                from reconciler.cli.terminal.colour import styled  # noqa: PLC0415 - only where it is wanted

                rows = styled(rows, line.tone, follows=number > 0)
            shown += rows
        return "\n".join(shown)

    def _to_paste(self, text: str) -> str:
        """`text` with commands as this run would be repeated, and without secrets."""
        self._lacks_state = self._lacks_state or lacks_state(text, self.flags)
        return _without_keys(with_flags(text, self.flags))

    def wants_colour(self, *, err: bool = False) -> bool:
        """Whether to colour: --color, then NO_COLOR, then FORCE_COLOR, then whether the stream is a terminal."""
        choice = self.flags.get("color")
        if choice in ("always", "never"):
            return bool(choice == "always")
        if os.environ.get("NO_COLOR"):
            return False
        if os.environ.get("FORCE_COLOR"):
            return True
        stream = sys.stderr if err else sys.stdout
        return stream.isatty() and os.environ.get("TERM") != "dumb"


def _write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:  # with PYTHONUNBUFFERED a write may take a part only
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()


def _lead_nowhere(stream: TextIO) -> None:
    """What is still buffered must not fail once more when the interpreter ends: it would change the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _write_all(queue: SimpleQueue[Callable[[], None] | None], pause: Callable[[float], object]) -> None:
    """Write what is queued, until None is. A thread that wakes for each of many lines takes time from the others."""
    for write in iter(queue.get, None):
        with suppress(OSError):
            write()
        if queue.empty():
            pause(_GATHERING)


def _without_keys(text: str) -> str:
    """`text` without age private keys: one may have been typed where something else belongs, and be repeated in it."""
    if "age-secret-key-" not in text.lower():
        return text
    from reconciler.state.private.responses import PRIVATE_KEY  # noqa: PLC0415 - few texts have one

    return PRIVATE_KEY.sub("(private key)", text)


def _with_distances(text: str) -> str:
    """`text` with how far the moments are that it names; JSON and Markdown are the same at any time."""
    if " 2" not in text or not any(mark in text for mark in ("until 2", "after 2", "create started 2")):
        return text
    from datetime import UTC, datetime  # noqa: PLC0415 - few lines need it

    from reconciler.reports.times import with_distances  # noqa: PLC0415 - few lines need it

    return with_distances(text, datetime.now(UTC))
