"""Performs the effects of the protocol: threads for calls and appends, one queue for the events they lead to.

Only the thread that calls `drive` touches the state machine. The other threads are daemons: an interrupted run has
recorded what is in flight as unknown, and no longer waits for it. Appends and reads of the record have a thread of
their own, so that calls that hang cannot keep outcomes from being recorded, and a store that hangs cannot keep the run
from ending.
"""

import logging
import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import Protocol, assert_never

from reconciler.applying.events import (
    Answered,
    Append,
    Appended,
    AppendFailed,
    Authorise,
    Authorised,
    Conflict,
    Effect,
    Event,
    InterruptAsked,
    Reread,
    RereadDone,
    RereadFailed,
    Send,
    ServiceRecords,
    Ticked,
    Unauthorised,
)
from reconciler.applying.failed_appends import FailedAppends
from reconciler.applying.protocol import TargetRun
from reconciler.applying.writing import not_repeated
from reconciler.errors import HeadMoved, ReconcilerError, RecordMissing
from reconciler.model.address import TargetName
from reconciler.model.clock import Instant
from reconciler.model.outcome import Answer, Outcome
from reconciler.state.heads.tracking import load_journal
from reconciler.state.journal.chain import Journal
from reconciler.state.stores.store import Journals

log = logging.getLogger("reconciler.applying")

_LONGEST_WAIT = 0.25  # seconds: a signal that comes just before a wait begins is handled after the wait


class Caller(Protocol):
    """Makes the calls of one target."""

    def authorise(self) -> None:
        """Get a token. Raises ReconcilerError if none is available."""
        ...

    def expect(self, calls: int, at_once: int) -> None:
        """So many calls are left, `at_once` in flight at most: prepare for the next of them. Raises nothing."""
        ...

    def expect_none(self) -> None:
        """The last call was made: undo what is still prepared. Raises nothing."""
        ...

    def create(self, send: Send, may_send: Callable[[], bool]) -> Answered:
        """Make one create call and save its response. `may_send` is asked as late as possible, before every call."""
        ...


class Flag:
    """Raised once and never lowered. Unlike a threading.Event it takes no lock, so a signal handler may raise it."""

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        self._is_set = True

    def is_set(self) -> bool:
        return self._is_set


class Inbox:
    """The events for a run, and interrupts: a signal handler may call `interrupt`."""

    def __init__(self) -> None:
        self.interrupted = Flag()
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def interrupt(self) -> None:
        self.interrupted.set()
        self._events.put(InterruptAsked())

    def open(self) -> queue.SimpleQueue[Event]:
        """An empty queue for the next run: what the previous one still had in flight must not reach this one."""
        self._events = queue.SimpleQueue()
        if self.interrupted.is_set() and self._events.empty():
            self._events.put(InterruptAsked())
        return self._events


class Driver:
    """Drives one target's run of the protocol; `read_same_service` reads the other records of its service."""

    def __init__(
        self,
        target: TargetName,
        store: Journals,
        caller: Caller | None,
        clock: Callable[[], Instant],
        inbox: Inbox,
        reach: Callable[[str], None],
        read_same_service: Callable[[], ServiceRecords] = ServiceRecords,
    ) -> None:
        self._target = target
        self._store = store
        self._caller = caller
        self._clock = clock
        self._interrupted = inbox.interrupted
        self._interrupted_by_error = Flag()
        self._last_event: Event = Ticked()
        self._events = inbox.open()
        self._expected = 0
        self._failed = FailedAppends(target)
        self._reach = reach
        self._read_same_service = read_same_service

    def drive(self, run: TargetRun, observe: Callable[[TargetRun], None]) -> None:
        """Perform effects and pass on events until the run is finished; `observe` is called after each event.

        Raises nothing: an unexpected error ends the run, with all that is known of its calls.
        """
        appender, callers = _Workers(), _Workers()
        try:
            appender.start(1)
            callers.start(run.context.limits.parallelism)
            self._handle_events(run, observe, appender, callers)
        except Exception as problem:  # noqa: BLE001 - what was answered already must not be lost
            self._interrupted_by_error.set()
            run.salvage(self._last_answers(run), describe(problem), self._clock())
        finally:
            appender.stop()
            callers.stop()
            self._failed.end()
            if self._caller is not None:
                self._caller.expect_none()

    def _handle_events(
        self, run: TargetRun, observe: Callable[[TargetRun], None], appender: "_Workers", callers: "_Workers"
    ) -> None:
        effects = run.start(self._clock())
        while True:
            for effect in effects:
                workers = appender if isinstance(effect, Append | Reread) else callers
                workers.do(partial(self._perform, effect))
            self._expect(run)
            observe(run)
            if run.finished:
                return
            self._last_event = self._next_event(run.wake_at)
            effects = run.handle(self._last_event, self._clock())

    def _expect(self, run: TargetRun) -> None:
        """Tell the caller how many calls are left, if that has changed."""
        left = run.calls_left
        if self._caller is not None and left != self._expected:
            self._expected = left
            self._caller.expect(left, run.context.limits.parallelism)

    def _last_answers(self, run: TargetRun) -> list[Answered]:
        """The answers to calls in flight that still come, with the event whose handling failed."""
        until = self._clock().steady + run.context.limits.grace
        answers = [self._last_event] if isinstance(self._last_event, Answered) else []
        awaited = run.in_flight - {answered.attempt for answered in answers}
        while awaited and self._clock().steady < until and not self._interrupted.is_set():
            event = self._next_event(until)
            if isinstance(event, Answered):
                answers.append(event)
                awaited.discard(event.attempt)
        return answers

    def _next_event(self, wake_at: float | None) -> Event:
        """The next event; Ticked if none comes until `wake_at`, or for a moment."""
        wait = _LONGEST_WAIT if wake_at is None else wake_at - self._clock().steady
        try:
            return self._events.get(timeout=min(max(0.0, wait), _LONGEST_WAIT))
        except queue.Empty:
            return Ticked()

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Authorise():
                event = self._authorise()
            case Append():
                event = self._append(effect)
            case Reread():
                event = self._look()
            case Send():
                event = self._send(effect)
            case _:
                assert_never(effect)
        self._events.put(event)

    def _authorise(self) -> Event:
        if self._caller is None:
            return Unauthorised("no credentials for this target")
        try:
            self._caller.authorise()
        except Exception as problem:  # noqa: BLE001 - a bug here must end the run, not hang it
            return Unauthorised(describe(problem))
        return Authorised()

    def _append(self, effect: Append) -> Event:
        try:
            self._reach("before-append")
            self._store.append(self._target, effect.head, effect.seq, effect.lines, effect.note)
            self._reach("after-append")
        except Exception as problem:  # noqa: BLE001 - the machine decides what an append that failed means
            return self._report(problem)
        return Appended()

    def _report(self, problem: Exception) -> Event:
        """The event for an append that failed, with all that it takes to plan again."""
        detail = not_repeated(describe(problem))
        if not isinstance(problem, HeadMoved):
            self._failed.add(detail)
        try:
            same_service, journal = self._read_same_service(), self._read()
        except Exception as unreadable:  # noqa: BLE001 - the run goes on without
            self._failed.warn(not_repeated(describe(unreadable)))
            return AppendFailed(detail)
        if isinstance(problem, HeadMoved):
            return Conflict(journal, same_service)
        return AppendFailed(detail, journal, same_service)

    def _look(self) -> Event:
        try:
            same_service = self._read_same_service()
            at = self._clock()
            return RereadDone(self._read(), at, same_service)
        except Exception as problem:  # noqa: BLE001 - the machine decides what follows
            return RereadFailed(describe(problem))

    def _read(self) -> Journal:
        """The journal as it is now. Raises StateError if it cannot be read."""
        journal = load_journal(self._store, self._target)
        if journal is None:
            raise RecordMissing("the state record is missing", where=self._target)
        return journal

    def _send(self, send: Send) -> Event:
        assert self._caller is not None  # noqa: S101 - without a caller nothing is authorised, and so nothing sent

        def may_send() -> bool:
            self._reach("before-send")
            ended = self._interrupted.is_set() or self._interrupted_by_error.is_set()
            return not (ended or send.is_late(self._clock()))

        try:
            answered = self._caller.create(send, may_send)
            self._reach("after-send")
        except Exception as problem:  # noqa: BLE001 - whatever it was, the call may have been sent
            return Answered(send.attempt, Answer(Outcome.UNKNOWN, detail=describe(problem)))
        return answered


def describe(problem: Exception) -> str:
    """The text of an error; of an unexpected one only its name, since its text may hold anything."""
    if isinstance(problem, ReconcilerError):
        return str(problem)
    log.debug("unexpected", exc_info=problem)
    return f"internal error ({type(problem).__name__})"


class _Workers:
    """A few daemon threads that do jobs in the order they come."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._size = 0

    def start(self, size: int) -> None:
        """Start so many threads. Raises RuntimeError if the system gives none."""
        for _ in range(size):
            threading.Thread(target=self._work, daemon=True).start()
            self._size += 1

    def do(self, job: Callable[[], None]) -> None:
        self._jobs.put(job)

    def stop(self) -> None:
        for _ in range(self._size):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
