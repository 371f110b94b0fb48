"""A whole simulation: a time in which anything may go wrong, and a time after in which it must come right."""

from __future__ import annotations

from collections.abc import Mapping
from unittest.mock import patch

from reconciler.applying import execution
from reconciler.errors import ReconcilerError
from reconciler.model.desired import Desired
from reconciler.model.record import Status
from reconciler.model.url import normal_url
from reconciler.record import facts as kinds
from reconciler.record.chain import parse
from reconciler.record.journal import Reading
from reconciler.values import stamp
from support.desired_values import desired_of, plan_for, target_of
from support.memory_record import MemoryNotes, journal_of, unchanged_read_once
from support.simulation.machine import LIMITS, Machine
from support.simulation.world import WALL, Promise, Violation, World

_SETTLED = LIMITS.settled_in + 30.0  # seconds after which no call is in flight, whatever the clocks say
_TARGETS = ("europe/staging", "europe/production", "usa/staging")


class Simulation:
    """Machines and people under one seed. `run` raises Violation, or another AssertionError, for a broken promise."""

    def __init__(self, seed: int, *, odds: Mapping[str, float] | None = None, tracing: bool = False) -> None:
        self.world = World(seed, odds, tracing=tracing)
        rng = self.world.rng
        self._urls = {  # two of three may be one service
            name: rng.choice(("https://one.example", f"https://{name.replace('/', '-')}.example")) for name in _TARGETS
        }
        self._unknown = rng.choice(("wait", "wait", "retry"))
        self._replace = rng.choice(("overlap", "overlap", "wait"))
        self._desired = self._draw()
        self.people = MemoryNotes()
        self.journal = journal_of(self.world.store, self.people, self._desired.services)
        self.machines = [
            Machine(self.world, f"m{number}", rng.randint(1, 4), lambda: self._desired)
            for number in range(rng.choice((1, 2, 2, 3)))
        ]
        for machine in self.machines:
            self.world.later(rng.random() * rng.choice((0.1, 1.0, 60.0)), machine.apply)
        for _ in range(rng.randrange(12)):
            self.world.later(rng.random() * 400.0, self._act)

    def run(self) -> World:
        """Live through it, from the beginning to the end in which nothing is left to do."""
        # A thread would bring real time in.
        threadless = patch.object(execution, "unless_interrupted", lambda job, *_: job())
        with threadless, unchanged_read_once():
            while self.world.step():
                self._disturb()
            self.world.calm = True
            self._check_sound()
            self._come_to_rest()
        self._check()
        return self.world

    def _draw(self) -> Desired:
        """Draw what is desired: few codes and URLs, so that routes move and meet; none is desired twice."""
        rng = self.world.rng
        routes: set[tuple[str, str, str]] = set()
        template = "/{attempt}" if self._unknown == "retry" else ""
        wanted = {}
        for target in _TARGETS[: rng.randint(1, 3)]:
            for name in ("a", "b", "c", "d")[: rng.randint(1, 4)]:
                codes = tuple(rng.sample(("ONB10001", "ONB10002", "ONB10003", "ONB10004"), rng.randint(1, 2)))
                host = rng.choice(("x", f"{target.replace('/', '-')}-{name}"))
                url = f"https://{host}{rng.choice('12')}.example/{rng.choice('uvw')}{template}"
                new = {(self._urls[target], code, url) for code in codes}
                if routes.isdisjoint(new):
                    routes |= new
                    wanted[f"{target}/{name}"] = codes, url
        targets = [target_of(*each, replace=self._replace, unknown=self._unknown) for each in self._urls.items()]
        return desired_of(targets, wanted)

    # Mishaps

    def _disturb(self) -> None:
        """Something may happen between any two steps."""
        world, rng = self.world, self.world.rng
        if world.store.second is not None and world.happens("rollback"):
            self._roll_back()
        if world.happens("loss"):
            self._accept_loss()
        process = (machine := rng.choice(self.machines)).process
        if process is None:
            return
        if world.happens("kill"):
            process.kill()
        elif world.happens("interrupt"):
            process.interrupt()
            if rng.random() < 0.3 and not process.dead:
                process.interrupt()
        elif world.happens("pause"):
            process.paused_until = world.now + rng.choice((1.0, 15.0, 70.0, 200.0))
        elif world.happens("clock"):
            machine.wall_off = rng.uniform(-6.0, 6.0)
            machine.steady_off -= rng.choice((0.0, 5.0, 40.0))  # a sleep that the clock did not count
            machine.wall_off = min(max(machine.wall_off, -6.0), 6.0)

    def _roll_back(self) -> None:
        """The branch is set back by somebody; the second place is not."""
        store = self.world.store
        assert store.data is not None
        lines = store.data.splitlines(keepends=True)
        if len(lines) > 3:
            self.world.tell("the record is set back")
            store.data = b"".join(lines[: self.world.rng.randrange(3, len(lines))])
            self.world.loss_since = None

    # People

    def _act(self) -> None:
        """Somebody does something, truthfully."""
        try:
            reading = self.journal.read()
            match self.world.rng.randrange(4):
                case 0:
                    self._desired = self._draw()
                case 1 | 2:
                    self._resolve(reading)
                case _:
                    self._remove(reading)
        except ReconcilerError as problem:
            self.world.tell(f"people: {problem}")

    @property
    def _at(self) -> str:
        return stamp(WALL + self.world.now)

    def _resolve(self, reading: Reading) -> None:
        """Settle what is unresolved and can no longer be in flight."""
        facts: list[kinds.AnyFact] = []
        for attempt in reading.record.attempts.values():
            if attempt.unresolved and attempt.settled(WALL + self.world.now):
                if attempt.id in self.world.created:
                    what = self.world.intents[attempt.id].what
                    facts.append(kinds.Exists(at=self._at, attempt=attempt.id, what=what))
                else:
                    facts.append(kinds.Absent(at=self._at, attempt=attempt.id))
        if facts and reading.standing.first_gate_open:
            self.journal.append(reading, facts, "resolve")

    def _remove(self, reading: Reading) -> None:
        """The operator removes what is to be removed, and that is recorded."""
        facts: list[kinds.AnyFact] = []
        for attempt in reading.record.attempts.values():
            if attempt.status is Status.AWAITING_REMOVAL:
                for created in self.world.created.values():
                    if created.attempt == attempt.id:
                        created.removed = True
                facts.append(kinds.RemovalConfirmed(at=self._at, attempt=attempt.id, codes=attempt.codes))
        if facts and reading.standing.first_gate_open:
            self.journal.append(reading, facts, "confirm")

    def _accept_loss(self) -> None:
        """Somebody says that the record lost its tail, or that it may have."""
        try:
            reading = self.journal.look()
            assert reading is not None
            missing = {*reading.standing.missing}
            for machine in self.machines:
                missing |= {note.head for note in machine.notes.read_all() if not reading.record.contains(note.head)}
            heads = tuple(sorted(missing))
            loss = kinds.LossOpened(at=self._at, loss=self.world.new_id(), cause="accepted", heads=heads)
            self.journal.accept(reading, [loss], "accept-loss")
            self.world.loss_since = self.world.now
            self.world.tell("a loss is accepted")
        except ReconcilerError as problem:
            self.world.tell(f"people: {problem}")

    def _complete(self) -> None:
        """Record what exists, no more and no less, and end every loss. No call is in flight any more."""
        self._resolve(self.journal.read())
        reading = self.journal.read()
        record = reading.record
        known = {attempt.id for attempt in record.attempts.values() if attempt.in_force}
        facts: list[kinds.AnyFact] = [
            kinds.Exists(at=self._at, attempt=created.attempt, what=self._imported(created.what))
            for created in self.world.created.values()
            if not created.removed and created.attempt not in known
        ]
        facts += [
            kinds.RemovalConfirmed(at=self._at, attempt=attempt.id, codes=attempt.codes)
            for attempt in record.attempts.values()
            if attempt.in_force and self.world.created[attempt.id].removed
        ]
        losses = tuple(loss.id for loss in record.open_losses)
        if facts or losses:
            self.journal.append(reading, [*facts, kinds.Completed(at=self._at, losses=losses)], "complete")
        self.world.loss_since = None

    @staticmethod
    def _imported(what: kinds.What) -> kinds.What:
        return kinds.What(what.address, what.codes, what.url, what.base_url, what.template)

    # The end

    def _come_to_rest(self) -> None:
        """People settle everything truthfully, and applies are repeated until there is nothing left to do."""
        for round_ in range(12):
            self.world.pause(_SETTLED)
            self._check_known()
            self._accept_loss()
            self._complete()
            self._remove(self.journal.read())
            reading = self.journal.read()
            plan = plan_for(self._desired, reading, WALL + self.world.now)
            if not [change for change in plan.changes if change.block is None]:
                return
            machine = Machine(self.world, f"last{round_}", 1, lambda: self._desired)
            machine.apply()
            while self.world.step():
                pass
        raise Violation(Promise.AT_REST, f"it does not come to rest: {plan.changes}")

    def _check_sound(self) -> None:
        """Raise Violation if the record is damaged."""
        try:
            parse(self.world.store.data or b"", "store")
        except ReconcilerError as problem:
            raise Violation(Promise.SOUND, str(problem)) from None

    def _check_known(self) -> None:
        """Raise Violation if something exists that neither the record nor a recovery file has. Not after set-backs."""
        if self.world.odds["rollback"]:
            return
        assert self.world.store.data is not None
        record = self.journal.read().record
        saved = {fact.attempt for fact in self.world.saved}
        for created in self.world.created.values():
            attempt = record.attempts.get(created.attempt)
            known = attempt is not None and (attempt.in_force or attempt.unresolved)
            if not (created.removed or known or created.attempt in saved):
                raise Violation(Promise.NOT_FORGOTTEN, f"{created}")

    def _check(self) -> None:
        """Raise Violation unless what is desired is delivered, as far as nothing blocks it."""
        reading = self.journal.read()
        plan = plan_for(self._desired, reading, WALL + self.world.now)
        blocked = {change.address for change in plan.changes}
        delivered = {route for made in self.world.created.values() if not made.removed for route in made.routes}
        for subscription in self._desired.subscriptions.values():
            base_url = self._desired.targets[subscription.address.target].base_url
            wanted = {(base_url, code, normal_url(subscription.template)) for code in subscription.codes}
            if subscription.address not in blocked and not wanted <= delivered:
                raise Violation(Promise.AT_REST, f"{subscription.address} lacks {sorted(wanted - delivered)}")
