"""A whole simulation: a time in which anything may go wrong, and a time after in which it must come right."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

from reconciler.applying import run
from reconciler.model.selection import Selection
from reconciler.planning.planner import make_plan
from support.simulation.sim_machine import Machine
from support.simulation.sim_mishaps import Mishaps
from support.simulation.sim_people import People
from support.simulation.sim_service import Promise, Violation, routes_of
from support.simulation.sim_world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reconciler.model.plan import Plan
    from support.simulation.sim_store import SimStore

_ROUNDS = 12
_PAUSES = (1.0, 15.0, 30.0, 70.0, 200.0)  # seconds
_TIMES_AFTER = 1_000.0
"""Seconds after which nothing can be in flight any more, whatever the clocks say."""


class Simulation:
    """Machines and people under one seed. `run` raises Violation, or another AssertionError, for a broken promise.

    `odds` are those of faults that are not left to chance, `store` makes another place for the records.
    """

    def __init__(
        self,
        seed: int,
        *,
        odds: Mapping[str, float] | None = None,
        tracing: bool = False,
        store: Callable[[World], SimStore] | None = None,
    ) -> None:
        self.world = World(seed, odds or {}, store, tracing=tracing)
        rng = self.world.rng
        self.people = People(self.world)
        self.mishaps = Mishaps(self.world)
        self.machines = [
            Machine(self.world, f"m{number}", rng.randint(1, 4)) for number in range(rng.choice((2, 2, 3, 4)))
        ]
        pace = rng.choice((1.0, 60.0))
        for machine in self.machines:
            self.world.later(rng.random() * pace, machine.begin, machine)
        for _ in range(rng.randrange(30)):
            self.world.later(rng.random() * rng.choice((2.0, 10.0, 300.0)), self.people.act)

    def run(self) -> World:
        """From the beginning to the end in which nothing is left to do."""
        with patch.object(run, "unless_interrupted", lambda job, *_: job()):  # a thread would bring real time in
            return self._live()

    def _live(self) -> World:
        while self.world.step():
            self._disturb()
        self.world.chances.stop()
        self._come_to_rest()
        self.world.store.check()
        self.world.promises.check_found()
        self._check_delivered()
        return self.world

    def _disturb(self) -> None:
        """Something may happen to a record or a machine between any two steps."""
        chances, rng = self.world.chances, self.world.rng
        self.mishaps.strike()
        machine = rng.choice(self.machines)
        if not machine.working:
            return
        if chances.happens("crash"):
            machine.crash()
        elif chances.happens("interrupt"):
            machine.interrupt()
            if chances.happens("interrupt_again"):
                machine.interrupt()
        elif chances.happens("pause"):
            machine.pause(rng.choice(_PAUSES))
        elif chances.happens("suspend"):
            machine.suspend(rng.choice(_PAUSES))

    def _come_to_rest(self) -> None:
        """People settle everything truthfully, and applies are repeated until there is nothing left to do."""
        for _ in range(_ROUNDS):
            self.world.later(_TIMES_AFTER, self.people.recover)
            self._drain()
            self.people.settle()
            self.people.delete()
            plan = self._plan()
            self.people.make_way(plan.changes)
            if not plan.changes:
                return
            machine = Machine(self.world, "last", 1)
            machine.begin()
            self._drain()
        raise Violation(Promise.AT_REST, f"it does not come to rest: {plan.changes}")

    def _drain(self) -> None:
        while self.world.step():
            pass

    def _plan(self) -> Plan:
        desired = self.world.config.desired()
        records = {name: self.world.store.journal(name).record() for name in desired.targets}
        return make_plan(desired, records, Selection())

    def _check_delivered(self) -> None:
        """In the end all that is wanted is delivered."""
        world = self.world
        for wanted in world.config.desired().subscriptions.values():
            service = world.service_of(wanted.address.target)
            delivered = {route for one in world.service.present(service) for route in one.routes}
            missing = routes_of(wanted.codes, wanted.url) - delivered
            if missing:
                raise Violation(Promise.AT_REST, f"{wanted.address} lacks {sorted(missing)}")
