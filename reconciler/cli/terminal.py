"""Writes to the streams of a run: results to stdout, everything else to stderr.

The exit code shows what the command did, even if its streams fail. If stdout cannot be written, a command that only
shows something has failed; a command that has already changed something (`work_is_done`) prints a warning. A reader
that closes stdout early, as `head` does, is not an error. Text that cannot be written to stderr is dropped.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click
import msgspec
from msgspec.structs import replace

from reconciler.cli.streams import columns, lead_nowhere
from reconciler.errors import Message, ReconcilerError, Refused
from reconciler.reports import terminal as text_of
from reconciler.reports.document import messages_document, sentence
from reconciler.reports.words import harmless_json, harmless_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from reconciler.errors import Step
    from reconciler.reports.document import Document


_LEVELS = {"Error": "error", "Warning": "warning", "Note": "info"}
_CLEAR = "\r\x1b[2K"


class Terminal:
    """Writes to stdout and stderr as the global `flags` require. Each suggested command gets the flags in `words`.

    `has_live_line` is true while stderr ends with a progress line, which is redrawn.
    """

    def __init__(self, flags: Mapping[str, Any], words: tuple[str, ...] = ()) -> None:
        self.flags = flags
        self.words = words
        self.is_quiet = bool(flags.get("quiet"))
        self.is_verbose = bool(flags.get("verbose"))
        self.has_live_line = False
        self.reader_has_left = False
        self._is_done = False

    def report(self, document: Callable[[], Document], values: Callable[[], Any], form: str) -> None:
        """Print a report to stdout in the format `form`: its document, or `values` as JSON."""
        match form:
            case "json":
                from reconciler.reports import json  # noqa: PLC0415 - a command loads only what it uses

                self.print(json.render(values()))
            case "markdown":
                from reconciler.reports import markdown  # noqa: PLC0415 - likewise

                self.print(markdown.render(_of_run(document()), self.words))
            case "html":
                from reconciler.reports import html  # noqa: PLC0415 - likewise

                self.print(html.render(_of_run(document()), self.words))
            case _:
                self.show(document())

    def show(self, document: Document) -> None:
        """Print a document to stdout as text. Raises ReconcilerError if stdout cannot be written."""
        self.print(text_of.render(document, self._layout(sys.stdout)))

    def print(self, text: str | bytes) -> None:
        """Print text to stdout unchanged, with a final newline. Raises ReconcilerError if stdout cannot be written."""
        data = text.encode(errors="backslashreplace") if isinstance(text, str) else text
        rest = memoryview(data if data.endswith(b"\n") else data + b"\n")
        try:
            while rest:  # with PYTHONUNBUFFERED a write may be partial
                rest = rest[sys.stdout.buffer.write(rest) :]
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            lead_nowhere(sys.stdout)
            self.reader_has_left = True
        except OSError as problem:
            lead_nowhere(sys.stdout)
            message = Message("stdout-unwritable", f"cannot write: {problem.strerror}", "standard output")
            if not self._is_done:
                raise ReconcilerError(message) from None
            self.warn(replace(message, what=f"{message.what}; the command itself succeeded"))

    def print_foreign(self, body: bytes) -> None:
        """Print text from the service: unchanged for a program, escaped for a terminal and for the log of a runner."""
        if not (sys.stdout.isatty() or in_actions()):
            self.print(body)
            return
        lines = body.decode(errors="backslashreplace").splitlines()
        self.print("\n".join(harmless_line(line.replace("\t", "    ")) for line in lines))

    def work_is_done(self) -> None:
        """From now on, only warn if a result cannot be printed, because a second run would repeat the work."""
        self._is_done = True

    def tell(self, document: Document, *, is_needed: bool) -> None:
        """Print a document to stderr as text. With -q, only if it is needed to answer a question."""
        if is_needed or not self.is_quiet:
            self._write_err(text_of.render(document, self._layout(sys.stderr)))

    def note(self, what: str, *steps: Step) -> None:
        """Print a note to stderr, unless -q was given. A note is neither a result nor a warning."""
        if not self.is_quiet:
            self._say([Message("note", what, "", steps)], "Note")

    def warn(self, *messages: Message) -> None:
        """Print warnings to stderr, unless -q was given."""
        if not self.is_quiet:
            self._say(messages, "Warning")

    def complain(self, *messages: Message) -> None:
        """Print errors to stderr, even with -q."""
        self._say(messages, "Error")

    def _say(self, messages: Iterable[Message], label: str) -> None:
        if self.flags.get("log_format") != "json":
            document = messages_document(messages, label)
            self._write_err(text_of.render(document, self._layout(sys.stderr)))
            return
        for message in messages:
            now = time.time()
            moment = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03}Z"
            entry = {"time": moment, "level": _LEVELS[label], "message": sentence(message, self.words)}
            line = msgspec.json.encode({**msgspec.to_builtins(message, enc_hook=str), **entry}, enc_hook=str).decode()
            self._write_err(f"{harmless_json(line)}\n")

    def _write_err(self, text: str) -> None:
        """Write to stderr. A failure is ignored, because calls may be in flight."""
        with suppress(OSError, ValueError):
            sys.stderr.write(f"{_CLEAR if self.has_live_line else ''}{text}")

    def _layout(self, stream: TextIO) -> text_of.Layout:
        width = columns(stream) if stream.isatty() else None
        return text_of.Layout(self.words, width, self.wants_colour(stream), self.is_verbose)

    def wants_colour(self, stream: TextIO) -> bool:
        """True if a stream gets colour. --color, NO_COLOR, FORCE_COLOR and the kind of stream decide, in this order."""
        choice = self.flags.get("color")
        if choice in ("always", "never"):
            return bool(choice == "always")
        if os.environ.get("NO_COLOR"):
            return False
        return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def _of_run(document: Document) -> Document:
    """Return a document with the facts of this GitHub Actions run added, for readers outside the run."""
    return replace(document, facts=(*document.facts, *run_facts()))


def has_terminal() -> bool:
    """True if stdin is a terminal, so that questions can be asked."""
    return sys.stdin.isatty()


def says_yes(question: str) -> bool:
    """Ask a question, and return True if the answer is `yes`. The end of the input counts as no."""
    try:
        click.echo(f"{question} Type 'yes' to continue: ", nl=False, err=True)
    except OSError:  # the question was not shown
        return False
    return sys.stdin.readline().strip() == "yes"


def line(question: str, default: str) -> str:
    """Ask a question, and return the answer or, if it is empty, `default`. Raises Refused at the end of the input."""
    click.echo(f"{question} [{default}]: ", nl=False, err=True)
    answer = sys.stdin.readline()
    if not answer:
        raise Refused(Message("no-answer", "no answer; nothing was changed"))
    return answer.strip() or default


def in_actions() -> bool:
    """True if the program runs in a step of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def run_facts() -> tuple[tuple[str, str], ...]:
    """Return the known facts of a GitHub Actions step: commit, author, branch or pull request, and run."""
    get = os.environ.get
    run = f"{get('GITHUB_SERVER_URL')}/{get('GITHUB_REPOSITORY')}/actions/runs/{get('GITHUB_RUN_ID')}"
    number, slash, merge = get("GITHUB_REF_NAME", "").partition("/")
    place = ("Pull request", f"#{number}") if merge == "merge" and number.isdigit() else ("Ref", number + slash + merge)
    known = (("Commit", get("GITHUB_SHA", "")), ("Author", get("GITHUB_ACTOR", "")), place)
    return tuple((name, value) for name, value in (*known, ("Run", run if get("GITHUB_RUN_ID") else "")) if value)


def mask(secrets: Iterable[str]) -> None:
    """Tell the GitHub Actions runner, if any, to mask secrets. Raises Refused if stderr cannot be written."""
    if not in_actions():
        return
    lines = dict.fromkeys(line for secret in secrets for line in secret.splitlines() if line.strip())
    try:
        for line in lines:
            click.echo(f"::add-mask::{_data(line)}", err=True)
    except OSError as problem:
        what = f"the secret cannot be masked: {problem.strerror}"
        raise Refused(Message("secret-not-masked", what, "standard error")) from None


def annotation(message: Message, level: str) -> str:
    """Return the GitHub workflow command that shows a message next to its line in a pull request."""
    fields = {}
    if message.place:
        file = Path(os.path.normpath(Path(message.place.file).absolute()))  # without `..`, which GitHub does not know
        root = os.environ.get("GITHUB_WORKSPACE")
        shown = file.relative_to(root) if root and file.is_relative_to(root) else message.place.file
        fields = {"file": str(shown), "line": str(message.place.line), "col": str(message.place.column)}
    listed = ",".join(f"{name}={_property(value)}" for name, value in fields.items())
    return f"::{level}{' ' if listed else ''}{listed}::{_data(message.what)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
