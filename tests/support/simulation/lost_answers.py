"""Projects whose service loses answers: what is settled without a person, and what an endpoint handles, in figures.

An outage of hours, in which applies are repeated; then days, in each of which events arrive, what was received is
observed, an apply runs, and the operator removes what was requested the day before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

from msgspec import Struct

from reconciler.applying import execution
from reconciler.model.outcome import Outcome
from reconciler.model.record import Record, Status
from reconciler.operations.observing import observed
from reconciler.planning.status import status
from reconciler.record.facts import Answered
from reconciler.record.statements import ConfirmRemoval, Resolve
from reconciler.reports.json import render, status_json
from reconciler.values import stamp
from support.desired_values import desired_of, plan_for, target_of
from support.endpoint import Endpoint
from support.memory_project import MemoryProject
from support.simulation.machine import LIMITS, Machine
from support.simulation.world import ODDS, WALL, Created, World

OUTAGE = {**dict.fromkeys(ODDS, 0.0), "not_created": 0.25, "late": 0.1, "answer_lost": 0.2}
_HOOKS = "https://hooks.example"
_TARGETS = {"europe/staging": "https://eu.example", "usa/staging": "https://usa.example"}
_NAMES = {"a": ("ONB10001", "ONB10002"), "b": ("ONB10003",), "c": ("ONB10004", "LOA10013"), "d": ("ONB10011",)}
_HOUR, _DAY, _DAYS = 3_600.0, 86_400.0, 5
_SETTLED = LIMITS.settled_in + 30.0


class Way(Struct, frozen=True):
    """A way to deal with lost answers: URLs with `{attempt}` or not, `unknown:` of the targets, and what people say.

    `denies`: when the outage is over, somebody says of each unknown create that it was not created, true or not.
    """

    name: str
    own_urls: bool
    unknown: str = "wait"
    denies: bool = False


WAYS = (
    Way("shared", own_urls=False), Way("shared, denied", own_urls=False, denies=True), Way("own", own_urls=True),
    Way("own, denied", own_urls=True, denies=True), Way("own, retry", own_urls=True, unknown="retry"),
)  # fmt: skip


class Figures(Struct):
    """What happened, in numbers, until the end.

    An event is handled twice if two deliveries of it are, and lost if it was delivered and none is handled: by an
    endpoint with a current list, and by one whose list is a day old. `twice_unsettled` are those of `twice` at an
    address with an unknown create that no later one supersedes.
    """

    answers_lost: int = 0
    created: int = 0
    delivered: int = 0
    proven: int = 0
    waiting: int = 0
    addresses: int = 0
    not_delivering: int = 0
    exist_twice: int = 0
    exist_twice_listed: int = 0
    events: int = 0
    twice: int = 0
    twice_unsettled: int = 0
    lost: int = 0
    twice_day_old: int = 0
    lost_day_old: int = 0

    def __add__(self, other: Figures) -> Figures:
        return Figures(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


_ROWS = {
    "answers_lost": "answers lost", "created": "  of these, created", "delivered": "  delivered later",
    "proven": "  settled by a notification", "waiting": "  waiting for a person at the end", "addresses": "addresses",
    "not_delivering": "  nothing exists", "exist_twice": "  subscriptions too many",
    "exist_twice_listed": "  ... listed for removal", "events": "events", "twice": "  handled twice",
    "twice_unsettled": "  ... while unsettled", "lost": "  lost", "twice_day_old": "  handled twice, list a day old",
    "lost_day_old": "  lost, list a day old",
}  # fmt: skip


def table(figures: Mapping[Way, Figures]) -> str:
    """Return the figures of several ways side by side."""
    rows = [("", *(way.name for way in figures))]
    rows += [(title, *(str(getattr(found, field)) for found in figures.values())) for field, title in _ROWS.items()]
    return "\n".join(f"{first:33}" + "".join(f"{cell:>16}" for cell in cells) for first, *cells in rows)


class _World(World):
    def create(self, attempt: str) -> None:
        """Create what an attempt asks for, also what exists: a person may have said that it does not."""
        self.created[attempt] = Created(attempt, self.intents[attempt].what)


class Lost:
    """One project under one seed, which deals with lost answers in one way. `figures` are those of its `live`."""

    def __init__(self, seed: int, way: Way, directory: Path) -> None:
        self.way = way
        self.figures = Figures()
        self.world = _World(seed, OUTAGE)
        suffix = "/{attempt}" if way.own_urls else ""
        self.desired = desired_of(
            [target_of(name, base_url, unknown=way.unknown) for name, base_url in _TARGETS.items()],
            {
                f"{target}/{name}": (codes, f"{_HOOKS}/{target}/{name}{suffix}")
                for target in _TARGETS
                for name, codes in _NAMES.items()
            },
        )
        self.people = MemoryProject({"memory:a": self.world.store}, self.desired)
        self._directory = directory
        self.current, self.day_old = Endpoint(directory / "current"), Endpoint(directory / "day-old")
        self._captured: list[dict[str, Any]] = []
        self._urls: set[str] = set()
        self._requested: dict[str, str] = {}

    def live(self, *, events_from: int = 0) -> Figures:
        """Live through an outage and the days after it. Events arrive from that hour on, 0: after the outage."""
        with patch.object(execution, "unless_interrupted", lambda job, *_: job()):  # a thread would bring real time in
            self._list(self.current, self.day_old)
            for hour in range(1, 9):
                self._apply()
                self.world.pause(_HOUR)
                if events_from and hour >= events_from:
                    self._list(self.current)
                    self._hear(0.3)
                    self._observe()
            self.world.calm = True
            if self.way.denies:
                self._deny()
            self._apply()
            self._list(self.current)
            for day in range(_DAYS):
                self._hear(1.0 if day else 0.7)
                self.world.pause(_DAY)
                self._list(self.day_old)
                self._observe()
                self._remove()
                self._apply()
                self._list(self.current)
        self._count()
        return self.figures

    @property
    def record(self) -> Record:
        """What is recorded by now."""
        return self.people.record_at()

    def _apply(self) -> None:
        """Let a scheduled apply run to its end, and its calls settle."""
        Machine(self.world, "scheduled", 1, lambda: self.desired).apply()
        while self.world.step():
            pass
        self.world.pause(_SETTLED)
        self.people.clock = WALL + self.world.now

    def _deny(self) -> None:
        """Somebody says that what is unknown was not created."""
        attempts = [attempt for attempt in self.record.attempts.values() if attempt.unresolved]
        for attempt in attempts:
            self.people.say(Resolve(attempt.address, created=False, attempts=(attempt.id,)))

    def _list(self, *endpoints: Endpoint) -> None:
        """Let endpoints take a list as of now."""
        now = self.people.clock = WALL + self.world.now
        reading = self.people.journal.read()
        shown = status(self.desired, reading.record, plan_for(self.desired, reading, now), now)
        for endpoint in endpoints:
            endpoint.take(render(status_json(shown)))

    def _existing(self) -> Iterator[Created]:
        return (created for created in self.world.created.values() if not created.removed)

    def _hear(self, odds: float) -> None:
        """Let events happen: each is delivered to every subscription that exists, in any order."""
        for address, wanted in self.desired.subscriptions.items():
            for code in wanted.codes:
                if self.world.rng.random() < odds:
                    there = [found for found in self._existing() if found.what.address == address]
                    self.world.rng.shuffle(there)
                    self._deliver(code, [found for found in there if code in found.what.codes])

    def _deliver(self, code: str, there: list[Created]) -> None:
        figures, handled = self.figures, {self.current: 0, self.day_old: 0}
        for found in there:
            self._urls.add(found.what.url)
            path = found.what.url.removeprefix(_HOOKS)
            self._captured.append({"at": stamp(WALL + self.world.now), "code": code, "path": path, "verified": True})
            for endpoint in handled:
                handled[endpoint] += not endpoint.is_surplus(path, found.what.template or found.what.url)
        figures.events += 1
        if handled[self.current] > 1:
            figures.twice += 1
            address = there[0].what.address
            figures.twice_unsettled += any(found.blocks for found in self.record.at_address(address))
        figures.twice_day_old += handled[self.day_old] > 1
        figures.lost += bool(there) and not handled[self.current]
        figures.lost_day_old += bool(there) and not handled[self.day_old]

    def _observe(self) -> None:
        """Record what was received since, as a schedule does."""
        self.people.clock = WALL + self.world.now
        file = self._directory / "notifications.jsonl"
        file.write_text("".join(json.dumps(captured) + "\n" for captured in self._captured))
        self._captured.clear()
        self.people.say(observed(self.people, str(file)))

    def _remove(self) -> None:
        """The operator removes what was requested the day before, and that is recorded."""
        awaiting = {found.id: found for found in self.record.attempts.values() if found.requested_codes}
        for attempt in awaiting.keys() & self._requested.keys():
            self.world.created[attempt].removed = True
            self.people.say(ConfirmRemoval(self._requested[attempt], attempts=(attempt,)))
        self._requested = {attempt: found.address for attempt, found in awaiting.items()}

    def _count(self) -> None:
        figures, attempts = self.figures, self.record.attempts
        facts = [line.fact for line in self.people.journal.read().lines]
        lost = {f.attempt for f in facts if isinstance(f, Answered) and f.outcome is Outcome.UNKNOWN}
        delivered = {found for found in lost if self.world.created.get(found) and attempts[found].url in self._urls}
        figures.answers_lost = len(lost)
        figures.created = len(lost & self.world.created.keys())
        figures.delivered = len(delivered)
        figures.proven = sum(bool(attempts[found].received) for found in delivered)
        figures.waiting = sum(attempts[found].blocks for found in lost)
        existing = [attempts[found.attempt] for found in self._existing()]
        figures.addresses = len(self.desired.subscriptions)
        for address in self.desired.subscriptions:
            there = [found for found in existing if found.address == address]
            figures.not_delivering += not there
            figures.exist_twice += max(len(there) - 1, 0)
            figures.exist_twice_listed += sum(found.status is Status.AWAITING_REMOVAL for found in there)
