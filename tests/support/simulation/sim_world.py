"""Time, chance and everything that exists: what the machines and the people of a simulation share."""

from __future__ import annotations

import heapq
import random
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from reconciler.applying.context import Limits
from reconciler.model.clock import stamp
from reconciler.model.desired import Replace
from reconciler.model.entry import Begun
from support.simulation.sim_clocks import EPOCH, Clocks
from support.simulation.sim_configs import Config, target_of
from support.simulation.sim_promises import Promises
from support.simulation.sim_service import Promise, SimService, Violation
from support.simulation.sim_store import SimStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reconciler.model.address import TargetName
    from reconciler.model.desired import Target
    from support.simulation.sim_disk import Disk

_STEPS_AT_MOST = 20_000
_SERVICES = ("https://api.one.example", "https://api.two.example")

FAULTS = (
    "append_lost", "append_never", "append_late", "read_fails", "unauthorised", "no_connection", "reject", "busy",
    "fail", "fail_after", "drop", "drop_after", "hang", "slow", "pause", "suspend", "set_clock", "crash", "interrupt",
    "interrupt_again", "stale", "lie", "roll_back", "vanish", "take_over", "give_up", "neglect", "doubt",
)  # fmt: skip


class Chances:
    """How probable each fault is in this simulation: many are impossible, some are frequent.

    `certain` odds are not left to chance.
    """

    def __init__(self, rng: random.Random, certain: Mapping[str, float]) -> None:
        self._rng = rng
        self._odds = {fault: rng.choice((0.0, 0.0, 0.03, 0.1, 0.3)) for fault in FAULTS}
        for rare in ("crash", "interrupt", "pause", "suspend", "roll_back", "vanish", "take_over"):
            self._odds[rare] *= 0.1
        self._odds["lie"] *= 0.3
        self._odds["give_up"] *= 2
        self._odds["neglect"] = 0.3
        self._odds |= certain

    def happens(self, fault: str) -> bool:
        return self._rng.random() < self._odds[fault]

    def one_of(self, faults: Sequence[str]) -> str:
        """One of the faults, or an empty string for none."""
        return next((fault for fault in faults if self.happens(fault)), "")

    def rule_out(self, fault: str) -> None:
        self._odds[fault] = 0.0

    def stop(self) -> None:
        """From now on all goes well."""
        self._odds = dict.fromkeys(FAULTS, 0.0)


class Owner(Protocol):
    """Whoever a task belongs to: it is not done after their death, and only once they are awake."""

    incarnation: int
    asleep_until: float


class Died(BaseException):
    """The machine that was waiting has crashed meanwhile."""


class World:
    """One simulation's clock, chance, service, store and configuration. A seed gives one history, to the letter."""

    def __init__(
        self,
        seed: int,
        odds: Mapping[str, float],
        store: Callable[[World], SimStore] | None = None,
        *,
        tracing: bool = False,
    ) -> None:
        self.rng = random.Random(seed)
        self.chances = Chances(self.rng, odds)
        self.time = 0.0
        self.trace: list[str] | None = [] if tracing else None
        self.clocks_are_kept = not self.chances.happens("neglect")
        if self.clocks_are_kept:
            self.chances.rule_out("suspend")
        self.limits = Limits(parallelism=self.rng.choice((1, 2, 4)))
        self.service = SimService()
        self.promises = Promises(self.service, self.limits, lambda: self.time)
        self.store = SimStore(self.promises.watch) if store is None else store(self)
        self.disks: list[Disk] = []
        self.steps = 0
        self._tasks: list[tuple[float, int, Owner | None, int, Callable[[], object]]] = []
        self._numbers = 0
        self.config = Config.draw(self.rng, _draw_targets(self.rng))
        for target in self.config.targets:
            self.store.begin(self.begun(target.name))

    def later(self, delay: float, task: Callable[[], object], owner: Owner | None = None) -> None:
        """Do `task` after `delay` seconds, if `owner` lives to do it."""
        incarnation = 0 if owner is None else owner.incarnation
        self._numbers += 1
        heapq.heappush(self._tasks, (self.time + delay, self._numbers, owner, incarnation, task))

    def soon(self) -> float:
        """How long a usual step takes, in seconds."""
        return self.rng.random() * (20.0 if self.chances.happens("slow") else 0.5)

    def step(self) -> bool:
        """Do what is next; False where nothing is left to do. Raises Violation for a simulation without an end."""
        if not self._tasks:
            return False
        due, number, owner, incarnation, task = heapq.heappop(self._tasks)
        self.time = max(self.time, due)
        if owner is not None and owner.incarnation != incarnation:
            return True
        if owner is not None and owner.asleep_until > self.time:
            heapq.heappush(self._tasks, (owner.asleep_until, number, owner, incarnation, task))
            return True
        self.steps += 1
        if self.steps > _STEPS_AT_MOST:
            raise Violation(Promise.AT_REST, "it does not come to an end")
        with suppress(Died):
            task()
        return True

    def pass_time(self, seconds: float) -> None:
        """Do what is due in so many seconds, while somebody waits."""
        until = self.time + seconds
        while self._tasks and self._tasks[0][0] <= until:
            self.step()
        self.time = max(self.time, until)

    def draw_clocks(self) -> Clocks:
        """The clocks of one more machine."""
        return Clocks(self.rng, kept=self.clocks_are_kept)

    def new_id(self) -> str:
        self._numbers += 1
        return f"n{self._numbers:06d}"

    def tell(self, *words: object) -> None:
        """A line of the trace."""
        if self.trace is not None:
            self.trace.append(f"{self.time:9.3f} {' '.join(map(str, words))}")

    def service_of(self, target: TargetName) -> str:
        return next(one.base_url for one in self.config.targets if one.name == target)

    def begun(self, target: TargetName) -> Begun:
        """The first entry of one more record of a target."""
        record = f"{self.rng.getrandbits(128):032x}"
        url = self.service_of(target)
        return Begun(at=stamp(EPOCH), by={"user": "operator"}, record=record, target=target, base_url=url)


def _draw_targets(rng: random.Random) -> list[Target]:
    """One target, or two, of one service or of two."""
    names = ("europe/staging", "usa/staging")[: rng.choice((1, 1, 2))]
    services = rng.choice((_SERVICES, _SERVICES[:1] * 2))
    modes = (Replace.OVERLAP, Replace.OVERLAP, Replace.WAIT)
    return [target_of(name, service, rng.choice(modes)) for name, service in zip(names, services, strict=False)]
