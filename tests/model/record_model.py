"""A model of the record by itself: machines, places, chains, losses and creates as values, and what can follow.

It shares no code with the program. `World` is one state, `Model.steps` yields every state that can follow, with words
for it; a search (`search`) looks for a state in which a route exists twice at the service though nobody retried it on
purpose. Each rule of the design is a field of `Rules` and can be switched off: then the search finds the trace.

People in it say only what is true when they say it, and may paste it late. A chain is interned: a head is a number.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any, NamedTuple

Fact = tuple[Any, ...]
"""A kind, and what belongs to it."""


class Line(NamedTuple):
    """A fact in a chain; `origin` is the head under which another history had it, 0 if it was appended here."""

    fact: Fact
    origin: int


class Rules(NamedTuple):
    """The rules of the design; each is true in the program."""

    intent_first: bool = True
    notes_count: bool = True
    note_before_call: bool = True
    second_place: bool = True
    second_before_call: bool = True
    files_need_notes: bool = True
    loss_stops_creates: bool = True
    complete_names_losses: bool = True
    complete_waits: bool = True
    unknown_blocks: bool = True
    routes_of_all_addresses: bool = True
    bound_to_service: bool = True


class Bounds(NamedTuple):
    """How often each thing may happen, and what there is."""

    machines: int = 2
    places: int = 1
    is_file: bool = False
    routes: str = "R"
    batch: int = 1
    own_urls: bool = False
    attempts: int = 2
    kills: int = 1
    rollbacks: int = 1
    replaced: int = 0
    recoveries: int = 1
    losses: int = 2
    copies: int = 0
    pastes: int = 0
    renames: int = 0
    moved_services: int = 0
    retries: int = 0


class Machine(NamedTuple):
    """One machine: the place it uses, its notes (place, head), the address of the service in its settings, its run.

    A run is a tuple of (phase, attempt, route, supersedes), one for each attempt of its batch.
    """

    place: int = 0
    notes: frozenset[tuple[int, int]] = frozenset()
    service: int = 0
    run: tuple[Fact, ...] = ()
    head: int = 0


class World(NamedTuple):
    """One state of everything. `live` and `flying` are (attempt, route); `used` counts what happened, by bound."""

    heads: tuple[int, ...]
    seconds: tuple[int, ...]
    seen: tuple[frozenset[int], ...]
    machines: tuple[Machine, ...]
    live: frozenset[tuple[int, str]] = frozenset()
    flying: frozenset[tuple[int, str]] = frozenset()
    next_attempt: int = 1
    files: frozenset[Fact] = frozenset()
    pasted: tuple[Fact, ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    superseded: frozenset[int] = frozenset()
    used: tuple[tuple[str, int], ...] = ()


class Sum(NamedTuple):
    """What a chain adds up to. `attempts` are (attempt, route, status, address, service, superseded)."""

    attempts: tuple[Fact, ...]
    losses: frozenset[str]
    copy_losses: frozenset[str]
    closed: int
    services: frozenset[int]


_LINES: list[tuple[int, Line] | None] = [None]
_HEADS: dict[tuple[int, Line], int] = {}


def push(head: int, fact: Fact, origin: int = 0) -> int:
    """Return the head of a chain with one more line."""
    key = head, Line(fact, origin)
    if key not in _HEADS:
        _HEADS[key] = len(_LINES)
        _LINES.append(key)
    return _HEADS[key]


@cache
def lines(head: int) -> tuple[tuple[int, Line], ...]:
    """Return the lines of a chain, each with its head."""
    found = []
    while head:
        entry = _LINES[head]
        assert entry is not None
        found.append((head, entry[1]))
        head = entry[0]
    return tuple(reversed(found))


@cache
def contained(head: int) -> frozenset[int]:
    """Return the heads of all histories that a chain contains: of its lines, their origins, those that losses name."""
    heads: set[int] = set()
    for at, line in lines(head):
        heads.add(at)
        heads.add(line.origin)
        if line.fact[0] == "loss":
            heads.update(line.fact[2])
        if line.fact[0] == "joined":
            heads.update(line.fact[1])
    return frozenset(heads)


def has(head: int, other: int) -> bool:
    """True if the chain contains another head."""
    return not other or other in contained(head)


@cache
def add_up(head: int) -> Sum:
    """Return what a chain adds up to, whatever the order in which histories were merged."""
    facts: dict[int, dict[str, object]] = {}
    addresses: dict[int, str] = {}
    superseded: set[int] = set()
    losses: dict[str, str] = {}
    ended: set[str] = set()
    services: set[int] = set()
    closed = 0
    for _, line in lines(head):
        kind, *rest = line.fact
        match kind:
            case "intended" | "imported":
                attempt, route, address, service, over = rest
                facts.setdefault(attempt, {}).update({"route": route, kind: True, "service": service})
                addresses.setdefault(attempt, address)
                superseded.update(over)
                services.add(service)
            case "answered":
                attempt, (route, address, service), outcome = rest
                facts.setdefault(attempt, {}).update({"route": route, "service": service, outcome: True})
                addresses.setdefault(attempt, address)
                services.add(service)
            case "says" | "received":
                facts.setdefault(rest[0], {})[rest[1] if kind == "says" else "created"] = True
            case "renamed":
                addresses.update(dict.fromkeys(rest[0], rest[1]))
            case "rebound":
                services.update((0, 1))
            case "loss":
                losses[rest[0]] = rest[2]
                closed = closed if line.origin else 0
            case "done":
                ended.update(rest[0])
            case "closed":
                closed = closed if line.origin else rest[0]
            case _:
                pass
    attempts = tuple(
        (attempt, found["route"], _status(found), addresses[attempt], found["service"], attempt in superseded)
        for attempt, found in sorted(facts.items())
        if "route" in found
    )
    still_open = frozenset(losses) - ended
    copies = frozenset(loss for loss in still_open if losses[loss] == "copy")
    return Sum(attempts, still_open, copies, closed, frozenset(services))


def _status(found: dict[str, object]) -> str:
    if "created" in found or "imported" in found:
        return "live"
    return "not" if "not" in found else "unknown"


def merged(into: int, source: int) -> int:
    """Return the chain `into` with all that `source` has besides."""
    known = set(contained(into))
    joined = []
    for at, line in lines(source):
        origin = line.origin or at
        if origin not in known:
            into = push(into, line.fact, origin)
            known.add(origin)
        if at not in known:
            joined.append(at)
    return push(into, ("joined", tuple(joined))) if joined else into


class Model:
    """All that can happen under some rules and bounds."""

    def __init__(self, rules: Rules, bounds: Bounds) -> None:
        self.rules = rules
        self.bounds = bounds

    def start(self) -> World:
        """Return a world whose first place has a complete record, which every machine has seen if files need that."""
        bounds = self.bounds
        head = push(push(push(0, ("begun", "r")), ("loss", "begun", (), "begun")), ("done", ("begun",)))
        noted = frozenset([(0, head)])
        machines = tuple(Machine(notes=noted if index == 0 else frozenset()) for index in range(bounds.machines))
        rest = (0,) * (bounds.places - 1)
        seconds = ((0 if bounds.is_file else head), *rest)
        seen = (frozenset([head]), *(frozenset() for _ in rest))
        return World((head, *rest), seconds, seen, machines, names=tuple((route, route) for route in bounds.routes))

    def steps(self, world: World) -> Iterator[tuple[str, World]]:
        """Yield every state that can follow, with words for what happens."""
        for index, machine in enumerate(world.machines):
            yield from self._run_steps(world, index, machine)
            if not machine.run:
                yield from self._begin_run(world, index, machine)
                yield from self._people(world, index, machine)
                yield from self._copies(world, index, machine)
        yield from self._service(world)
        yield from self._accidents(world)

    # Gates

    def missed(self, world: World, machine: Machine) -> frozenset[int]:
        """Return the heads that are remembered and that the record at the machine's place lacks."""
        head = world.heads[machine.place]
        heads = {note for _, note in machine.notes} if self.rules.notes_count else set()
        if self.rules.second_place and not self.bounds.is_file:
            heads.add(world.seconds[machine.place])
        return frozenset(other for other in heads if other and not has(head, other))

    def first_gate(self, world: World, machine: Machine) -> bool:
        """True if the record at the machine's place is the one to go by."""
        head = world.heads[machine.place]
        if not head or self.missed(world, machine):
            return False
        if not self.bounds.is_file:
            return not self.rules.second_place or bool(world.seconds[machine.place])
        noted = any(place == machine.place for place, _ in machine.notes)
        return noted or not self.rules.files_need_notes

    def wanted(self, world: World, machine: Machine) -> Iterator[tuple[str, str, tuple[int, ...]]]:
        """Yield what an apply would create: address, route, and the attempts that a retry supersedes."""
        record = add_up(world.heads[machine.place])
        if not self.first_gate(world, machine) or record.closed:
            return
        if record.losses and self.rules.loss_stops_creates:
            return
        if self.rules.bound_to_service and record.services and machine.service not in record.services:
            return
        for address, route in world.names:
            ours = [
                attempt for attempt in record.attempts if attempt[1] == route and not attempt[5]
                and (self.rules.routes_of_all_addresses or attempt[3] == address)
                and (self.rules.bound_to_service or attempt[4] == machine.service)
            ]  # fmt: skip
            unknown = [attempt[0] for attempt in ours if attempt[2] == "unknown"]
            if any(attempt[2] == "live" for attempt in ours):
                continue
            if not unknown or not self.rules.unknown_blocks:
                yield address, route, ()
            elif self._left(world, "retries") and self.bounds.own_urls and not self._may_fly(world, unknown):
                yield address, route, tuple(unknown)

    # An apply: intents in one append, then a note, then the calls, then the outcomes

    def _begin_run(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        drafts = list(self.wanted(world, machine))[: self.bounds.batch]
        if not drafts or world.next_attempt + len(drafts) - 1 > self.bounds.attempts:
            return
        run, head, number = [], world.heads[machine.place], world.next_attempt
        after = world
        for attempt, (address, route, over) in enumerate(drafts, number):
            head = push(head, ("intended", attempt, route, address, machine.service, over))
            run.append(("intended", attempt, route, address, over))
            after = self._use(after, "retries") if over else after
            after = after._replace(superseded=after.superseded | frozenset(over))
        after = after._replace(next_attempt=number + len(drafts))
        if self.rules.intent_first:
            after = self._write(after, machine.place, head, moves_second=False)
        yield f"m{index}: intents {number}…", self._with(after, index, machine._replace(run=tuple(run), head=head))

    def _run_steps(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        if machine.run and self._left(world, "kills"):
            yield f"m{index} is killed", self._with(self._use(world, "kills"), index, machine._replace(run=()))
        for number, (phase, attempt, route, address, _) in enumerate(machine.run):
            match phase:
                case "intended":
                    yield f"m{index}: {attempt} not sent in time", self._to(world, index, number, "not")
                    ready = self._ready(world, index, machine)
                    if ready is not None:
                        run = tuple(("ready", *item[1:]) for item in machine.run)
                        yield f"m{index}: head noted", self._with(ready, index, ready.machines[index]._replace(run=run))
                case "ready":
                    flying = world._replace(flying=world.flying | {(attempt, route)})
                    yield f"m{index}: call {attempt}", self._to(flying, index, number, "called")
                case "called":
                    yield from self._answers(world, index, number)
                case _:
                    fact = ("answered", attempt, (route, address, machine.service), phase)
                    rest = tuple(item for at, item in enumerate(machine.run) if at != number)
                    head = world.heads[machine.place]
                    if head and not add_up(head).closed:
                        after = self._append(world, index, push(head, fact))
                    else:
                        after = world._replace(files=world.files | {fact})
                    ended = after.machines[index]._replace(run=rest)
                    yield f"m{index}: outcome {attempt} {phase}", self._with(after, index, ended)

    def _answers(self, world: World, index: int, number: int) -> Iterator[tuple[str, World]]:
        """Yield what a machine may hear of a call in flight."""
        attempt, route = world.machines[index].run[number][1:3]
        yield f"m{index}: answer {attempt} lost", self._to(world, index, number, "unknown")
        if (attempt, route) in world.live:
            yield f"m{index}: {attempt} created", self._to(world, index, number, "created")
        elif (attempt, route) in world.flying:
            rejected = world._replace(flying=world.flying - {(attempt, route)})
            yield f"m{index}: {attempt} rejected", self._to(rejected, index, number, "not")

    def _to(self, world: World, index: int, number: int, phase: str) -> World:
        """Return the world with one call of a machine's run in another phase."""
        run = world.machines[index].run
        changed = _set(run, number, (phase, *run[number][1:]))
        return self._with(world, index, world.machines[index]._replace(run=changed))

    def _ready(self, world: World, index: int, machine: Machine) -> World | None:
        """Return the world once the head of the run's own append is noted, and the second place shows it; else None."""
        place, rules = machine.place, self.rules
        if not rules.intent_first:
            return world
        if rules.second_place and rules.second_before_call and not self.bounds.is_file:
            if not (has(world.heads[place], machine.head) and has(machine.head, world.seconds[place])):
                return None
            seconds = _set(world.seconds, place, machine.head)
            world = world._replace(seconds=seconds)
        if not rules.note_before_call:
            return world
        if any(not has(machine.head, note) for _, note in machine.notes) and rules.notes_count:
            return None
        return self._with(world, index, _noted(machine, machine.head))

    # What people do

    def _people(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        place, head = machine.place, world.heads[machine.place]
        missed, gate = self.missed(world, machine), self.first_gate(world, machine)
        record = add_up(head)
        if not gate and self._left(world, "losses") and (head or machine.notes or missed):
            yield f"m{index}: accept-loss", self._accept(world, index, machine, missed)
        if not head or record.closed:
            return
        for fact in world.files:
            after = self._append(world, index, push(head, fact))
            yield f"m{index}: recover file", after._replace(files=world.files - {fact})
        if self._left(world, "recoveries"):
            for source in frozenset().union(*world.seen):
                if not has(head, source):
                    after = self._append(self._use(world, "recoveries"), index, merged(head, source))
                    yield f"m{index}: recover backup {source}", after
        if gate:
            yield from self._statements(world, index, machine, record)
        if gate and (place, head) not in machine.notes:
            yield f"m{index}: plan", self._with(world, index, _noted(machine, head))

    def _statements(self, world: World, index: int, machine: Machine, record: Sum) -> Iterator[tuple[str, World]]:
        head = world.heads[machine.place]
        for attempt, route, status, _, _, _ in record.attempts:
            if status == "unknown" and not self._may_fly(world, [attempt]):
                word = "created" if (attempt, route) in world.live else "not"
                yield (
                    f"m{index}: resolve {attempt} {word}",
                    self._append(world, index, push(head, ("says", attempt, word))),
                )
            if self.bounds.own_urls and (attempt, route) in world.live and status != "live":
                yield f"m{index}: {attempt} delivers", self._append(world, index, push(head, ("received", attempt, 0)))
        known = {attempt[0] for attempt in record.attempts if attempt[2] == "live"}
        for attempt, route in world.live:
            delivered = any(found[1] == route and found[2] in ("live", "unknown") for found in record.attempts)
            if attempt not in known and not delivered:
                fact = ("imported", 100 + attempt, route, route, machine.service, ())
                yield f"m{index}: import {route}", self._append(world, index, push(head, fact))
        yield from self._bindings(world, index, machine, record)
        losses = record.losses - record.copy_losses
        if losses and self._is_complete(world, machine, record):
            done = ("done", tuple(sorted(losses)))
            yield f"m{index}: complete", self._append(world, index, push(head, done))
            if self._left(world, "pastes"):
                yield (
                    "a second person copies `complete`",
                    self._use(world, "pastes")._replace(pasted=(*world.pasted, done)),
                )
        for done in world.pasted:
            named = tuple(sorted(set(done[1]) & losses if self.rules.complete_names_losses else losses))
            if named:
                after = self._append(world, index, push(head, ("done", named)))
                yield f"m{index}: pastes complete late", after._replace(pasted=())

    def _bindings(self, world: World, index: int, machine: Machine, record: Sum) -> Iterator[tuple[str, World]]:
        """Yield `mv` of a renamed subscription, and `rebind` of a service under another address."""
        head = world.heads[machine.place]
        for old in {found[3] for found in record.attempts}:
            for new, route in world.names:
                moving = tuple(found[0] for found in record.attempts if found[3] == old and found[1] == route)
                if new != old and moving and not any(found[3] == new for found in record.attempts):
                    yield f"m{index}: mv {old} {new}", self._append(world, index, push(head, ("renamed", moving, new)))
        if record.services and machine.service not in record.services:
            yield f"m{index}: rebind", self._append(world, index, push(head, ("rebound",)))

    def _is_complete(self, world: World, machine: Machine, record: Sum) -> bool:
        """True if someone may truthfully say that all that exists is recorded, and the program takes their word."""
        if any(found[2] == "unknown" and not found[5] for found in record.attempts):
            return False
        if self.rules.complete_waits and (world.flying or self._may_fly(world, None)):
            return False
        for place, head in enumerate(world.heads):
            other = add_up(head)
            if place != machine.place and head and not other.closed and not other.losses:
                return False  # another record is in use
        recorded = {found[1] for found in record.attempts if found[2] in ("live", "unknown")}
        return all(route in recorded for _, route in world.live)

    def _accept(self, world: World, index: int, machine: Machine, missed: frozenset[int]) -> World:
        head = world.heads[machine.place]
        named = missed if head else missed | {note for _, note in machine.notes}
        loss = ("loss", f"accepted {self._count(world, 'losses')}", tuple(sorted(named)), "accepted")
        after = self._use(world, "losses")
        head = push(head or push(0, ("begun", "r")), loss)
        after = self._write(after, machine.place, head, moves_second=True)
        return self._with(after, index, _noted(machine, head))

    # Copies

    def _copies(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        """Yield the steps of `state copy A B` on machine 0: a loss at B, A closed, A merged into B."""
        if index or self.bounds.places < 2 or not world.heads[0]:
            return
        first, second = world.heads
        there = add_up(second) if second else None
        here = add_up(first)
        if not here.closed and self._left(world, "copies") and not self.missed(world, machine._replace(place=0)):
            if there is None or "copy" not in there.copy_losses:
                begun = second or push(0, ("begun", "r"))
                head = push(begun, ("loss", "copy", (), "copy"))
                after = self._write(world, 1, head, moves_second=True)
                yield "copy: loss at B", self._with(after, 0, _noted(machine, head, 1))
            else:
                closed = push(first, ("closed", 1))
                yield "copy: A closed", self._use(self._write(world, 0, closed, moves_second=True), "copies")
        if here.closed and first not in contained(second) and there is not None and not there.closed:
            head = push(merged(second, first), ("done", ("copy",)))
            after = self._write(world, 1, head, moves_second=True)
            yield "copy: merged into B", self._with(after, 0, _noted(machine, head, 1))
        if here.closed:
            for number, other in enumerate(world.machines):
                if other.place == 0 and not other.run:
                    yield f"m{number} uses B", self._with(world, number, other._replace(place=1))

    # The service, and accidents

    def _service(self, world: World) -> Iterator[tuple[str, World]]:
        for call in world.flying:
            after = world._replace(flying=world.flying - {call})
            yield f"{call[0]} lands", after._replace(live=world.live | {call})
            if not any(item[:2] == ("called", call[0]) for machine in world.machines for item in machine.run):
                yield f"{call[0]} never arrives", after

    def _accidents(self, world: World) -> Iterator[tuple[str, World]]:
        if self._left(world, "rollbacks"):
            for place, seen in enumerate(world.seen):
                for head in (seen | {0}) - {world.heads[place]}:
                    after = self._use(world, "rollbacks")
                    yield f"place {place} is set to {head}", after._replace(heads=_set(world.heads, place, head))
        for index, machine in enumerate(world.machines):
            if self._left(world, "replaced") and machine.notes and not machine.run:
                fresh = machine._replace(notes=frozenset())
                yield f"m{index} is replaced", self._with(self._use(world, "replaced"), index, fresh)
            if self._left(world, "moved_services") and not machine.run:
                moved = machine._replace(service=1 - machine.service)
                yield f"m{index}: other base_url", self._with(self._use(world, "moved_services"), index, moved)
        if self._left(world, "renames"):
            for number, (name, route) in enumerate(world.names):
                names = _set(world.names, number, (f"{name}'", route))
                yield f"{name} is renamed in config/", self._use(world, "renames")._replace(names=names)

    # Small things

    def _may_fly(self, world: World, attempts: list[int] | None) -> bool:
        """True if a call of one of these attempts (None: of any) may still be sent or arrive."""
        flying = {attempt for attempt, _ in world.flying}
        flying |= {item[1] for machine in world.machines for item in machine.run}
        return bool(flying) if attempts is None else not flying.isdisjoint(attempts)

    def _append(self, world: World, index: int, head: int) -> World:
        """Append at a machine's place; its note and the second place move only if the first gate is open."""
        machine = world.machines[index]
        gate = self.first_gate(world, machine)
        after = self._write(world, machine.place, head, moves_second=gate or not self.rules.notes_count)
        return self._with(after, index, _noted(machine, head)) if gate else after

    def _write(self, world: World, place: int, head: int, *, moves_second: bool) -> World:
        seconds = _set(world.seconds, place, head) if moves_second and not self.bounds.is_file else world.seconds
        seen = _set(world.seen, place, world.seen[place] | {head})
        return world._replace(heads=_set(world.heads, place, head), seconds=seconds, seen=seen)

    def _with(self, world: World, index: int, machine: Machine) -> World:
        return world._replace(machines=_set(world.machines, index, machine))

    def _count(self, world: World, bound: str) -> int:
        return dict(world.used).get(bound, 0)

    def _left(self, world: World, bound: str) -> bool:
        return self._count(world, bound) < int(getattr(self.bounds, bound))

    def _use(self, world: World, bound: str) -> World:
        used = dict(world.used)
        used[bound] = used.get(bound, 0) + 1
        return world._replace(used=tuple(sorted(used.items())))


def _noted(machine: Machine, head: int, place: int | None = None) -> Machine:
    at = machine.place if place is None else place
    return machine._replace(notes=frozenset(note for note in machine.notes if note[0] != at) | {(at, head)})


def _set(values: Fact, index: int, value: object) -> Fact:
    return (*values[:index], value, *values[index + 1 :])


def exists_twice(world: World) -> bool:
    """True if a route exists twice at the service, and nobody retried it on purpose."""
    routes = [route for attempt, route in world.live if attempt not in world.superseded]
    return len(routes) != len(set(routes))


def search(model: Model, states: int) -> tuple[list[str] | None, int]:
    """Explore breadth-first; return the shortest trace to a route that exists twice, if any, and the states seen."""
    start = model.start()
    parents: dict[World, tuple[World, str] | None] = {start: None}
    queue = deque([start])
    while queue and len(parents) < states:
        world = queue.popleft()
        for words, after in model.steps(world):
            if after in parents:
                continue
            parents[after] = (world, words)
            if exists_twice(after):
                return _trace(parents, after), len(parents)
            queue.append(after)
    return None, len(parents)


def walk(model: Model, seeds: int, length: int = 80) -> tuple[list[str] | None, int]:
    """Walk at random under so many seeds; return a trace to a route that exists twice, if any, and the steps made."""
    count = 0
    for seed in range(seeds):
        random, world, trace = Random(seed), model.start(), list[str]()
        for _ in range(length):
            after = list(model.steps(world))
            if not after:
                break
            words, world = random.choice(after)
            trace.append(words)
            count += 1
            if exists_twice(world):
                return trace, count
    return None, count


def _trace(parents: dict[World, tuple[World, str] | None], world: World) -> list[str]:
    trace = []
    while (parent := parents[world]) is not None:
        world, words = parent
        trace.append(words)
    return trace[::-1]
