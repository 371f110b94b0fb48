"""A run of the protocol on a bench: real planner, real journal, and the test in the place of the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from reconciler.applying.context import Limits, RunContext
from reconciler.applying.events import (
    Answered,
    Append,
    Appended,
    AppendFailed,
    Authorise,
    Authorised,
    Conflict,
    Reread,
    RereadDone,
    Send,
    ServiceRecords,
    Ticked,
)
from reconciler.applying.protocol import TargetRun
from reconciler.model.address import Address
from reconciler.model.clock import Instant, stamp
from reconciler.model.entry import Imported
from reconciler.model.outcome import Answer, Outcome
from reconciler.state.journal.chain import Journal, link, parse
from support.journal_samples import AT, BY, TARGET, begun
from support.simulation.sim_configs import changes_of_target, desired_of, target_of
from support.simulation.sim_store import grown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reconciler.applying.events import Effect, Event
    from reconciler.model.desired import Desired, Replace
    from reconciler.model.entry import AnyEntry
    from reconciler.model.plan import Change
    from reconciler.model.record import Record
    from reconciler.model.result import Result

E = TypeVar("E", bound="Effect")

SERVICE = "https://api.example"
WALL = 1_800_000_000.0
BOOTED = 5_000.0  # seconds ago, on the steady clock
CREATED = Answer(Outcome.CREATED, status=201)
REJECTED = Answer(Outcome.REJECTED, status=400, detail="HTTP 400")
UNKNOWN = Answer(Outcome.UNKNOWN, status=503)
NOT_SENT = Answer(Outcome.NOT_SENT, detail="no connection")


def code(number: int) -> str:
    """An event code."""
    return f"ONB{10000 + number}"


def wanting(*names: str, replace_by: Replace | None = None, host: str = "hooks") -> Desired:
    """These subscriptions, of one code each, at a URL of their own."""
    target = target_of(TARGET, SERVICE)
    target = target if replace_by is None else replace(target, replace=replace_by)
    numbers = {name: ord(name[0]) for name in names}
    wanted = {
        Address.of(TARGET, name): ((code(number),), f"https://{host}.example/{name}")
        for name, number in numbers.items()
    }
    return desired_of([target], wanted)


def known(name: str, host: str = "hooks", attempt: str | None = None) -> Imported:
    """What `wanting` of that name would have created."""
    url = f"https://{host}.example/{name}"
    address = Address.of(TARGET, name)
    return Imported(
        at=AT, by=BY, attempt=attempt or f"old-{name}", address=address, codes=(code(ord(name[0])),), url=url
    )


def journal_of(*entries: AnyEntry) -> Journal:
    """A journal that was begun, and these entries."""
    lines, _ = link(None, 0, [replace(begun(), base_url=SERVICE), *entries])
    return parse(lines, TARGET, "bench")


class Bench:
    """One run. `effects` are what it has asked for and was not yet answered; `steady` is the time, in seconds.

    `off` is by how many seconds the wall clock was set since.
    """

    def __init__(
        self,
        desired: Desired,
        journal: Journal | None = None,
        *,
        limits: Limits | None = None,
        by: Mapping[str, str] | None = None,
        same_service: ServiceRecords | None = None,
        jitter: float = 1.0,
    ) -> None:
        self.desired = desired
        self.journal = journal or journal_of()
        self.steady = self.booted = BOOTED
        self.off = 0.0
        self.effects: list[Effect] = []
        self.replan_problem: Exception | None = None
        self.same_service = same_service or ServiceRecords()
        self._ids = 0
        context = RunContext(
            limits=limits or Limits(),
            by=by or {"user": "bench"},
            run="run1",
            account="account1",
            new_id=self._new_id,
            replan=self._replan,
            jitter=lambda: jitter,
            shares_service=same_service is not None,
        )
        self.run = TargetRun(self.changes(), self.journal, context)

    # Verbs

    def start(self) -> None:
        """Start, and have the token at hand if it is asked for."""
        self.begin()
        if Authorise() in self.effects:
            self.effects.remove(Authorise())
            self.hear(Authorised())

    def begin(self) -> None:
        """Start, and nothing else."""
        self.effects += self.run.start(self.now)

    def hear(self, event: Event) -> None:
        """Let the run hear of an event."""
        self.effects += self.run.handle(event, self.now)

    def append(self) -> list[AnyEntry]:
        """The append under way is done; gives what it held."""
        entries = self.arrive()
        self.hear(Appended())
        return entries

    def arrive(self) -> list[AnyEntry]:
        """The append under way arrives, and nobody hears of it."""
        effect = self.take(Append)
        assert self.journal.head == effect.head
        self.journal, entries = grown(self.journal, effect.lines)
        for entry in entries:
            assert stamp(WALL) <= entry.at <= stamp(self.now.wall)
            assert self.run.context.by == entry.by
        return list(entries)

    def overtake(self, *entries: AnyEntry) -> None:
        """Somebody else appends first, and the run hears of it."""
        self.somebody_appends(*entries)
        self.take(Append)
        self.hear(Conflict(self.journal, self.same_service))

    def somebody_appends(self, *entries: AnyEntry) -> None:
        lines, _ = link(self.journal.head, len(self.journal.lines), entries)
        self.journal, _ = grown(self.journal, lines)

    def look(self) -> None:
        """The record is read again, as it is now."""
        self.take(Reread)
        self.hear(RereadDone(self.journal, self.now, self.same_service))

    def fail_append(self, detail: str = "no disk", *, readable: bool = True) -> Append:
        """The append under way fails; gives it."""
        effect = self.take(Append)
        self.hear(AppendFailed(detail, self.journal if readable else None))
        return effect

    def answer(self, answer: Answer, name: str | None = None, response: str | None = None) -> None:
        """The service answers the call of that name, or the only one."""
        send = next(one for one in self.sends if name in (None, one.address.name))
        self.effects.remove(send)
        self.hear(Answered(send.attempt, answer, response))

    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.steady += seconds
        self.hear(Ticked())

    def create_all(self, answer: Answer = CREATED) -> None:
        """Append and answer until the run is finished."""
        while not self.run.finished:
            if self.sends:
                self.answer(answer)
            elif self.looks:
                self.look()
            elif self.appends:
                self.append()
            else:
                self.wait_its_turn()

    def wait_its_turn(self) -> float:
        """Time passes until the run has something to do; how much."""
        assert ([], self.run.finished) == (self.effects, False)
        assert self.run.wake_at is not None
        waited = self.run.wake_at - self.steady
        self.wait(waited)
        return waited

    # What there is to see

    @property
    def now(self) -> Instant:
        return Instant(WALL + self.off + self.steady - BOOTED, self.steady)

    @property
    def sends(self) -> list[Send]:
        return [effect for effect in self.effects if isinstance(effect, Send)]

    @property
    def looks(self) -> list[Reread]:
        return [effect for effect in self.effects if isinstance(effect, Reread)]

    @property
    def appends(self) -> list[Append]:
        return [effect for effect in self.effects if isinstance(effect, Append)]

    @property
    def outcomes(self) -> dict[str, str]:
        """What became of the changes: action and name to outcome."""
        return {f"{action} {address.name}": str(one.outcome) for (address, action), one in self.run.results.items()}

    @property
    def record(self) -> Record:
        return self.journal.record()

    def result(self, name: str) -> Result:
        """What became of the first change of that name."""
        return next(one for one in self.run.results.values() if one.address.name == name)

    def statuses(self) -> dict[str, str]:
        """How the attempts in the journal stand, by attempt."""
        return {one.id: str(one.status) for one in self.record.attempts.values()}

    def changes(self) -> Sequence[Change]:
        """The plan on the journal as it is."""
        return changes_of_target(TARGET, self.desired, {TARGET: self.record})

    def take(self, kind: type[E]) -> E:
        effect = next(effect for effect in self.effects if isinstance(effect, kind))
        self.effects.remove(effect)
        return effect

    def _replan(self, record: Record, same_service: Sequence[Record]) -> Sequence[Change]:
        if self.replan_problem is not None:
            raise self.replan_problem
        records = {**{other.target: other for other in same_service}, TARGET: record}
        return changes_of_target(TARGET, self.desired, records)

    def _new_id(self) -> str:
        self._ids += 1
        return f"a{self._ids}"


def moving() -> Bench:
    """The code of `a` is to be delivered by `b`, elsewhere; `a` is not wanted any more, and waits for that."""
    b = Address.of(TARGET, "b")
    desired = desired_of([target_of(TARGET, SERVICE)], {b: ((code(ord("a")),), "https://hooks.example/b")})
    return Bench(desired, journal_of(known("a")))


def kinds(entries: Sequence[AnyEntry]) -> list[str]:
    """What the entries are."""
    return [entry.kind for entry in entries]
