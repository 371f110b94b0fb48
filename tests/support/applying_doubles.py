"""Doubles for a whole apply with its threads: a caller with verbs for what is to go wrong, and ports over a journal."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from reconciler.applying.driver import Inbox, Ports
from reconciler.errors import Message
from reconciler.model.desired import Desired
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.plan import Plan
from reconciler.record.facts import AnyFact
from reconciler.record.journal import Reading
from reconciler.values import Instant
from support.desired_values import plan_for, ports_of
from support.memory_record import MemoryNotes, MemoryStore, journal_of, record_of


def now() -> Instant:
    """Return the real time."""
    return Instant(time.time(), time.monotonic())


class ScriptedCaller:
    """A caller that answers what it is told to, `created` where it is told nothing; it notes what was sent."""

    def __init__(self, takes: float = 0.0) -> None:
        self.answers: dict[str, Answer | Exception] = {}
        self.loses = False
        self.sent: list[str] = []
        self.at_once = 0
        self.on_send: Callable[[str], None] = lambda url: None
        self._takes = takes
        self._in_flight = 0
        self._lock = threading.Lock()

    def declare_answer(self, name: str, answer: Answer | Exception) -> None:
        """Creates at a URL that ends so are answered so."""
        self.answers[name] = answer

    def authorise(self) -> None:
        """There is a token."""

    def create(
        self, attempt: str, codes: Sequence[str], url: str, may_send: Callable[[], bool], *, renew: bool
    ) -> tuple[Answer, str | None, bool]:
        if not may_send():
            return Answer(Outcome.NOT_SENT, detail="its time had passed"), None, False
        with self._lock:
            self.sent.append(url)
            self._in_flight += 1
            self.at_once = max(self.at_once, self._in_flight)
        self.on_send(url)
        if self._takes:
            time.sleep(self._takes)
        with self._lock:
            self._in_flight -= 1
        answer = self.answers.get(url.rpartition("/")[2], Answer(Outcome.CREATED, 201))
        if isinstance(answer, Exception):
            raise answer
        return answer, "file:x", self.loses


class Apply:
    """One apply of what is desired on a record in memory; `saved` is what went to a recovery file."""

    def __init__(self, desired: Desired, *facts: AnyFact, takes: float = 0.0) -> None:
        self.desired = desired
        self.store = MemoryStore(record_of(*facts))
        self.journal = journal_of(self.store, MemoryNotes(), desired.services)
        self.caller = ScriptedCaller(takes)
        self.saved: list[AnyFact] = []
        self.reached: list[str] = []
        self.inbox = Inbox()
        self.reading = self.journal.read()
        self.ports = ports_of(
            self.journal, self.replan, self._save, callers=dict.fromkeys(desired.targets, self.caller), clock=now,
            new_id=lambda: os.urandom(16).hex(), pause=lambda seconds: time.sleep(0.01), reach=self.reached.append,
            inbox=self.inbox, patience=0.1,
        )  # fmt: skip

    @property
    def plan(self) -> Plan:
        """The plan on the record as it was read."""
        return self.replan(self.reading)

    def replan(self, reading: Reading) -> Plan:
        """Plan on a record as it was read."""
        return plan_for(self.desired, reading, time.time())

    def with_ports(self, **ports: object) -> Ports:
        """Return the ports, with some of them replaced."""
        return replace(self.ports, **ports)

    def _save(self, facts: Sequence[AnyFact], reason: str) -> Message:
        self.saved += facts
        return Message("outcomes-saved", f"saved: {reason}")
