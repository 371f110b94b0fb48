"""Performs the effects of the protocol: threads for calls and appends, one queue for what they come to.

The machine is only ever touched by the thread that calls `drive`. The other threads are daemons: an interrupted run has
recorded what is in flight as unknown, and does not wait for it any longer. Appends and reads of the record have a
thread of their own, so that calls that hang cannot keep their own outcomes from being recorded, and a store that hangs
cannot keep the run from ending.
"""

from __future__ import annotations

import logging
import queue
import threading
from functools import partial
from typing import TYPE_CHECKING, Protocol, assert_never

from reconciler.applying.events import (
    Answered,
    Append,
    Appended,
    AppendFailed,
    Authorise,
    Authorised,
    Event,
    InterruptAsked,
    Look,
    Looked,
    LookFailed,
    Moved,
    Send,
    Siblings,
    Ticked,
    Unauthorised,
)
from reconciler.errors import HeadMoved, ReconcilerError, RecordMissing
from reconciler.model.outcome import Answer, Outcome
from reconciler.state.journal.chain import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.applying.events import Effect
    from reconciler.applying.protocol import TargetRun
    from reconciler.model.address import TargetName
    from reconciler.model.clock import Instant
    from reconciler.state.journal.chain import Journal
    from reconciler.state.stores.store import Store

log = logging.getLogger("reconciler.applying")

_LONGEST_WAIT = 0.25  # seconds: a signal that comes just before a wait begins is handled only once it ends


class Caller(Protocol):
    """Makes the calls of one target."""

    def authorise(self) -> None:
        """Have a token at hand. Raises ReconcilerError where none is to be had."""
        ...

    def create(self, send: Send, may_send: Callable[[], bool]) -> Answered:
        """Make one create call and keep its response. `may_send` is asked as late as possible, before every call."""
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
    """Where a run hears what its effects came to, and of interrupts: a signal handler may call `interrupt`."""

    def __init__(self) -> None:
        self.interrupted = Flag()
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def interrupt(self) -> None:
        self.interrupted.set()
        self._events.put(InterruptAsked())

    def open(self) -> queue.SimpleQueue[Event]:
        """An empty queue for the next run: what the one before it still had in flight must not reach this one."""
        self._events = queue.SimpleQueue()
        if self.interrupted.is_set() and self._events.empty():
            self._events.put(InterruptAsked())
        return self._events


class Driver:
    """Drives one target's run of the protocol to its end. `siblings` reads the records that count beside its own."""

    def __init__(
        self,
        target: TargetName,
        store: Store,
        caller: Caller | None,
        clock: Callable[[], Instant],
        inbox: Inbox,
        reach: Callable[[str], None],
        siblings: Callable[[], Siblings] = Siblings,
    ) -> None:
        self._target = target
        self._store = store
        self._caller = caller
        self._clock = clock
        self._interrupted = inbox.interrupted
        self._interrupted_by_error = Flag()
        self._heard: Event = Ticked()
        self._events = inbox.open()
        self._reach = reach
        self._siblings = siblings

    def drive(self, run: TargetRun, observe: Callable[[TargetRun], None]) -> None:
        """Perform effects and pass on events until the run is finished; `observe` is told after each event.

        Raises nothing: an error that nobody expected ends the run, and leaves it with all that is known of its calls.
        """
        clerk, callers = _Crew(), _Crew()
        try:
            clerk.hire(1)
            callers.hire(run.terms.limits.parallelism)
            self._carry_on(run, observe, clerk, callers)
        except Exception as problem:  # noqa: BLE001 - what was answered already must not be lost
            self._interrupted_by_error.set()
            run.salvage(self._last_answers(run), told(problem), self._clock())
        finally:
            clerk.dismiss()
            callers.dismiss()

    def _carry_on(self, run: TargetRun, observe: Callable[[TargetRun], None], clerk: _Crew, callers: _Crew) -> None:
        effects = run.start(self._clock())
        while True:
            for effect in effects:
                crew = clerk if isinstance(effect, Append | Look) else callers
                crew.do(partial(self._perform, effect))
            observe(run)
            if run.finished:
                return
            self._heard = self._next_event(run.wake_at)
            effects = run.handle(self._heard, self._clock())

    def _last_answers(self, run: TargetRun) -> list[Answered]:
        """What is still heard of the calls in flight, with the event that was not handled to its end."""
        until = self._clock().steady + run.terms.limits.grace
        answers = [self._heard] if isinstance(self._heard, Answered) else []
        awaited = run.in_flight - {answered.attempt for answered in answers}
        while awaited and self._clock().steady < until and not self._interrupted.is_set():
            event = self._next_event(until)
            if isinstance(event, Answered):
                answers.append(event)
                awaited.discard(event.attempt)
        return answers

    def _next_event(self, wake_at: float | None) -> Event:
        """What happens next; Ticked if nothing does until `wake_at`, or for a moment."""
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
            case Look():
                event = self._look()
            case Send():
                event = self._send(effect)
            case _:
                assert_never(effect)
        self._events.put(event)

    def _authorise(self) -> Event:
        if self._caller is None:
            return Unauthorised("there are no credentials for this target")
        try:
            self._caller.authorise()
        except Exception as problem:  # noqa: BLE001 - a bug here must end the run, not hang it
            return Unauthorised(told(problem))
        return Authorised()

    def _append(self, effect: Append) -> Event:
        try:
            self._reach("before-append")
            self._store.append(self._target, effect.head, effect.lines, effect.note)
            self._reach("after-append")
        except Exception as problem:  # noqa: BLE001 - the machine decides what an append that failed means
            return self._report(problem)
        return Appended()

    def _report(self, problem: Exception) -> Event:
        """What an append came to that did not go well, with all that it takes to plan again."""
        if not isinstance(problem, HeadMoved):
            log.warning("%s", told(problem))  # now: it is tried again for a while, and whoever waits should know why
        try:
            siblings, journal = self._siblings(), self._read()
        except Exception as unreadable:  # noqa: BLE001 - the run goes on without
            log.warning("%s", told(unreadable))
            return AppendFailed(told(problem))
        if isinstance(problem, HeadMoved):
            return Moved(journal, siblings)
        return AppendFailed(told(problem), journal, siblings)

    def _look(self) -> Event:
        try:
            siblings = self._siblings()
            at = self._clock()
            return Looked(self._read(), at, siblings)
        except Exception as problem:  # noqa: BLE001 - the machine decides what follows
            return LookFailed(told(problem))

    def _read(self) -> Journal:
        """The journal as it is now. Raises StateError where there is none to be read."""
        data = self._store.read(self._target)
        if data is None:
            raise RecordMissing("the record is gone", where=self._target)
        return parse(data, self._target, self._store.location)

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
            return Answered(send.attempt, Answer(Outcome.UNKNOWN, detail=told(problem)))
        return answered


def told(problem: Exception) -> str:
    """What an error says; of one that nobody expected only its name, since its text may hold anything."""
    if isinstance(problem, ReconcilerError):
        return str(problem)
    log.debug("unexpected", exc_info=problem)
    return f"internal error ({type(problem).__name__})"


class _Crew:
    """A few daemon threads that do jobs in the order they come."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._size = 0

    def hire(self, size: int) -> None:
        """Start so many threads. Raises RuntimeError where the system gives none."""
        for _ in range(size):
            threading.Thread(target=self._work, daemon=True).start()
            self._size += 1

    def do(self, job: Callable[[], None]) -> None:
        self._jobs.put(job)

    def dismiss(self) -> None:
        for _ in range(self._size):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
