"""Time under a seed, the lending service, and the store that all machines share."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from enum import StrEnum
from itertools import count
from random import Random

from msgspec import Struct

from reconciler.errors import HeadMoved, StoreUnavailable
from reconciler.model.url import normal_url
from reconciler.record import chain
from reconciler.record.facts import Answered, Intended, What
from reconciler.record.store import Stored
from support.memory_record import DOWN, MOVED, MemoryStore, record_of

WALL = 1_800_000_000.0

ODDS: dict[str, float] = {
    "append_lost": 0.04, "append_fails": 0.04, "append_late": 0.02, "second_lost": 0.03, "read_fails": 0.02,
    "read_stale": 0.01, "slow": 0.08, "kill": 0.01, "kill_step": 0.01, "interrupt": 0.01, "pause": 0.02, "clock": 0.02,
    "answer_lost": 0.06, "not_created": 0.05, "late": 0.04, "rejected": 0.04, "busy": 0.06, "no_connection": 0.06,
    "unauthorised": 0.03, "no_token": 0.02, "error": 0.01, "response_lost": 0.01, "rollback": 0.004, "loss": 0.004,
}  # fmt: skip


class Promise(StrEnum):
    """A promise that every simulation is held to."""

    INTENT_FIRST = "a call is sent only after its intent is durable, in the second place too"
    ONCE = "nothing is created again that exists, unless a retry superseded it"
    IN_TIME = "a call leaves in the window of its intent only"
    FRESH = "a call does not leave long after the store showed an open loss"
    FEW_OPEN = "no more intents are open than calls may be in flight"
    NOT_FORGOTTEN = "what exists is in force, or unresolved, or in a recovery file"
    SAVED = "an outcome is recorded, or saved together with its intent"
    SOUND = "the record is whole"
    TRUTHFUL = "a run says what became of each change, and whether all went well"
    AT_REST = "all comes to an end, in which what is desired is delivered"


class Violation(BaseException):
    """A promise was broken. Not an Exception: the code under test takes those for faults."""

    def __init__(self, promise: StrEnum, how: str) -> None:
        super().__init__(f"{promise}: {how}")
        self.promise = promise


class Created(Struct):
    """A subscription at the service; `template` is its URL without the attempt's id."""

    attempt: str
    what: What
    removed: bool = False

    @property
    def routes(self) -> set[tuple[str, str, str]]:
        """Its routes as the service has them, by template."""
        url = normal_url(self.what.template or self.what.url)
        return {(self.what.base_url, code, url) for code in self.what.codes}


class Timeline:
    """Time and chance. `calm`: nothing goes wrong any more."""

    def __init__(self, rng: Random, now: float) -> None:
        self.rng = rng
        self.now = now
        self.calm = False
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Do something in so many seconds."""
        heapq.heappush(self._events, (self.now + max(seconds, 0.0), next(self._numbers), action))

    def step(self) -> bool:
        """Let the next event happen; False if there is none."""
        if not self._events:
            return False
        at, _, action = heapq.heappop(self._events)
        self.now = max(at, self.now)
        action()
        return True

    def pause(self, seconds: float) -> None:
        """Let so many seconds pass, with all that happens in them."""
        until = self.now + seconds
        while self._events and self._events[0][0] <= until:
            self.step()
        self.now = max(until, self.now)

    def new_id(self) -> str:
        """Return an id that no other thing has."""
        return f"{self.rng.getrandbits(128):032x}"


class World(Timeline):
    """Time, chance, the service and the store. `trace` has what happened, if it is kept."""

    def __init__(self, seed: int, odds: Mapping[str, float] | None = None, *, tracing: bool = False) -> None:
        super().__init__(Random(seed), 0.0)
        self.odds = {**ODDS, **(odds or {})}
        self.loss_since: float | None = None
        self.trace: list[str] | None = [] if tracing else None
        self.created: dict[str, Created] = {}
        self.intents: dict[str, Intended] = {}
        self.saved: list[Intended | Answered] = []
        self.store = SimStore(self, second=self.rng.random() < 0.6)

    def happens(self, what: str) -> bool:
        """Draw whether something goes wrong."""
        odds = self.odds[what]
        return not self.calm and odds > 0 and self.rng.random() < odds

    def tell(self, text: str) -> None:
        """Keep what happened, if that is asked for."""
        if self.trace is not None:
            self.trace.append(f"{self.now:9.3f}  {text}")

    def create(self, attempt: str) -> None:
        """The service creates what an attempt asks for. Raises Violation if that exists."""
        what = self.intents[attempt].what
        new = Created(attempt, what)
        superseded = {old for durable in self.store.durable for old in self.intents[durable].what.supersedes}
        for other in self.created.values():
            if not other.removed and other.attempt not in superseded and not other.routes.isdisjoint(new.routes):
                raise Violation(Promise.ONCE, f"{attempt} of {what.address} creates what {other.attempt} has created")
        self.created[attempt] = new
        self.tell(f"the service creates {attempt[:6]} of {what.address}")


class SimStore(MemoryStore):
    """The store of all machines. What it answers may be lost, late or old, but it compares and appends."""

    def __init__(self, world: World, *, second: bool) -> None:
        super().__init__(record_of(), second=second)
        self._world = world
        self._earlier: Stored = super().read()
        self.answered: set[str] = set()
        self.durable: set[str] = set()
        """The attempts whose intents the record was seen to hold, with a second place that followed."""

    def read(self) -> Stored:
        if self._world.happens("read_fails"):
            raise DOWN
        if self._world.happens("read_stale"):
            self._world.tell("a read shows what was before the last append")
            if self._world.loss_since is not None:
                self._world.loss_since = self._world.now  # nobody can notice what the store does not show
            return self._earlier
        return super().read()

    def append(self, head: str | None, lines: bytes, summary: str, *, second: str | None = None) -> None:
        world = self._world
        if world.happens("append_fails"):
            raise DOWN
        if world.happens("append_late"):
            world.later(world.rng.choice((0.1, 3.0, 80.0)), lambda: self._arrive(head, lines, summary, second))
            raise DOWN
        loses_second = self.second is not None and second is not None and world.happens("second_lost")
        self._append(head, lines, summary, None if loses_second else second)
        if loses_second or world.happens("append_lost"):
            raise world.rng.choice((DOWN, MOVED))

    def _append(self, head: str | None, lines: bytes, summary: str, second: str | None) -> None:
        earlier = super().read()
        super().append(head, lines, summary, second=second)
        self._earlier = earlier
        assert self.data is not None
        recorded = chain.parse(chain.complete(self.data), self.place)
        for line in recorded[len(recorded) - lines.count(b"\n") :]:
            self._world.tell(f"recorded: {type(line.fact).__name__} {getattr(line.fact, 'attempt', '')[:6]}")
            if isinstance(line.fact, Answered):
                self.answered.add(line.fact.attempt)
        if self.second is None or second is not None:
            self.durable |= {line.fact.attempt for line in recorded if isinstance(line.fact, Intended)}

    def _arrive(self, head: str | None, lines: bytes, summary: str, second: str | None) -> None:
        try:
            self._append(head, lines, summary, second)
        except (HeadMoved, StoreUnavailable):
            self._world.tell("a late append meets another head")
