"""The outside of a life: its clock, the service with its operator, and the places, with their faults."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Any, NoReturn

from msgspec import Struct

from reconciler.errors import HeadMoved, StoreUnavailable
from reconciler.model.record import Attempt, Record
from reconciler.model.url import normal_url, service_key
from reconciler.record.chain import complete, last_head, parse
from reconciler.record.fold import fold
from reconciler.record.store import Stored
from support.memory_record import DOWN, MOVED, MemoryStore
from support.simulation.world import Timeline, Violation

BEGINNING = 1_800_000_000.0
ONE, TWO, ALIAS = "https://api.one.test", "https://api.two.test", "https://api.renamed.test"

Route = tuple[str, str, str]
"""The service, an event code, and the URL as a template."""


class Promise(StrEnum):
    """What every life is held to."""

    ONCE = "no route is created that exists, unless a retry superseded it"
    AT_HOME = "nothing is created at another service, or for another account, than the record has"
    NOT_FORGOTTEN = "what exists is in force in the record that is left"
    DONE = "a plan that exits with 0 has all that is desired created"
    WAY_ON = "the commands that messages name lead to an end"
    NO_INIT = "with CI set no message names `state init`"
    SOUND = "no command ends with an internal error"


class Subscription(Struct):
    """A subscription at the service; `codes` are those that the operator has not deleted."""

    attempt: str
    service: str
    codes: set[str]
    url: str
    template: str

    @property
    def routes(self) -> set[Route]:
        """Its routes, by template."""
        return {(self.service, code, normal_url(self.template)) for code in self.codes}


class Request(Struct):
    """What the operator was asked to delete."""

    attempt: str
    codes: tuple[str, ...]


class World(Timeline):
    """Time, chance, the service and the places of a life."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng, BEGINNING)
        self.slow = 0
        self.places: dict[tuple[str, str], Shelf] = {}
        self.subscriptions: list[Subscription] = []
        self.requests: list[Request] = []
        self.same_service: dict[str, str] = {}
        self.trace: list[str] = []
        self.retried: set[str] = set()
        self.broken: Violation | None = None
        self.reach: Callable[[str], None] = lambda point: None

    # What happens

    def happens(self, odds: float) -> bool:
        """Draw whether something goes wrong."""
        return not self.calm and self.rng.random() < odds

    def tell(self, text: str) -> None:
        """Keep what happened."""
        self.trace.append(f"{self.now - BEGINNING:10.1f}  {text}")

    # The service and its operator

    def service_of(self, base_url: str) -> str:
        """Return the key of the service at an address."""
        return service_key(self.same_service.get(base_url, base_url))

    def create(self, new: Subscription) -> None:
        """The service creates what it is asked for. Raises Violation if that exists."""
        for other in self.subscriptions:
            if other.attempt not in self.retried and not other.routes.isdisjoint(new.routes):
                twice = sorted(other.routes & new.routes)
                self.break_promise(Promise.ONCE, f"{new.attempt} creates {twice}, created by {other.attempt}")
        self.subscriptions.append(new)
        self.tell(f"the service creates {new.attempt[:6]}: {sorted(new.routes)}")

    def break_promise(self, promise: Promise, how: str) -> NoReturn:
        """Raise Violation, and keep it: the program may take it for an error of its own."""
        self.broken = Violation(promise, how)
        raise self.broken

    def superseded(self) -> set[str]:
        """Return the attempts in whose place others were sent, as the records have it that are left."""
        attempts = (attempt for _, record in self.records() for attempt in record.attempts.values())
        known = {attempt.id: attempt for attempt in attempts}
        sent_again = {old for attempt in known.values() for old in attempt.supersedes}
        return sent_again | {attempt.id for attempt in known.values() if attempt.superseded_by}

    def exists(self, route: Route) -> bool:
        """True if a subscription delivers this route."""
        return any(route in subscription.routes for subscription in self.subscriptions)

    def alive(self, attempt: Attempt) -> set[str]:
        """Return the codes that what an attempt stands for has at the service."""
        own = [found for found in self.subscriptions if found.attempt == attempt.id]
        codes = {*attempt.codes, *attempt.removed_codes}
        url, service = normal_url(attempt.url), self.service_of(attempt.base_url)
        like = (found for found in self.subscriptions if (found.service, normal_url(found.url)) == (service, url))
        mine = own or ([] if attempt.settled_by else list(like))
        return {code for found in mine for code in found.codes & codes}

    def delete(self, request: Request, attempt: Attempt) -> None:
        """The operator deletes what was asked for."""
        url, service = normal_url(attempt.url), self.service_of(attempt.base_url)
        for found in self.subscriptions:
            is_like = (found.service, normal_url(found.url)) == (service, url)
            if found.attempt == attempt.id or (is_like and not attempt.settled_by):
                found.codes -= set(request.codes)
        self.tell(f"the operator deletes {', '.join(request.codes)} of {request.attempt[:6]}")

    # The places

    def records(self) -> Iterator[tuple[tuple[str, str], Record]]:
        """Yield the record at each place that has one."""
        for key, shelf in self.places.items():
            if shelf.data:
                yield key, shelf.record

    def attempt(self, attempt: str) -> Attempt | None:
        """Return an attempt that some record has; the one that was appended to last is asked first."""
        found = [record for _, record in self.records() if attempt in record.attempts]
        return max(found, key=lambda record: record.entries).attempts[attempt] if found else None


class Shelf(MemoryStore):
    """A place. `path` is set for a file; the others are shared by all machines, and can answer late or not at all."""

    def __init__(self, world: World, place: str) -> None:
        is_file = "://" not in place and not place.startswith("git:")
        super().__init__(second=place.startswith("git:"))
        self.place = place
        self.path = Path(place) if is_file else None
        self.backups: list[tuple[bytes | None, str | None]] = []
        self._world = world
        self._folded: tuple[bytes, Record] | None = None

    @property
    def record(self) -> Record:
        """The record as it is, whatever is remembered of it."""
        assert self.data is not None
        if self._folded is None or self._folded[0] is not self.data:
            self._folded = (self.data, fold(parse(self.data, self.place)))
        return self._folded[1]

    def read(self) -> Stored:
        if self.path is None and self._world.happens(0.01):
            raise DOWN
        return super().read()

    def append(self, head: str | None, lines: bytes, summary: str, *, second: str | None = None) -> None:
        world = self._world
        facts = [json.loads(line) for line in lines.splitlines()]
        world.retried |= {old for fact in facts for old in (fact.get("what") or {}).get("supersedes", ())}
        self._refuse_foreign(facts)
        world.reach("before-append")
        shared = self.path is None
        if world.happens(0.02):
            raise DOWN
        if shared and world.happens(0.01):
            seconds = world.rng.choice((0.1, 3.0, 80.0))
            world.later(seconds, lambda: self._arrive(head, lines, summary, second))
            raise DOWN
        loses_second = self.second is not None and second is not None and world.happens(0.03)
        super().append(head, lines, summary, second=None if loses_second else second)
        kinds = " ".join(fact["kind"] for fact in facts)
        world.tell(f"{self.place}: {kinds}{' (second lost)' if loses_second else ''}")
        world.reach("after-append")
        if loses_second or (shared and world.happens(0.03)):
            raise world.rng.choice((DOWN, MOVED))

    def _refuse_foreign(self, facts: list[dict[str, Any]]) -> None:
        """Raise Violation for an intent at another service, or account, than the record has the target at."""
        world = self._world
        if self.data is None:
            return
        for what in (fact["what"] for fact in facts if fact["kind"] == "intended" and not fact.get("origin")):
            target = what["address"].rpartition("/")[0]
            services = {world.service_of(url) for url in self.record.base_urls.get(target, ())}
            accounts = self.record.accounts.get(target, frozenset())
            if services and world.service_of(what["base_url"]) not in services:
                world.break_promise(Promise.AT_HOME, f"{target} is at {services}, not {what['base_url']}")
            if accounts and what["account"] not in accounts:
                world.break_promise(Promise.AT_HOME, f"{target} is of another account than {what['account']}")

    def _arrive(self, head: str | None, lines: bytes, summary: str, second: str | None) -> None:
        try:
            super().append(head, lines, summary, second=second)
            self._world.tell(f"{self.place}: a late append arrives")
        except (HeadMoved, StoreUnavailable):
            self._world.tell(f"{self.place}: a late append meets another head")

    # What the owner of a place can do to it

    def back_up(self) -> None:
        """Keep what is there."""
        self.backups.append((self.data, self.second))

    def restore(self, backup: tuple[bytes | None, str | None], *, second: bool) -> None:
        """Put a backup back; `second`: with the second place."""
        self.data = backup[0]
        if second and self.second is not None:
            self.second = backup[1]

    def head(self) -> str:
        """Return the head of what is there, "" for nothing."""
        return (last_head(complete(self.data)) or "") if self.data else ""


class Wanted(Struct):
    """What `config/` says, as a person has written it; `name` has codes and URL template by address."""

    targets: dict[str, str]
    subscriptions: dict[str, tuple[tuple[str, ...], str]]
    record: str = ""
    retries: bool = False

    def text(self, state: str, recipient: str) -> str:
        """Return the file."""
        lines = [f"state: {state}"] + ([f"record: {self.record}"] if self.record else [])
        lines += [f"recipients: [{recipient}]", "targets:"]
        rest = "overlap: allow, unknown: retry" if self.retries else "overlap: allow"
        lines += [
            f"  {name}: {{auth_url: 'https://login.test', base_url: '{url}', {rest}}}"
            for name, url in self.targets.items()
        ]
        lines += ["subscriptions:"] if self.subscriptions else []
        by_target: dict[str, list[str]] = {}
        for address, (codes, url) in self.subscriptions.items():
            target, _, name = address.rpartition("/")
            text = f"    {name}: {{eventCodes: [{', '.join(codes)}], webhookUrl: '{url}'}}"
            by_target.setdefault(target, []).append(text)
        for target, texts in by_target.items():
            lines += [f"  {target}:", *texts]
        return "\n".join(lines) + "\n"

    def routes(self, address: str, services: Mapping[str, str]) -> set[Route]:
        """Return the routes that an address desires; `services` has the key of each target's service."""
        codes, url = self.subscriptions[address]
        return {(services[address.rpartition("/")[0]], code, normal_url(url)) for code in codes}
