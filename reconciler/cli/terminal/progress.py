"""How far a command has come, on stderr: a live line on a terminal, plain lines of an apply off one."""

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
    if terminal.is_quiet or not count:
        yield lambda _run: None
    elif creates and _can_be_live(terminal):
        with _live(terminal, "Creating", creates) as move:
            yield _show_new(_moving(move, creates))
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


def _can_be_live(terminal: Terminal) -> bool:
    is_text = terminal.flags.get("log_format") != "json"
    return is_text and sys.stderr.isatty() and terminal.wants_colour(err=True)


def _moving(move: Callable[[int, int], None], creates: int) -> Callable[[Result], None]:
    """Moves a bar on by each create that is over."""
    over = 0

    def show(result: Result) -> None:
        nonlocal over
        over += result.action in SENDS
        move(over, creates)

    return show


@contextmanager
def checking(terminal: Terminal) -> Iterator[Callable[[int, int], None]]:
    """What is told how many checks are over, and how many there are; only a terminal shows it."""
    if terminal.is_quiet or not _can_be_live(terminal):
        yield lambda _over, _count: None
    else:
        with _live(terminal, "Checking", None) as move:
            yield move


@contextmanager
def _live(terminal: Terminal, title: str, count: int | None) -> Iterator[Callable[[int, int], None]]:
    """The bar has a thread of its own: a terminal that is stopped must not stop the command."""
    moves: SimpleQueue[tuple[int, int] | None] = SimpleQueue()
    thread = Thread(target=_show_bar, args=(title, count, moves), name="progress", daemon=True)
    thread.start()
    try:
        yield lambda over, count: moves.put((over, count))
    finally:
        moves.put(None)
        terminal.wait_for_reader(thread, "stderr")


def _show_bar(title: str, count: int | None, moves: SimpleQueue[tuple[int, int] | None]) -> None:
    from rich.console import Console  # noqa: PLC0415 - only where a terminal is there to see it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with suppress(OSError), Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=count)
        for over, in_all in iter(moves.get, None):
            bar.update(task, completed=over, total=in_all)
