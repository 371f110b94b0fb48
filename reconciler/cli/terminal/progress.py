"""How far a command has come, on stderr: a live line on a terminal.

Off one the report of an apply tells each result, and nothing does before it; but for -v, and for the objects of
--log-format json, which are not read together with the report. That it waits for answers is said off one, too.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.cli.terminal.waits import Waits
from reconciler.model.plan import LOCAL, SENDS
from reconciler.reports.text import result_line
from reconciler.reports.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reconciler.applying.protocol import TargetRun
    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.plan import Plan
    from reconciler.model.result import Result


@contextmanager
def progress(terminal: Terminal, plan: Plan) -> Iterator[Callable[[TargetRun], None]]:
    """What an apply tells of its progress, and that it was interrupted; nothing with -q."""
    creates = sum(change.action in SENDS for change in plan.changes)
    count = sum(change.action in (*SENDS, *LOCAL) for change in plan.changes)
    if not terminal.is_quiet and (terminal.flags.get("verbose") or _is_objects(terminal)):
        yield _saying_waits(terminal, _observer(terminal, _plain(terminal, count)))
    elif creates and _can_be_live(terminal):
        with _live(terminal, "Creating", creates) as move:
            yield _observer(terminal, _moving(move, creates))
    else:
        yield _saying_waits(terminal, _observer(terminal, lambda _result: None))


def _observer(terminal: Terminal, show: Callable[[Result], None]) -> Callable[[TargetRun], None]:
    """Shows the results of a run that are new since the last time; runs come one after the other."""
    last: TargetRun | None = None
    shown = 0
    acknowledged = False

    def observe(run: TargetRun) -> None:
        nonlocal last, shown, acknowledged
        if run.creates.interrupted and not acknowledged:
            acknowledged = True
            terminal.say(_acknowledgement(run))
        if run is not last:
            last, shown = run, 0
        results = run.work.results
        new = list(islice(reversed(results.values()), len(results) - shown))  # from the end: to skip takes time too
        for result in reversed(new):
            show(result)
        shown = len(results)

    return observe


def _saying_waits(terminal: Terminal, observe: Callable[[TargetRun], None]) -> Callable[[TargetRun], None]:
    """Says what a run waits for, too."""
    waits = Waits(terminal.say)

    def observe_waits(run: TargetRun) -> None:
        observe(run)
        waits.look(run)

    return observe_waits


def _acknowledgement(run: TargetRun) -> str:
    """What an interrupted run still waits for."""
    count = len(run.in_flight)
    if not count:
        return "Interrupted: no calls in flight; saving the results"
    return (
        f"Interrupted: waiting up to {run.context.limits.grace:g} s for {counted(count, 'call')} in flight;"
        " interrupt again to record the outcome as unknown now"
    )


def _plain(terminal: Terminal, count: int) -> Callable[[Result], None]:
    """One line for each change that is over, which says how far the apply is."""
    over = 0

    def show(result: Result) -> None:
        nonlocal over
        over += result.action in (*SENDS, *LOCAL)
        line = result_line(result)
        terminal.say_line(replace(line, text=f"{over} of {count}:{line.text}"))

    return show


def _can_be_live(terminal: Terminal) -> bool:
    return not terminal.is_quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _is_objects(terminal: Terminal) -> bool:
    return terminal.flags.get("log_format") == "json"


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
    if _is_objects(terminal) or not _can_be_live(terminal):
        yield lambda _over, _count: None
    else:
        with _live(terminal, "Checking", None) as move:
            yield move


@contextmanager
def _live(terminal: Terminal, title: str, count: int | None) -> Iterator[Callable[[int, int], None]]:
    """The bar has a thread of its own: a terminal that is stopped must not stop the command."""
    moves: SimpleQueue[tuple[int, int] | None] = SimpleQueue()
    colour = terminal.wants_colour(err=True)
    thread = Thread(target=_show_bar, args=(title, count, moves, colour), name="progress", daemon=True)
    thread.start()
    terminal.has_live_line = True
    try:
        yield lambda over, count: moves.put((over, count))
    finally:
        terminal.has_live_line = False
        moves.put(None)
        terminal.wait_for_reader(thread, "stderr")


def _show_bar(title: str, count: int | None, moves: SimpleQueue[tuple[int, int] | None], colour: bool) -> None:
    from rich.console import Console  # noqa: PLC0415 - only where a terminal is there to see it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True, no_color=not colour)
    # What is told meanwhile is laid out already; the console would wrap it, commands to paste too.
    live = Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
    with suppress(OSError), live as bar:
        task = bar.add_task(title, total=count)
        for over, in_all in iter(moves.get, None):
            bar.update(task, completed=over, total=in_all)
