"""Machines that apply one configuration at once, with one store and one service, in the threads of one process."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reconciler.applying.context import Limits
from reconciler.applying.driver import Inbox
from reconciler.applying.events import Answered
from reconciler.applying.run import Account, Apply
from reconciler.errors import ReconcilerError
from reconciler.model.address import Address
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.selection import Selection
from reconciler.planning.planner import make_plan
from reconciler.state.heads.remembered import Heads
from reconciler.state.heads.tracking import HeadTrackingStore, read_journal
from support.applying_bench import SERVICE, code
from support.applying_doubles import now
from support.journal_samples import TARGET
from support.simulation.sim_configs import desired_of, target_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from pathlib import Path

    from reconciler.applying.events import Send
    from reconciler.model.address import TargetName
    from reconciler.model.desired import Desired
    from reconciler.model.entry import AnyEntry
    from reconciler.model.plan import Plan
    from reconciler.model.record import Record
    from reconciler.state.journal.chain import Journal
    from reconciler.state.stores.store import Store


@dataclass
class CountingService:
    """The service as an apply calls it: each call creates, and is counted by its event code."""

    created: Counter[str] = field(default_factory=Counter)
    takes: float = 0.002
    """Seconds for each call."""
    applies: int = 0
    """How many applies were started with something to do."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def authorise(self) -> None:
        """There is always a token."""

    def expect(self, calls: int, at_once: int) -> None:
        """Nothing is prepared."""

    def expect_none(self) -> None:
        """Nothing is prepared."""

    def create(self, send: Send, may_send: Callable[[], bool]) -> Answered:
        if not may_send():
            return Answered(send.attempt, Answer(Outcome.NOT_SENT, detail="its time had passed"))
        time.sleep(self.takes)
        with self.lock:
            self.created.update(send.request.codes)
        return Answered(send.attempt, Answer(Outcome.CREATED, 201))


class CountingStore(HeadTrackingStore):
    """Counts what runs of the protocol ask of a store: appends, those that succeed and those that do not, and reads."""

    def __init__(self, store: Store, heads: Heads, work: Counter[str]) -> None:
        super().__init__(store, heads)
        self._work = work

    def read(self, target: TargetName, durable: Container[str] = ()) -> bytes | None:
        self._work["reads"] += 1
        return super().read(target, durable)

    def append(self, target: TargetName, head: str | None, seq: int, lines: bytes, note: str) -> None:
        self._work["appends"] += 1
        super().append(target, head, seq, lines, note)


@dataclass
class Machine:
    """One machine, with a store and remembered heads of its own. `kept` are the entries it could not append."""

    store: Store
    heads: Heads
    service: CountingService
    count: int
    kept: list[AnyEntry] = field(default_factory=list)
    work: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    @property
    def desired(self) -> Desired:
        """So many subscriptions of one code each."""
        wanted = {
            Address.of(TARGET, f"n{number}"): ((code(number),), f"https://hooks.example/n{number}")
            for number in range(self.count)
        }
        return desired_of([target_of(TARGET, SERVICE)], wanted)

    def journal(self) -> Journal:
        """The record as this machine may use it. Raises StateError."""
        return read_journal(self.store, TARGET, self.heads)

    def apply(self) -> bool:
        """Plan and apply once; whether nothing was left to do. An error is noted, and ends it."""
        try:
            plan = make_plan(self.desired, {TARGET: self.journal().record()}, Selection())
            if not plan.changes:
                return True
            self._carry_out(plan)
        except ReconcilerError as problem:
            self.problems.append(str(problem))
        return False

    def _carry_out(self, plan: Plan) -> None:
        with self.service.lock:
            self.service.applies += 1
        tracked = CountingStore(self.store, self.heads, self.work)
        Apply(
            plan,
            self.desired,
            Selection(),
            store=tracked,
            read=lambda _name: tracked.follow(self.journal()),
            reread=lambda: lambda _name: self.journal().record(),
            accounts={TARGET: Account("account1", self.service)},
            clock=now,
            inbox=Inbox(),
            limits=Limits(backoff=(0.01,)),
            by={"user": "machine"},
            save=self._save,
            observe=lambda _run: None,
            reach=lambda _step: None,
            pause=time.sleep,
            patience=0.2,
        ).carry_out()

    def _save(self, target: object, record: Record, entries: Sequence[AnyEntry], reason: str) -> str:
        self.kept += entries
        self.problems.append(reason)
        return "kept"


def contend(
    stores: Sequence[Store], directory: Path, count: int, service: CountingService | None = None
) -> tuple[CountingService, list[Machine]]:
    """All machines want so many subscriptions and apply at once, each until nothing is left to do, or eight times."""
    service = service or CountingService()
    machines = [
        Machine(store, Heads(directory / f"heads{number}"), service, count) for number, store in enumerate(stores)
    ]

    def work(machine: Machine) -> None:
        any(machine.apply() for _ in range(8))

    threads = [threading.Thread(target=work, args=(machine,)) for machine in machines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return service, machines
