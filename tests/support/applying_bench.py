"""A run of the protocol on a bench: a real journal in memory, real plans, and the test in the place of the driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, TypeVar

from reconciler.applying import events
from reconciler.applying.append_queue import AppendQueue
from reconciler.applying.driver import Inbox, Performer
from reconciler.applying.events import Append, Authorise, Authorised, CallEnded, Effect, Event, Limits, Reread, Send
from reconciler.applying.execution import begin
from reconciler.errors import Message
from reconciler.model.address import TargetName
from reconciler.model.desired import Desired
from reconciler.model.outcome import Answer, Outcome
from reconciler.model.plan import Plan, Result
from reconciler.model.record import Record
from reconciler.record.facts import AnyFact, Exists, What
from reconciler.record.journal import Reading
from reconciler.values import Instant
from support.desired_values import desired_of, plan_for, ports_of, target_of
from support.memory_record import AT, MemoryNotes, MemoryStore, append, facts_after, journal_of, record_of

E = TypeVar("E")

TARGET = TargetName("europe/staging")
SERVICE = "https://api.example"
WALL = 1_800_000_000.0
BOOTED = 5_000.0  # seconds ago, on the steady clock
CREATED = Answer(Outcome.CREATED, status=201)
REJECTED = Answer(Outcome.REJECTED, status=400, detail="HTTP 400")
BUSY = Answer(Outcome.REJECTED, status=429, detail="HTTP 429")
UNKNOWN = Answer(Outcome.UNKNOWN, status=503)
NOT_SENT = Answer(Outcome.NOT_SENT, detail="no connection")


def code(name: str) -> str:
    """Return the event code of a subscription of that name."""
    return f"ONB{10000 + ord(name[0])}"


def wanting(*names: str, host: str = "hooks", template: str = "") -> Desired:
    """Return a desired state of these subscriptions, of one code each, at a URL of their own.

    A name may be a whole address; otherwise it is one on TARGET.
    """
    addresses = {name if "/" in name else f"{TARGET}/{name}": name.rpartition("/")[2] for name in names}
    wanted = {key: ((code(name),), f"https://{host}.example/{name}{template}") for key, name in addresses.items()}
    targets = sorted({TARGET, *(address.rpartition("/")[0] for address in wanted)})
    urls = {each: SERVICE if each == TARGET else f"https://{each.replace('/', '-')}.example" for each in targets}
    return desired_of([target_of(target, urls[target]) for target in targets], wanted)


def known(name: str, host: str = "hooks", attempt: str = "", address: str = "") -> Exists:
    """Return the fact that what `wanting` of that name would create exists."""
    what = What(address or f"{TARGET}/{name}", (code(name),), f"https://{host}.example/{name}", SERVICE)
    return Exists(at=AT, attempt=attempt or f"old-{name}", what=what)


class Bench:
    """One run. `effects` are what it has asked for and was not yet answered; `steady` is the time, in seconds.

    `off` is by how many seconds the wall clock was set since. `problem` is raised instead of planning again.
    """

    def __init__(
        self, desired: Desired, *facts: AnyFact, limits: Limits | None = None, second: bool = False,
        jitter: float = 1.0, by: dict[str, str] | None = None
    ) -> None:  # fmt: skip
        self.desired = desired
        self.store = MemoryStore(record_of(*facts), second=second)
        self.notes = MemoryNotes()
        self.journal = journal_of(self.store, self.notes, desired.services)
        self.steady, self.off = BOOTED, 0.0
        self.effects: list[Effect] = []
        self.problem: Exception | None = None
        self.inbox = Inbox()
        self.ids = 0
        self.ports = ports_of(
            self.journal, self._replan, lambda facts, reason: Message("saved", f"{len(facts)} facts saved: {reason}"),
            clock=lambda: self.now, new_id=self._new_id, jitter=lambda: jitter, by=by or {"user": "bench"},
            inbox=self.inbox, patience=5.0,
        )  # fmt: skip
        self.performer = Performer(self.ports)
        self.first = self.journal.read()
        self.run = begin(self._replan(self.first), self.first, self.ports, limits or Limits())

    # Verbs

    def start(self) -> Self:
        """Start, and have the tokens at hand that are asked for."""
        self.begin()
        for effect in [effect for effect in self.effects if isinstance(effect, Authorise)]:
            self.effects.remove(effect)
            self.hear(Authorised(effect.target))
        return self

    def sent(self, *answers: Answer) -> Self:
        """Start, do the first append, and settle the first call with each of these answers."""
        self.start().append()
        for answer in answers:
            self.settle(answer)
        return self

    def begin(self) -> None:
        """Start, and nothing else."""
        self.effects += self.run.start(self.now)

    def hear(self, event: Event) -> None:
        """Let the run hear of an event."""
        self.effects += self.run.handle(event, self.now)

    def append(self) -> list[str]:
        """Do the append under way, whatever becomes of it; return the kinds of the facts that it held."""
        effect = self.take(Append)
        assert all(line.fact.by == self.ports.by for line in effect.new[1])
        self.hear(self.performer.perform(effect))
        return kinds([line.fact for line in effect.new[1]])

    def overtake(self, *facts: AnyFact) -> None:
        """Another run appends first, and the run hears of it."""
        append(self.store, *facts)
        self.append()

    def reread(self) -> None:
        """The record is read again."""
        self.hear(self.performer.perform(self.take(Reread)))

    def answer(self, answer: Answer, name: str = "", *, response: str | None = None, lost: bool = False) -> None:
        """The service answers the call of that name, or the first one."""
        send = next(send for send in self.sends if name in ("", send.address.name))
        self.effects.remove(send)
        self.hear(CallEnded(send.attempt, answer, response, lost))

    def settle(self, answer: Answer, name: str = "") -> list[str]:
        """The service answers, and that is appended."""
        self.answer(answer, name)
        return self.append()

    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.steady += seconds
        self.hear(events.Ticked())

    def wait_its_turn(self) -> float:
        """Time passes until the run has something to do; return how much."""
        assert ([], self.run.finished) == (self.effects, False)
        assert self.run.wake_at is not None
        waited = self.run.wake_at - self.steady
        self.wait(waited)
        return waited

    def create_all(self) -> None:
        """Append and answer until the run is finished."""
        while not self.run.finished:
            if self.sends:
                self.answer(CREATED)
            elif self.rereads:
                self.reread()
            elif self.appends:
                self.append()
            else:
                self.wait_its_turn()

    # Views

    @property
    def now(self) -> Instant:
        return Instant(WALL + self.off + self.steady - BOOTED, self.steady)

    @property
    def sends(self) -> list[Send]:
        return [effect for effect in self.effects if isinstance(effect, Send)]

    @property
    def rereads(self) -> list[Reread]:
        return [effect for effect in self.effects if isinstance(effect, Reread)]

    @property
    def appends(self) -> list[Append]:
        return [effect for effect in self.effects if isinstance(effect, Append)]

    @property
    def queue(self) -> AppendQueue:
        return self.run.appends

    @property
    def record(self) -> Record:
        return self.journal.read().record

    @property
    def outcomes(self) -> dict[str, str]:
        """The outcomes of the changes, by action and name."""
        return {f"{action} {address.name}": str(end.outcome) for (address, action), end in self.run.results.items()}

    @property
    def appended(self) -> Sequence[AnyFact]:
        """The facts appended since the plan, by whomever."""
        return facts_after(self.store, self.first)

    def result(self, name: str) -> Result:
        """Return the result of the first change of that name."""
        return next(end for end in self.run.results.values() if end.address.name == name)

    def statuses(self) -> dict[str, str]:
        """Return the status of each attempt in the record."""
        return {attempt.id: str(attempt.status) for attempt in self.record.attempts.values()}

    def take(self, kind: type[E]) -> E:
        """Remove and return the first effect of a kind."""
        effect = next(effect for effect in self.effects if isinstance(effect, kind))
        self.effects.remove(effect)
        return effect

    def _replan(self, reading: Reading) -> Plan:
        if self.problem is not None:
            raise self.problem
        return plan_for(self.desired, reading, self.now.wall)

    def _new_id(self) -> str:
        self.ids += 1
        return f"{self.ids - 1:032x}" if self.ids > 1 else "run"


def kinds(facts: Sequence[AnyFact]) -> list[str]:
    """Return the kinds of facts."""
    return [str(type(fact).__struct_config__.tag) for fact in facts]


def attempt(number: int) -> str:
    """Return the id of the run's n-th attempt."""
    return f"{number:032x}"
