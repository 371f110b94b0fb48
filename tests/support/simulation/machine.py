"""A machine that applies: the protocol and the performer of production, without threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from reconciler.applying.driver import Inbox, Performer
from reconciler.applying.events import Append, Effect, Event, InterruptAsked, Limits, Reread, Ticked
from reconciler.applying.execution import begin, conclude
from reconciler.applying.protocol import Run
from reconciler.errors import Message, ReconcilerError, TokenError
from reconciler.model.desired import Desired
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.plan import SENDS, Applied, Done, Plan, Verdict
from reconciler.record.facts import Answered, AnyFact, Intended
from reconciler.record.journal import Reading
from reconciler.values import Instant
from support.desired_values import plan_for, ports_of
from support.memory_record import MemoryNotes, journal_of
from support.simulation.world import WALL, Promise, Violation, World

LIMITS = Limits(parallelism=3)
_CLOCKS = 13.0  # seconds that a clock may be set by while a call waits


class Killed(BaseException):
    """The process was killed."""


class Machine:
    """A machine with clocks and notes of its own. It applies so many times, one process after the other."""

    def __init__(self, world: World, name: str, applies: int, desired: Callable[[], Desired]) -> None:
        self.world = world
        self.name = name
        self.notes = MemoryNotes()
        self.desired = desired
        self.journal = journal_of(world.store, self.notes, desired().services)
        self.process: Process | None = None
        self.wall_off = world.rng.uniform(-3.0, 3.0)
        self.steady_off = 0.0
        self._left = applies

    @property
    def now(self) -> Instant:
        return Instant(WALL + self.world.now + self.wall_off, 1_000.0 + self.world.now + self.steady_off)

    def apply(self) -> None:
        """Begin an apply, if there is one left."""
        self._left -= 1
        if self._left >= 0:
            self.process = Process(self)
            self.process.begin()

    def ended(self) -> None:
        """The process has ended: the next apply follows some time later."""
        self.process = None
        if self._left > 0:
            self.world.later(self.world.rng.choice((0.5, 5.0, 120.0)), self.apply)


class Process:
    """One apply. `dead`: it was killed, and nothing of it happens any more; `paused_until`: its events wait."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.world = machine.world
        self.desired = machine.desired()
        self.dead = False
        self.paused_until = 0.0
        self.inbox = Inbox()
        self.run: Run | None = None
        self._started = self.world.now
        self._appender_free = 0.0
        self._concluding = False
        self._ports = ports_of(
            machine.journal, self._replan, self._save, extend=self._extend, pause=self._pause, reach=self._reach,
            callers={target: SimCaller(self) for target in self.desired.targets}, clock=lambda: machine.now,
            new_id=self.world.new_id, jitter=self.world.rng.random, by={"host": machine.name}, inbox=self.inbox,
            patience=3.0,
        )  # fmt: skip
        self._performer = Performer(self._ports)

    def begin(self) -> None:
        """Plan, and begin to apply after a while."""
        try:
            reading = self.machine.journal.read()
            plan = self._replan(reading)
        except ReconcilerError:
            self._end()
            return
        wait = self.world.rng.choice((0.0, 0.0, 0.5, 20.0))
        self.world.later(wait, self._alive(lambda: self._start(plan, reading)))

    def interrupt(self) -> None:
        """A signal arrives."""
        self.world.tell(f"{self.machine.name} is interrupted")
        self.inbox.interrupted.set()
        if self.run is not None and not self._concluding:
            self._handle(InterruptAsked())

    def kill(self) -> None:
        """Nothing of it happens any more."""
        self.world.tell(f"{self.machine.name} is killed")
        self._end()

    def _start(self, plan: Plan, reading: Reading) -> None:
        try:
            self.run = begin(plan, reading, self._ports, LIMITS)
        except ReconcilerError:
            self._end()
            return
        self._go_on(self.run.start(self.machine.now))

    def _handle(self, event: Event) -> None:
        assert self.run is not None
        if self.run.finished:
            return
        self._go_on(self.run.handle(event, self.machine.now))

    def _go_on(self, effects: list[Effect]) -> None:
        run = self.run
        assert run is not None
        if self.world.now - self._started > 5_000:
            raise Violation(Promise.AT_REST, f"a run of {self.machine.name} does not end")
        for effect in effects:
            self._schedule(effect)
        if run.finished:
            self._concluding = True
            self.world.later(0.0, self._alive(self._conclude))
        elif run.wake_at is not None:
            wait = run.wake_at - self.machine.now.steady
            self.world.later(max(wait, 0.0), self._alive(self._tick))

    def _tick(self) -> None:
        run = self.run
        if run is not None and not run.finished and run.wake_at is not None:
            wait = run.wake_at - self.machine.now.steady
            if wait <= 1e-9:
                self._handle(Ticked())
            else:
                self.world.later(wait, self._alive(self._tick))

    def _schedule(self, effect: Effect) -> None:
        rng, world = self.world.rng, self.world
        delay = rng.uniform(0.0, 0.05) + (rng.choice((2.0, 12.0, 70.0)) if world.happens("slow") else 0.0)
        if isinstance(effect, Append | Reread):
            self._appender_free = at = max(self._appender_free, world.now) + delay
            delay = at - world.now

        def perform() -> None:
            try:
                event = self._performer.perform(effect)
            except Killed:
                self.kill()
                return
            back = rng.uniform(0.0, LIMITS.call_timeout if world.happens("slow") else 0.1)
            world.later(back, self._alive(lambda: self._handle(event)))

        world.later(delay, self._alive(perform))

    def _alive(self, action: Callable[[], None]) -> Callable[[], None]:
        """Return an action that happens only while the process lives, and not while it is paused."""

        def act() -> None:
            if self.dead:
                return
            if self.paused_until > self.world.now:
                self.world.later(self.paused_until - self.world.now, act)
            else:
                action()

        return act

    def _conclude(self) -> None:
        assert self.run is not None
        try:
            applied = conclude(self.run, self._ports)
        except Killed:
            self.kill()
            return
        self.world.tell(f"{self.machine.name} ends with {applied.verdict}")
        self._check(applied)
        self._end()

    def _end(self) -> None:
        self.dead = True
        self.machine.ended()

    def _replan(self, reading: Reading) -> Plan:
        return plan_for(self.desired, reading, self.machine.now.wall)

    def _save(self, facts: Sequence[AnyFact], reason: str) -> Message:
        self.world.saved += [fact for fact in facts if isinstance(fact, Intended | Answered)]
        return Message("saved", f"saved: {reason}")

    def _pause(self, seconds: float) -> None:
        self.world.pause(seconds)
        if self.dead:
            raise Killed

    def _reach(self, point: str) -> None:
        if self.world.happens("kill_step"):
            self.world.tell(f"{self.machine.name} is killed {point}")
            raise Killed

    def _extend(self, reading: Reading, head: str, seq: int, new: Any, summary: str) -> None:
        for line in new[1]:
            if isinstance(line.fact, Intended):
                self.world.intents[line.fact.attempt] = line.fact
        if self.run is not None and not self._concluding:
            self._check_few_open(new)
        self.machine.journal.extend(reading, head, seq, new, summary)

    def _check_few_open(self, new: Any) -> None:
        """Raise Violation if the run has more intents open than calls may be in flight, with what it appends now."""
        assert self.run is not None
        settled = {line.fact.attempt for line in new[1] if isinstance(line.fact, Answered)}
        intended = {line.fact.attempt for line in new[1] if isinstance(line.fact, Intended)}
        calls = set(self.run.creates._calls)
        if len((calls | intended) - settled) > LIMITS.parallelism:
            raise Violation(Promise.FEW_OPEN, f"{self.machine.name} has {calls | intended} open")

    def _check(self, applied: Applied) -> None:
        """Raise Violation if the results are not so."""
        created = self.world.created
        for result in applied.results:
            exists = result.attempt in created
            if result.outcome is Done.CREATED and not exists:
                raise Violation(Promise.TRUTHFUL, f"{result} does not exist")
            if result.outcome in (Done.REJECTED, Done.NOT_SENT) and exists:
                raise Violation(Promise.TRUTHFUL, f"{result} exists")
            if result.attempt is not None and not self._is_kept(result.attempt):
                raise Violation(Promise.SAVED, f"{result}")
        plan_addresses = {(change.address, change.action) for change in self.run.changes} if self.run else set()
        if plan_addresses != {(result.address, result.action) for result in applied.results}:
            raise Violation(Promise.TRUTHFUL, "not every change has a result")
        outcomes = Counter(result.outcome for result in applied.results)
        bad = outcomes[Done.REJECTED] + outcomes[Done.NOT_SENT]
        if applied.verdict is Verdict.DONE and (bad or outcomes[Done.UNKNOWN] or applied.unresolved):
            raise Violation(Promise.TRUTHFUL, f"not all is well: {applied.results}")
        if applied.verdict is not Verdict.UNRESOLVED and (outcomes[Done.UNKNOWN] or applied.unresolved):
            raise Violation(Promise.TRUTHFUL, f"there are unresolved ones: {applied.results}")
        if applied.verdict is Verdict.DONE and applied.left is not None:
            ours = {result.address for result in applied.results if result.outcome is Done.SKIPPED}
            left = [change for change in applied.left.changes if change.action in SENDS and change.address in ours]
            if left:
                raise Violation(Promise.TRUTHFUL, f"left to do: {left}")

    def _is_kept(self, attempt: str) -> bool:
        """True if the outcome of an attempt was recorded, or saved together with its intent."""
        kept = {type(fact) for fact in self.world.saved if fact.attempt == attempt}
        return attempt in self.world.store.answered or kept == {Intended, Answered}


class SimCaller:
    """Makes the calls of a process, whatever becomes of them."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._world = process.world

    def authorise(self) -> None:
        if self._world.happens("no_token"):
            raise TokenError(Message("no-token", "no token"))

    def create(
        self, attempt: str, codes: Sequence[str], url: str, may_send: Callable[[], bool], *, renew: bool
    ) -> tuple[Answer, str | None, bool]:
        world = self._world
        if world.happens("no_connection"):
            return Answer(Outcome.NOT_SENT, detail="no connection"), None, False
        if not may_send():
            return Answer(Outcome.NOT_SENT, detail="too late"), None, False
        self._check_sent(attempt)
        if world.happens("busy"):
            retry_after = world.rng.choice((None, 0.0, 3.0, 20.0, 40.0, 500.0))
            return Answer(Outcome.REJECTED, 429, retry_after=retry_after), None, False
        if world.happens("unauthorised"):
            return Answer(Outcome.REJECTED, 401, retry_after=0.0 if renew else None), None, False
        if world.happens("rejected"):
            return Answer(Outcome.REJECTED, 400), None, False
        if world.happens("not_created"):
            return Answer(Outcome.UNKNOWN, world.rng.choice((None, 503))), None, False
        if world.happens("late"):
            world.later(world.rng.uniform(0.0, LIMITS.call_timeout), lambda: world.create(attempt))
            return Answer(Outcome.UNKNOWN, detail="timed out"), None, False
        world.create(attempt)
        if world.happens("error"):
            raise RuntimeError("a bug")
        if world.happens("answer_lost"):
            return Answer(Outcome.UNKNOWN, detail="reset"), None, False
        return Answer(Outcome.CREATED, 201), "file:x", world.happens("response_lost")

    def _check_sent(self, attempt: str) -> None:
        world, intent = self._world, self._world.intents.get(attempt)
        world.tell(f"{self._process.machine.name} sends {attempt[:6]}")
        if intent is None or attempt not in world.store.durable:
            raise Violation(Promise.INTENT_FIRST, attempt)
        if world.loss_since is not None and world.now - world.loss_since > LIMITS.freshness + _CLOCKS:
            raise Violation(Promise.FRESH, attempt)
        if self._process.machine.now.wall > intent.what.send_by:
            raise Violation(Promise.IN_TIME, attempt)
