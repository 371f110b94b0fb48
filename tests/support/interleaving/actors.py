"""The actors: an apply, by the protocol and the performer of production, and a person or a job that runs commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from reconciler.applying.driver import Performer
from reconciler.applying.events import Effect, Event, Ticked
from reconciler.applying.execution import begin, conclude
from reconciler.applying.protocol import Run
from reconciler.errors import Message, ReconcilerError
from reconciler.model.address import TargetName
from reconciler.model.desired import Desired
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.plan import Plan
from reconciler.operations.recovery_file import _origin
from reconciler.record.chain import Line
from reconciler.record.facts import AnyFact
from reconciler.record.journal import Journal, Reading
from reconciler.record.statements import AcceptLoss, Complete, Recover, Resolve
from reconciler.values import Instant
from support.desired_values import plan_for, ports_of
from support.interleaving.schedules import Actor, Call
from support.interleaving.world import SETTLED, PortNotes, PortStore, World
from support.memory_project import MemoryProject
from support.simulation.machine import LIMITS
from support.simulation.world import WALL


class Applying(Actor):
    """An apply of what is desired, on the record at a place."""

    def __init__(self, name: str, desired: Desired, place: str, machine: str = "") -> None:
        super().__init__(name, machine)
        self._desired = desired
        self._place = place
        self._plans: dict[Any, Plan] = {}

    def begin(self) -> None:
        self._run: Run | None = None
        self._concludes = False
        journal = Journal(PortStore(self, self._place), PortNotes(self), self._desired.services)
        callers = dict.fromkeys(self._desired.targets, _Caller(self, self._place))
        self._ports = ports_of(
            journal, self._replan, self._save, clock=lambda: self._instant, new_id=self.new_id, callers=callers,
            by={"host": self.name},
        )  # fmt: skip
        self._performer = Performer(self._ports)
        self.open(self._plan, self._start)

    def wake(self) -> None:
        self._handle(Ticked())

    @property
    def wake_at(self) -> float | None:
        run = self._run
        return None if run is None else run.wake_at

    @property
    def _instant(self) -> Instant:
        now = self.clock
        return Instant(WALL + now, now)

    def _plan(self) -> Run | ReconcilerError:
        try:
            reading: Reading = self._ports.read()
            return begin(self._ports.replan(reading), reading, self._ports, LIMITS)
        except ReconcilerError as problem:
            return problem

    def _replan(self, reading: Reading) -> Plan:
        key = reading.record.head, reading.standing, (wall := WALL + self.clock)
        if key not in self._plans:
            self._plans[key] = plan_for(self._desired, reading, wall)
        return self._plans[key]

    def _start(self, run: Run | ReconcilerError) -> None:
        if isinstance(run, ReconcilerError):
            self.end(run)
            return
        self._run = run
        self._go_on(run.start(self._instant))

    def _handle(self, event: Event) -> None:
        assert self._run is not None
        if not self._run.finished:
            self._go_on(self._run.handle(event, self._instant))

    def _go_on(self, effects: list[Effect]) -> None:
        run = self._run
        assert run is not None
        for effect in effects:
            self.open(partial(self._performer.perform, effect), self._handle)
        if run.finished and not self._concludes:
            self._concludes = True
            self.open(lambda: conclude(run, self._ports), self.end)

    def _save(self, facts: Sequence[AnyFact], reason: str) -> Message:
        def save(world: World) -> None:
            world.saved += tuple(facts)

        self.at_once(save)
        return Message("saved", reason)


class _Caller:
    """Makes the calls of an apply: one leaves, and arrives or not; others may come before either."""

    def __init__(self, actor: Actor, place: str) -> None:
        self._actor = actor
        self._place = place

    def authorise(self) -> None:
        """There is a token."""

    def create(
        self, attempt: str, codes: Sequence[str], url: str, may_send: Callable[[], bool], *, renew: bool
    ) -> tuple[Answer, str | None, bool]:
        actor = self._actor
        actor.wait(Call(f"connects for {attempt[:6]}", lambda _: None))
        if not may_send():
            return Answer(Outcome.NOT_SENT, detail="too late"), None, False
        actor.at_once(lambda world: world.leave(attempt, actor.name, self._place))

        def lose_answer(world: World) -> Answer:
            world.arrive(attempt)
            return Answer(Outcome.UNKNOWN, detail="reset")

        def lose(world: World) -> Answer:
            world.lose(attempt)
            return Answer(Outcome.UNKNOWN, detail="reset")

        def arrive(world: World) -> Answer:
            world.arrive(attempt)
            return Answer(Outcome.CREATED, 201)

        answer: Answer = actor.wait(Call(f"has {attempt[:6]} answered", arrive, (lose_answer, lose)))
        return answer, None, False


class Person(Actor):
    """Somebody who runs commands, one after the other; a refusal ends them."""

    def __init__(self, name: str, desired: Desired, place: str, program: Callable[[Commands], object]) -> None:
        super().__init__(name)
        self.desired = desired
        self.place = place
        self._program = program

    def begin(self) -> None:
        self.open(self._carry_out, self.end)

    def _carry_out(self) -> object:
        try:
            return self._program(Commands(self))
        except ReconcilerError as problem:
            return problem


class Commands(MemoryProject):
    """The project of a person, and what can be found out and done in it."""

    def __init__(self, person: Person) -> None:
        super().__init__(desired=person.desired)
        self._person = person
        self.flags = self.flags.__class__(state=person.place)
        self.__dict__["notes"] = PortNotes(person)

    def now(self) -> float:
        return WALL + self._person.clock

    def new_id(self) -> str:  # type: ignore[override]
        return self._person.new_id()

    def accounts(self) -> dict[TargetName, str]:
        return dict.fromkeys(self.desired.targets, "account")

    def _open(self, place: str) -> Any:
        return PortStore(self._person, place)

    def exists(self) -> frozenset[str]:
        """Return the attempts that exist at the service, as the operator says."""
        exists: frozenset[str] = self._person.wait(Call("asks", lambda world: frozenset(world.created)))
        return exists

    def recover(self) -> None:
        """Add what is in recovery files to the record."""
        saved = self._person.wait(Call("looks for recovery files", lambda world: world.saved))
        if saved:
            record = self.journal.read().record.id
            lines = [Line(replace(fact, origin=_origin(record, fact)), _origin(record, fact)) for fact in saved]
            self.say(Recover("saved", tuple(lines)))

    def wait_until_settled(self) -> None:
        """Wait until no call that was sent before can be in flight."""

        def wait(world: World) -> None:
            world.now += SETTLED

        self._person.wait(Call("waits", wait, may=lambda world: not world.in_flight))

    def resolve(self) -> None:
        """Settle what is unresolved and can no longer be in flight, truthfully."""
        for attempt in self.journal.read().record.attempts.values():
            if attempt.unresolved and attempt.settled(self.now()):
                created = attempt.id in self.exists()
                self.say(Resolve(str(attempt.address), created=created, attempts=(attempt.id,)))

    def lose_and_complete(self) -> None:
        """Accept a loss, wait, resolve and import what exists, and say that it is all."""
        self.say(AcceptLoss())
        self.wait_until_settled()
        self.resolve()
        exists, record = self.exists(), self.journal.read().record
        known = {attempt.id for attempt in record.attempts.values() if attempt.in_force}
        assert exists <= known, "what exists was created through this record"
        self.say(Complete())
