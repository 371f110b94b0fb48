"""Checks that wait for servers, made by a bounded number of threads."""

from collections.abc import Callable, Iterable
from queue import SimpleQueue
from threading import Thread
from typing import NamedTuple

from reconciler.model.result import Finding

_AT_ONCE = 16


class Checked(NamedTuple):
    """What a job found, and the jobs that follow from it."""

    findings: Iterable[Finding]
    jobs: Iterable["Job"] = ()


Job = Callable[[], Checked]


class Jobs:
    """Does jobs in daemon threads: a signal ends the program at once, whatever they wait for.

    `observe` is called in the thread that calls `findings`, with how many jobs are over and how many there are.
    """

    def __init__(self, observe: Callable[[int, int], None]) -> None:
        self._observe = observe
        self._waiting: SimpleQueue[Job] = SimpleQueue()
        self._over: SimpleQueue[Checked | Exception] = SimpleQueue()
        self._count = 0

    def add(self, job: Job) -> None:
        """Do `job`, which raises nothing, as soon as a thread is free."""
        if self._count < _AT_ONCE:
            Thread(target=self._work, name="check", daemon=True).start()
        self._count += 1
        self._waiting.put(job)

    def findings(self) -> list[Finding]:
        """What all jobs find, and those that follow from them."""
        findings, over = list[Finding](), 0
        while over < self._count:
            checked = self._over.get()
            if isinstance(checked, Exception):
                raise checked
            findings += checked.findings
            for job in checked.jobs:
                self.add(job)
            over += 1
            self._observe(over, self._count)
        return findings

    def _work(self) -> None:
        while True:
            job = self._waiting.get()
            try:
                self._over.put(job())
            except Exception as problem:  # noqa: BLE001 - a defect, raised again where it is reported
                self._over.put(problem)
