"""A machine that applies: the production planner, `Apply` and protocol; its threads and sockets are simulated."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from reconciler.applying.driver import Inbox
from reconciler.applying.events import (
    Answered,
    Append,
    Authorise,
    Authorised,
    InterruptAsked,
    Reread,
    RereadDone,
    RereadFailed,
    Send,
    Ticked,
    Unauthorised,
)
from reconciler.applying.run import Account, Apply
from reconciler.errors import ReconcilerError, StoreUnavailable
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.result import Verdict
from reconciler.model.selection import Selection
from reconciler.planning.planner import make_plan
from support.simulation.sim_disk import Disk, Kept
from support.simulation.sim_service import Promise, Violation
from support.simulation.sim_wire import AppendOnItsWay, CallOnItsWay

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reconciler.applying.events import Effect, Event
    from reconciler.applying.protocol import TargetRun
    from reconciler.model.address import TargetName
    from reconciler.model.clock import Instant
    from reconciler.model.desired import Desired
    from reconciler.model.entry import AnyEntry
    from reconciler.model.plan import Plan
    from reconciler.model.record import Record
    from reconciler.state.journal.chain import Journal
    from support.simulation.sim_world import World

ACCOUNT = "account-of-the-partner"
_EVENTS_AT_MOST = 600


class _NoCaller:
    """Stands where a driver would find what makes its calls; here, they go on the simulated wire."""

    def authorise(self) -> None:
        raise NotImplementedError

    def expect(self, calls: int, at_once: int) -> None:
        raise NotImplementedError

    def expect_none(self) -> None:
        raise NotImplementedError

    def create(self, send: Send, may_send: Callable[[], bool]) -> Answered:
        raise NotImplementedError


class Machine:
    """Applies the configuration of the day, `turns` times; crashes, sleeps and is interrupted as chance has it."""

    def __init__(self, world: World, name: str, turns: int) -> None:
        self.incarnation = 0
        self.asleep_until = 0.0
        self.turns = turns
        self.name = name
        self._world = world
        self.clocks = world.draw_clocks()
        self.disk = Disk(world, name, world.store.opened_by(self))
        self._tick_at: float | None = None
        self._events = 0
        self.working = False
        self._run: TargetRun | None = None
        self._inbox = Inbox()
        self._apply: Apply
        self._plan: Plan
        self._left: list[TargetName] = []

    def clock(self) -> Instant:
        if self._world.chances.happens("set_clock"):
            self.clocks.set()
        return self.clocks.read(self._world.time)

    def begin(self) -> None:
        """Plan, perhaps on records that are no longer the newest, and go through the targets."""
        if self.turns <= 0:
            return
        self.turns -= 1
        self.working = True
        self._inbox = Inbox()
        desired = self._world.config.desired()
        records = {name: self._planned_on(name) for name in desired.targets}
        self._plan = make_plan(desired, records, Selection())
        self._apply = self._apply_of(desired)
        self._left = [name for name, target in self._plan.targets.items() if target.changes]
        self._tell("plans", *(f"{one.action}:{one.address}" for one in self._plan.changes))
        self._later(self._next_target)

    def crash(self) -> None:
        """Everything in memory is lost; what has left is on its way."""
        self._tell("crashes")
        self.incarnation += 1
        self._run = None
        self.turns += 1
        self._world.later(self._world.soon() * 20, self.begin, self)

    def pause(self, seconds: float) -> None:
        """The process is stopped, or the lid is closed: nothing happens here, and the clocks go on."""
        self._tell("pauses for", round(seconds))
        self.asleep_until = self._world.time + seconds

    def suspend(self, seconds: float) -> None:
        """The machine is taken from under its clocks: they stand still too."""
        self.pause(seconds)
        self.clocks.stand_still(seconds)

    def interrupt(self) -> None:
        """A signal arrives."""
        self._tell("is interrupted")
        self._inbox.interrupt()
        if self._run is not None:
            self._later(partial(self._feed, self._run, InterruptAsked()))

    # The targets

    def _planned_on(self, name: TargetName) -> Record:
        versions = self._world.store.versions[name]
        back = self._world.rng.randrange(min(6, len(versions))) if self._world.chances.happens("stale") else 0
        return self.disk.counted(versions[-1 - back].record())

    def _apply_of(self, desired: Desired) -> Apply:
        world = self._world
        return Apply(
            self._plan,
            desired,
            Selection(),
            store=world.store,
            read=self._read,
            reread=lambda: lambda name: self.disk.counted(self._read(name).record()),
            accounts={target.name: Account(ACCOUNT, _NoCaller()) for target in world.config.targets},
            clock=self.clock,
            inbox=self._inbox,
            limits=world.limits,
            by={"user": self.name},
            save=self._keep,
            observe=lambda _run: None,
            reach=lambda _step: None,
            pause=lambda _seconds: None,
            patience=0.0,
            new_id=self._new_id,
            jitter=world.rng.random,
            counted=self.disk.counted,
        )

    def _new_id(self) -> str:
        attempt = self._world.new_id()
        self._world.promises.begin(attempt, self, self._world.time)
        return attempt

    def _read(self, name: TargetName) -> Journal:
        if self._world.chances.happens("read_fails"):
            raise StoreUnavailable("cannot be read", where=name)
        return self.disk.look_at(name)

    def _keep(self, name: TargetName, record: Record, entries: Sequence[AnyEntry], reason: str) -> str:
        self._tell("keeps", len(entries), "entries:", reason)
        self.disk.kept.append(Kept(name, record.id, entries))
        return "kept"

    def _next_target(self) -> None:
        if not self._left or self._inbox.interrupted.is_set():
            self._end()
            return
        name = self._left.pop(0)
        try:
            run = self._apply.prepare(name, self._plan.targets[name])
        except ReconcilerError as problem:
            self._tell("cannot prepare", problem)
            self._later(self._next_target)
            return
        self._run, self._tick_at, self._events = run, None, 0
        self._go_on(run, run.start(self.clock()))

    def _end(self) -> None:
        self.working = False
        applied = self._apply.applied()
        self._tell("ends with", applied.verdict, *(f"{one.outcome}:{one.address}" for one in applied.results))
        if applied.verdict is Verdict.DONE and any(
            one.outcome in ("rejected", "not_sent", "unknown") for one in applied.results
        ):
            raise Violation(Promise.TRUTHFUL, f"{self.name} says that all went well")
        self.incarnation += 1  # the process has ended, and its threads with it
        self._world.later(self._world.soon() * 60, self.begin, self)

    def _feed(self, run: TargetRun, event: Event) -> None:
        """The run hears of `event`, unless it is a run of the past."""
        if self._run is run:
            self._tell("hears", type(event).__name__, getattr(event, "attempt", ""))
            self._events += 1
            if self._events > _EVENTS_AT_MOST:
                raise Violation(Promise.AT_REST, f"a run of {self.name} does not come to an end")
            self._go_on(run, run.handle(event, self.clock()))

    def _go_on(self, run: TargetRun, effects: Sequence[Effect]) -> None:
        for effect in effects:
            self._perform(run, effect)
        if not run.finished:
            self._watch_the_clock(run)
            return
        name = run.journal.target
        self._run = None
        if len(run.results) != len(self._plan.targets[name].changes):
            raise Violation(Promise.TRUTHFUL, f"{self.name} does not say what became of every change")
        self._world.promises.end(run)
        self._apply.conclude(name, self._plan.targets[name], run)
        self._later(self._next_target)

    def _watch_the_clock(self, run: TargetRun) -> None:
        """See that the run hears Ticked at `wake_at`."""
        wake_at = run.wake_at
        if wake_at is not None and (self._tick_at is None or wake_at < self._tick_at):
            self._tick_at = wake_at
            wait = self.clocks.until(wake_at, self._world.time)
            self._world.later(wait, partial(self._tick, run, wake_at), self)

    def _tick(self, run: TargetRun, at: float) -> None:
        if self._run is run and self._tick_at == at:
            self._tick_at = None
            self._feed(run, Ticked())

    # Effects

    def _perform(self, run: TargetRun, effect: Effect) -> None:
        match effect:
            case Authorise():
                failed = self._world.chances.happens("unauthorised")
                event = Unauthorised("no token") if failed else Authorised()
                self._later(partial(self._feed, run, event))
            case Append():
                hear = partial(self._feed, run)
                name = run.journal.target
                same_service = partial(self._apply.read_same_service, name)
                self._later(AppendOnItsWay(self._world, self, name, effect, hear, same_service).leave)
            case Reread():
                self._later(partial(self._look, run))
            case Send():
                self._later(partial(self._send, run, effect))

    def _look(self, run: TargetRun) -> None:
        """The same_service are read, then the record; the machine hears of it a little later."""
        same_service, at = self._apply.read_same_service(run.journal.target), self.clock()
        try:
            event: Event = RereadDone(self.disk.look_at(run.journal.target), at, same_service)
        except ReconcilerError as problem:
            event = RereadFailed(str(problem))
        self._later(partial(self._feed, run, event))

    def _send(self, run: TargetRun, send: Send) -> None:
        """What the driver's thread does: `may_send` as late as possible, then the bytes leave."""
        may_send = not (send.is_late(self.clock()) or self._inbox.interrupted.is_set())
        if may_send and not self._world.chances.happens("no_connection"):
            CallOnItsWay(self._world, self, send, partial(self._feed, run)).leave()
        else:
            answered = Answered(send.attempt, Answer(Outcome.NOT_SENT, detail="not sent"))
            self._later(partial(self._feed, run, answered))

    def _later(self, task: Callable[[], None]) -> None:
        self._world.later(self._world.soon(), task, self)

    def _tell(self, *words: object) -> None:
        self._world.tell(self.name, *words)
