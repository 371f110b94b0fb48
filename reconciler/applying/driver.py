"""Performs the effects of the protocol with threads for calls and appends, and a queue for the resulting events.

Only the thread that calls `drive` touches the state machine. The other threads are daemons: an interrupted run records
the calls in flight as unknown and does not wait for them. A separate thread appends to and reads the record, so that
hanging calls cannot delay the recording of outcomes, and a hanging store cannot keep the run from ending.
"""

from __future__ import annotations

import logging
import queue
import threading
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar, assert_never

from msgspec import Struct

from reconciler.applying.events import (
    Append,
    Appended,
    Authorise,
    Authorised,
    CallEnded,
    InterruptAsked,
    NotAppended,
    Reread,
    RereadDone,
    RereadFailed,
    Send,
    Ticked,
    Unauthorised,
)
from reconciler.errors import HeadMoved, Message, ReconcilerError, StoreUnavailable
from reconciler.model.outcome import Answer, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reconciler.applying.events import Effect, Event
    from reconciler.applying.protocol import Run
    from reconciler.model.address import TargetName
    from reconciler.model.plan import Plan
    from reconciler.record.chain import Line
    from reconciler.record.facts import AnyFact
    from reconciler.record.journal import Reading
    from reconciler.values import Instant


log = logging.getLogger("reconciler.applying")
T = TypeVar("T")

_LONGEST_WAIT = 0.25  # seconds: a signal that arrives just before a wait begins is handled after the wait
_TICK = 0.05  # seconds between checks of a flag, which takes no lock and so cannot wake a waiting thread


class Performer:
    """Performs effects in the thread of the caller. `ended` is set if the run failed; nothing more is then sent."""

    def __init__(self, ports: Ports) -> None:
        self.ended = Flag()
        self._ports = ports
        self._warned: set[Message] = set()

    def perform(self, effect: Effect) -> Event:
        """Perform an effect and return the resulting event. Raises nothing."""
        match effect:
            case Authorise(target):
                try:
                    self._ports.callers[target].authorise()
                except Exception as problem:  # noqa: BLE001 - a bug here must end the run, not hang it
                    return Unauthorised(target, message_of(problem))
                return Authorised(target)
            case Append():
                return self._append(effect)
            case Reread():
                at = self._ports.clock()
                try:
                    return RereadDone(self._ports.read(), at)
                except Exception as problem:  # noqa: BLE001 - the machine decides what follows
                    return RereadFailed(message_of(problem))
            case Send():
                return self._send(effect)
            case _:
                assert_never(effect)

    def _append(self, effect: Append) -> Event:
        ports = self._ports
        try:
            ports.reach("before-append")
            ports.extend(effect.reading, effect.head, effect.seq, effect.new, effect.summary)
            ports.reach("after-append")
        except Exception as problem:  # noqa: BLE001 - the machine decides what an append that failed means
            failed, has_moved = message_of(problem), isinstance(problem, HeadMoved)
            if not has_moved:
                self._warn(failed)
        else:
            return Appended()
        at = ports.clock()
        try:
            reading = ports.read()
            if reading.record.contains(effect.last):  # the answer was lost, perhaps before the second place was updated
                ports.catch_up(reading)
        except Exception as problem:  # noqa: BLE001 - the run continues without a reading
            unread = message_of(problem)
            self._warn(unread)
            return NotAppended(unread if has_moved else failed, at)  # the run's own append may have moved the head
        return NotAppended(failed, at, reading)

    def _send(self, send: Send) -> CallEnded:
        ports = self._ports

        def may_send() -> bool:
            ports.reach("before-send")
            ended = ports.inbox.interrupted.is_set or self.ended.is_set
            return not (ended or send.is_late(ports.clock()))

        caller = ports.callers[send.address.target]
        try:
            answer, response, lost = caller.create(send.attempt, send.codes, send.url, may_send, renew=send.renew)
            ports.reach("after-send")
        except Exception as problem:  # noqa: BLE001 - whatever it was, the call may have been sent
            return CallEnded(send.attempt, Answer(Outcome.UNKNOWN, detail=message_of(problem).what))
        return CallEnded(send.attempt, answer, response, lost)

    def _warn(self, problem: Message) -> None:
        """Log a problem. A new problem is logged as a warning, because it explains the wait that follows."""
        log.log(logging.INFO if problem in self._warned else logging.WARNING, "%s", problem)
        self._warned.add(problem)


def drive(run: Run, ports: Ports) -> None:
    """Perform effects and pass events to the run until it is finished.

    Raises nothing: an unexpected error ends the run, and everything known about its calls is kept.
    """
    performer, appender, callers = Performer(ports), _Workers(), _Workers()
    last: Event = Ticked()
    try:
        effects = run.start(ports.clock())
        if effects:
            appender.start(1)
            callers.start(run.context.limits.parallelism)
        while True:
            for effect in effects:
                workers = appender if isinstance(effect, Append | Reread) else callers
                workers.do(partial(_report, performer, effect, ports.inbox))
            ports.observe(run)
            if run.finished:
                return
            last = _next_event(ports, run.wake_at)
            effects = run.handle(last, ports.clock())
    except Exception as problem:  # noqa: BLE001 - what was answered already must not be lost
        performer.ended.set()
        answers = _last_answers(run, last, ports)
        run.salvage(answers, message_of(problem).what, ports.clock())
    finally:
        appender.stop()
        callers.stop()


def unless_interrupted(job: Callable[[], T], interrupted: Flag, patience: float) -> T:
    """Run `job` in a thread, and return its result. After an interrupt, wait at most `patience` more seconds.

    Raises what `job` raises, and StoreUnavailable if the wait ends first; the result is then ignored.
    """
    outcome: list[T | BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            outcome.append(job())
        except BaseException as problem:  # noqa: BLE001 - raised again by the thread that waits
            outcome.append(problem)
        done.set()

    threading.Thread(target=work, daemon=True).start()
    while not done.wait(_TICK):
        if interrupted.is_set:
            if patience <= 0:
                raise StoreUnavailable(Message("interrupted", "interrupted while reading the record"))
            patience -= _TICK
    [result] = outcome
    if isinstance(result, BaseException):
        raise result
    return result


def message_of(problem: Exception) -> Message:
    """Return the message of an error.

    The message of an unexpected error names only its class, because its text may contain secrets.
    """
    if isinstance(problem, ReconcilerError):
        return problem.messages[0]
    log.debug("unexpected", exc_info=problem)
    return Message("internal-error", f"internal error ({type(problem).__name__})")


def _report(performer: Performer, effect: Effect, inbox: Inbox) -> None:
    inbox.events.put(performer.perform(effect))


def _next_event(ports: Ports, wake_at: float | None) -> Event:
    """Return the next event, or Ticked if no event arrives before `wake_at` or within the longest wait."""
    wait = _LONGEST_WAIT if wake_at is None else wake_at - ports.clock().steady
    try:
        return ports.inbox.events.get(timeout=min(max(0.0, wait), _LONGEST_WAIT))
    except queue.Empty:
        return Ticked()


def _last_answers(run: Run, last: Event, ports: Ports) -> list[CallEnded]:
    """Wait for answers to the calls in flight, and return them with `last`, the event whose handling failed."""
    deadline = ports.clock().steady + run.context.limits.call_grace
    answers = [last] if isinstance(last, CallEnded) else []
    awaited = set(run.in_flight) - {answer.attempt for answer in answers}
    while awaited and ports.clock().steady < deadline and not ports.inbox.interrupted.is_set:
        event = _next_event(ports, deadline)
        if isinstance(event, CallEnded):
            answers.append(event)
            awaited.discard(event.attempt)
    return answers


class _Workers:
    """A few daemon threads that run jobs in order of arrival."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._size = 0

    def start(self, size: int) -> None:
        """Start `size` threads. Raises RuntimeError if the system cannot start one."""
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


class Flag:
    """A flag that is set once and never cleared.

    Signal handlers may set it: unlike threading.Event, it takes no lock.
    """

    def __init__(self) -> None:
        self.is_set = False

    def set(self) -> None:
        """Set the flag."""
        self.is_set = True


class Inbox:
    """The events of a run. A signal handler may call `interrupt`."""

    def __init__(self) -> None:
        self.interrupted = Flag()
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def interrupt(self) -> None:
        """Ask the run to end; a second call asks it to end at once."""
        self.interrupted.set()
        self.events.put(InterruptAsked())


class Caller(Protocol):
    """Makes the calls of one target."""

    def authorise(self) -> None:
        """Get a token. Raises ReconcilerError if no token is available."""
        ...

    def create(
        self, attempt: str, codes: Sequence[str], url: str, may_send: Callable[[], bool], *, renew: bool
    ) -> tuple[Answer, str | None, bool]:
        """Make a create call and save its response.

        `may_send` is called as late as possible; if it returns false, the call is not sent. With `renew`, a refused
        token is replaced by a new token. Returns the answer, the place of the saved response or None, and True if the
        response could not be saved.
        """
        ...


class Ports(Struct, frozen=True):
    """The functions through which a run accesses the outside world.

    - `read`, `extend` and `catch_up` are methods of `Journal`.
    - `replan` makes a plan for the approved selection from a reading; it does no I/O and raises ReconcilerError.
    - `callers` maps each target with creates to the caller that makes its calls.
    - `save` writes facts to a recovery file, and returns a message that names the file and the reason why the facts
      could not be appended; it raises nothing.
    - `clock` returns the current time, `new_id` 32 random hexadecimal digits, and `jitter` a number from 0 to 1.
    - `pause` waits for a number of seconds.
    - `observe` receives the run after each event, to show its progress.
    - `reach` is called at every durable step, for tests.
    - `by` says who applies, and `account` returns the hash of a target's client id, or "" if none is set.
    - `patience` is the number of seconds for which the run waits for creates of other runs to end.
    """

    read: Callable[[], Reading]
    extend: Callable[[Reading, str, int, tuple[bytes, tuple[Line, ...]], str], None]
    catch_up: Callable[[Reading], None]
    replan: Callable[[Reading], Plan]
    callers: Mapping[TargetName, Caller]
    save: Callable[[Sequence[AnyFact], str], Message]
    clock: Callable[[], Instant]
    new_id: Callable[[], str]
    jitter: Callable[[], float]
    pause: Callable[[float], object]
    observe: Callable[[Run], None]
    reach: Callable[[str], None]
    by: Mapping[str, str]
    account: Callable[[TargetName], str]
    inbox: Inbox
    patience: float
