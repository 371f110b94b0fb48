"""How far an apply has come, on stderr: a live line on a terminal, plain lines off one."""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.model.plan import LOCAL, SENDS
from reconciler.reports.text import result_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reconciler.applying.protocol import TargetRun
    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.plan import Plan
    from reconciler.model.result import Result


@contextmanager
def progress(terminal: Terminal, plan: Plan) -> Iterator[Callable[[TargetRun], None]]:
    """What an apply tells of its progress; does nothing with -q, or where nothing is to be done."""
    creates = sum(change.action in SENDS for change in plan.changes)
    count = sum(change.action in (*SENDS, *LOCAL) for change in plan.changes)
    is_text = terminal.flags.get("log_format") != "json"
    if terminal.is_quiet or not count:
        yield lambda _run: None
    elif creates and is_text and sys.stderr.isatty() and terminal.wants_colour(err=True):
        with _live(terminal, creates) as show:
            yield _show_new(show)
    else:
        yield _show_new(_plain(terminal, count))


def _show_new(show: Callable[[Result], None]) -> Callable[[TargetRun], None]:
    """Shows the results of a run that are new since the last time; runs come one after the other."""
    last: TargetRun | None = None
    shown = 0

    def observe(run: TargetRun) -> None:
        nonlocal last, shown
        if run is not last:
            last, shown = run, 0
        results = run.work.results
        new = list(islice(reversed(results.values()), len(results) - shown))  # from the end: to skip takes time too
        for result in reversed(new):
            show(result)
        shown = len(results)

    return observe


def _plain(terminal: Terminal, count: int) -> Callable[[Result], None]:
    """One line for each change that is over. The report at the end tells them all again, so each says how far it is."""
    over = 0

    def show(result: Result) -> None:
        nonlocal over
        over += result.action in (*SENDS, *LOCAL)
        line = result_line(result)
        terminal.say_line(replace(line, text=f"{over} of {count}:{line.text}"))

    return show


@contextmanager
def _live(terminal: Terminal, creates: int) -> Iterator[Callable[[Result], None]]:
    """The bar has a thread of its own: a terminal that is stopped must not stop the apply."""
    over: SimpleQueue[Result | None] = SimpleQueue()
    thread = Thread(target=_show_bar, args=(creates, over), name="progress", daemon=True)
    thread.start()
    try:
        yield over.put
    finally:
        over.put(None)
        terminal.wait_for_reader(thread, "stderr")


def _show_bar(creates: int, over: SimpleQueue[Result | None]) -> None:
    from rich.console import Console  # noqa: PLC0415 - only where a terminal is there to see it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("Creating"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with suppress(OSError), Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("creates", total=creates)
        for result in iter(over.get, None):
            bar.advance(task, result.action in SENDS)
