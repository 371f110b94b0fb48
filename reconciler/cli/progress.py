"""Shows the log and the progress of an apply on stderr.

This module is separate from `terminal`, so that commands that call no service do not load `logging`.
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reconciler.errors import Message
from reconciler.model.plan import SENDS
from reconciler.reports.apply import result_row
from reconciler.reports.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reconciler.applying.protocol import Run
    from reconciler.cli.terminal import Terminal
    from reconciler.model.plan import Plan


@contextmanager
def progress(terminal: Terminal, plan: Plan) -> Iterator[Callable[[Run], None]]:
    """Yield a function that shows the progress of a run each time it is called."""
    creates = sum(change.action in SENDS for change in plan.changes)
    is_text = terminal.flags.get("log_format") != "json"
    is_live = is_text and not terminal.is_quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    if terminal.is_verbose:
        yield _observer(terminal, lambda run, before: _say_results(terminal, run, before))
    elif creates and is_live:
        with _bar(terminal, creates) as move:
            yield _observer(terminal, lambda run, _: move(run))
    else:
        yield _observer(terminal, lambda _, __: None)


def _observer(terminal: Terminal, show: Callable[[Run, int], None]) -> Callable[[Run], None]:
    """Return a function that calls `show` if a run has new results, and that reports an interrupt once."""
    before = 0
    acknowledged = False

    def observe(run: Run) -> None:
        nonlocal before, acknowledged
        if run.creates.interrupted and not acknowledged:
            acknowledged = True
            waits = (
                f"waiting up to {run.context.limits.call_grace:g} s for {counted(len(run.in_flight), 'call')} in flight"
            )
            terminal.note(f"interrupted: {waits if run.in_flight else 'saving the results'}")
        if len(run.work.results) > before:
            show(run, before)
            before = len(run.work.results)

    return observe


def _say_results(terminal: Terminal, run: Run, before: int) -> None:
    for result in list(run.work.results.values())[before:]:
        terminal.note(result_row(result))


@contextmanager
def _bar(terminal: Terminal, creates: int) -> Iterator[Callable[[Run], None]]:
    from rich.console import Console  # noqa: PLC0415 - only for a terminal
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    console = Console(stderr=True, no_color=not terminal.wants_colour(sys.stderr))
    columns = (TextColumn("Creating"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    live = Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
    terminal.has_live_line = True
    try:
        with live:
            task = live.add_task("", total=creates)
            yield lambda run: live.update(
                task, completed=sum(result.action in SENDS for result in run.work.results.values())
            )
    finally:
        terminal.has_live_line = False


class _Handler(logging.Handler):
    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self._terminal = terminal

    def emit(self, record: logging.LogRecord) -> None:
        said = record.args[0] if isinstance(record.args, tuple) and record.args else None
        message = said if isinstance(said, Message) else Message("log", record.getMessage())
        if record.levelno >= logging.WARNING:
            self._terminal.warn(Message(message.name, message.what, message.where))  # the final report says what to do
        else:
            self._terminal.note(message.what)


def log_to(terminal: Terminal) -> None:
    """Write the log to stderr from now on."""
    logger = logging.getLogger("reconciler")
    logger.handlers = [_Handler(terminal)]
    logger.setLevel(logging.DEBUG if terminal.is_verbose else logging.WARNING)
