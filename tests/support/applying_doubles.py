"""Doubles for what a driver works with: a store in memory and a caller, each with verbs for what is to go wrong."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reconciler.applying.events import Answered
from reconciler.errors import HeadMoved, StoreUnavailable, TokenError
from reconciler.model.clock import Instant
from reconciler.model.outcome import Answer, Outcome
from reconciler.state.journal.chain import head_of, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from reconciler.applying.events import Send
    from reconciler.model.address import TargetName
    from reconciler.model.record import Record
    from reconciler.state.journal.chain import Journal


def now() -> Instant:
    """The real time."""
    return Instant(time.time(), time.monotonic())


@dataclass
class MemoryStore:
    """A store whose faults are declared. `appended` is told of each append, before it is done."""

    data: dict[TargetName, bytes] = field(default_factory=dict)
    location: str = "memory"
    appended: Callable[[], None] = lambda: None
    notes: list[str] = field(default_factory=list)
    _lost_answers: int = 0
    _failures: list[Exception] = field(default_factory=list)
    _unreadable: Exception | None = None

    def declare_journal(self, journal: bytes, target: TargetName) -> None:
        self.data[target] = journal

    def declare_lost_answers(self, count: int) -> None:
        """The next appends are done, and reported as conflicts."""
        self._lost_answers = count

    def declare_failures(self, *problems: Exception) -> None:
        """The next appends fail."""
        self._failures = list(problems)

    def declare_unreadable(self, problem: Exception | None) -> None:
        """Reading fails from now on; None: no longer."""
        self._unreadable = problem

    def targets(self) -> list[TargetName]:
        return sorted(self.data)

    def where(self, target: TargetName) -> str:
        """See Journals.where."""
        return f"{self.location} {target}"

    def read(self, target: TargetName, durable: Container[str] = ()) -> bytes | None:
        if self._unreadable is not None:
            raise self._unreadable
        return self.data.get(target)

    def append(self, target: TargetName, head: str | None, seq: int, lines: bytes, note: str) -> None:
        self.appended()
        self.notes.append(note)
        if self._failures:
            raise self._failures.pop(0)
        if head_of(self.data[target].rstrip(b"\n").rpartition(b"\n")[2]) != head:
            raise HeadMoved("somebody else was first", where=target)
        assert self.data[target].count(b"\n") + 1 == seq
        self.data[target] += lines
        if self._lost_answers:
            self._lost_answers -= 1
            raise HeadMoved("somebody else was first", where=target)

    def journal(self, target: TargetName) -> Journal:
        """The journal of a target. Raises StateError."""
        data = self.read(target)
        if data is None:
            raise StoreUnavailable("there is none", where=target)
        return parse(data, target, self.location)

    def record(self, target: TargetName) -> Record:
        return self.journal(target).record()


@dataclass
class ScriptedCaller:
    """A caller that answers what it is told to, `created` where it is told nothing; it notes what was sent."""

    answers: dict[str, Answer | Exception] = field(default_factory=dict)
    no_token: Exception | None = None
    loses: bool = False
    """Whether responses cannot be kept."""
    sent: list[str] = field(default_factory=list)
    expected: list[int] = field(default_factory=list)
    """How many calls were said to be left, each time; at the end none."""
    at_once: int = 0
    _in_flight: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _held: dict[str, threading.Event] = field(default_factory=dict)
    before: Callable[[str], None] = lambda _name: None
    """Is told of each call before it asks for leave."""
    while_held: Callable[[], None] = lambda: None
    """Is called once a call hangs."""

    def declare_no_token(self, problem: Exception | None = None) -> None:
        self.no_token = problem or TokenError("HTTP 401", where="europe/staging")

    def declare_answer(self, name: str, answer: Answer | Exception) -> None:
        self.answers[name] = answer

    def hold(self, name: str) -> threading.Event:
        """Let the call of that name hang until the event that is given is set."""
        self._held[name] = threading.Event()
        return self._held[name]

    def wait_until_sent(self) -> None:
        """Wait until a call has left."""
        until = time.monotonic() + 20
        while not self.sent and time.monotonic() < until:
            time.sleep(0.005)

    def authorise(self) -> None:
        if self.no_token is not None:
            raise self.no_token

    def expect(self, calls: int, at_once: int) -> None:
        self.expected.append(calls)

    def expect_none(self) -> None:
        self.expected.append(0)

    def create(self, send: Send, may_send: Callable[[], bool]) -> Answered:
        self.before(send.address.name)
        if not may_send():
            return Answered(send.attempt, Answer(Outcome.NOT_SENT, detail="its time had passed"))
        with self._lock:
            self.sent.append(send.address.name)
            self._in_flight += 1
            self.at_once = max(self.at_once, self._in_flight)
        held = self._held.get(send.address.name)
        if held is not None:
            self.while_held()
            held.wait(20)
        time.sleep(0.005)
        with self._lock:
            self._in_flight -= 1
        answer = self.answers.get(send.address.name, Answer(Outcome.CREATED, 201))
        if isinstance(answer, Exception):
            raise answer
        return Answered(send.attempt, answer, lost=self.loses)
