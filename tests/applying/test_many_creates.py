"""What a run does for one create does not depend on how many others are to come, or are over."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from support.applying_bench import CREATED, Bench, wanting

from reconciler.cli.terminal.progress import progress
from reconciler.cli.terminal.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from reconciler.model.plan import Plan

NAMES = "abcdefgh"


class Visited:
    """Counts the items that are visited of what it is mixed into."""

    visited = 0

    def _visit(self, items: Iterator[Any]) -> Iterator[Any]:
        for item in items:
            self.visited += 1
            yield item


class Queue(deque[Any], Visited):
    """A queue that counts what is visited in it, but not what is taken from its ends."""

    def __iter__(self) -> Iterator[Any]:
        return self._visit(super().__iter__())


class Results(dict[Any, Any], Visited):
    """Results that count the values that are visited."""

    def values(self) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        return self._visit(iter(super().values()))

    def __reversed__(self) -> Iterator[Any]:
        return self._visit(reversed(super().values()))


def test_creates_to_come_are_not_visited() -> None:
    """Only whoever waits for them needs to know which there are: a local change."""
    bench = Bench(wanting(*NAMES))
    bench.run.work.sends = queue = Queue()
    bench.start()
    bench.create_all()
    assert (len(NAMES), 0) == (len(bench.run.results), queue.visited)


def test_results_are_visited_once(capfd: pytest.CaptureFixture[str]) -> None:
    """To tell a result, those told before are not gone through."""
    bench = Bench(wanting(*NAMES))
    bench.run.work.results = results = Results()
    plan = cast("Plan", SimpleNamespace(changes=bench.run.changes))
    with progress(Terminal({"verbose": 1}), plan) as observe:
        bench.start()
        while not bench.run.finished:
            observe(bench.run)
            if bench.sends:
                bench.answer(CREATED)
            else:
                bench.append()
        observe(bench.run)
    lines = capfd.readouterr().err.splitlines()
    assert [f"{number} of 8:  + europe/staging/{name}" for number, name in enumerate(NAMES, 1)] == [
        line.partition("  created")[0] for line in lines
    ]
    assert len(NAMES) == results.visited
