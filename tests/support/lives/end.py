"""The end of a life: nothing goes wrong any more, and somebody follows the advice until there is nothing left to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.lives import advice as reading
from support.lives import claims
from support.lives.person import Read, confirmations, imports
from support.lives.world import Promise
from support.simulation.world import Violation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from support.command_line import Ran
    from support.lives.life import Life
    from support.lives.machine import Machine

_STEPS = 120


def end(life: Life) -> None:
    """Follow the advice until a plan has nothing to do, then look at what there is. Raises Violation."""
    life.world.calm = True
    life.world.tell("faults stop")
    life.world.pause(1_000.0)
    machine = _chosen(life)
    life.machines.one_is_left = True
    machine.write_config(life.copy_of_wanted(), machine.state)
    _Follower(life, machine).follow()
    check(life, machine)


def _chosen(life: Life) -> Machine:
    """Return a machine at a place whose record can be used: at best as it is, else as one of which most is left."""
    ranked: list[tuple[tuple[bool, ...], int, Machine, str]] = []
    for key, record in life.machines.records():
        for machine in life.all:
            if not machine.ci and key[0] in ("", machine.name):
                was, machine.state = machine.state, key[1]
                machine.write_config(life.copy_of_wanted(), key[1])
                plan = machine.run("plan", "--format", "json")
                is_missing = plan.code != 0 or bool(plan.document["record"]["heads_missing"])
                is_of_copy = any(loss.cause == "copy" for loss in record.open_losses)
                rank = (is_of_copy, is_missing or bool(record.open_losses), is_missing, machine.key(was) != key)
                machine.state = was
                ranked.append((rank, len(ranked), machine, key[1]))
    if not ranked or min(ranked)[0][0]:
        return next(machine for machine in life.all if not machine.ci)
    _, _, machine, machine.state = min(ranked)
    return machine


class _Follower:
    """Somebody who does what messages say. `tried` has what was done in which state of the world."""

    def __init__(self, life: Life, machine: Machine) -> None:
        self.life = life
        self.machine = machine
        self.tried: set[object] = set()
        self.fresh: list[Read] = []
        self.earlier: list[Read] = []

    def follow(self) -> None:
        """Do what messages say until `plan` has nothing to do. Raises Violation if there is no way on."""
        state: object = None
        ran = None
        for _ in range(_STEPS):
            ran, read = self.life.people.run(self.machine, ("plan", "--detailed-exitcode"))
            if ran.code == 0 and not confirmations(self.machine):
                return
            if state != (state := self.state):
                self.earlier, self.fresh = [*self.fresh, *self.earlier][:40], []
            self.fresh = [*read, *self.fresh]
            if not self._step(ran):
                break
        plan = f"{ran.out}{ran.err}" if ran else ""
        how = f"on {self.machine.name} at {self.machine.state}: nothing left to try after\n{plan}"
        raise Violation(Promise.WAY_ON, how)

    @property
    def state(self) -> object:
        """The state of the world, as far as it decides what a command does."""
        places = self.life.world.places.items()
        heads = tuple((*key, shelf.head(), shelf.second) for key, shelf in places if shelf.data)
        alive = tuple(tuple(sorted(found.codes)) for found in self.life.world.subscriptions)
        return heads, alive, self.machine.state, str(self.machine.wanted)

    def _step(self, ran: Ran) -> bool:
        """Do one thing; False if there is none. People know without a message what the operator lists."""
        if self._paste(self.fresh) or self._obey(ran):
            return True
        if self._say([*confirmations(self.machine), *imports(self.machine)]):
            return True
        return self._operate() or self._wait() or self._paste(self.earlier)

    def _paste(self, pool: list[Read]) -> bool:
        people, rng = self.life.people, self.life.world.rng
        ways = (words for read in [*pool] for words in people.words(read, self.machine, rng))
        return self._say(words for words in ways if words[0] != "plan")

    def _say(self, ways: Iterable[tuple[str, ...]]) -> bool:
        state = self.state
        for words in ways:
            if (state, words) not in self.tried:
                self.tried.add((state, words))
                ran, read = self.life.people.run(self.machine, words)
                self.fresh[:0] = read
                self._obey(ran)
                return True
        return False

    def _obey(self, ran: Ran) -> bool:
        """Change the setting that an output says to change."""
        text, machine = ran.out + ran.err, self.machine
        assert machine.wanted is not None
        for place in reading.places(ran):
            usable = machine.shelf(place).data is not None and machine.key(place) != machine.key(machine.state)
            if usable and ("place", place) not in self.tried:
                self.tried.add(("place", place))
                machine.write_config(machine.wanted, place)
                return True
        if "orrect `state:`, or `record:`" in text and "record" not in self.tried:
            self.tried.add("record")
            machine.wanted.record = machine.shelf().record.id
            machine.write_config(machine.wanted, machine.state)
            return True
        return False

    def _operate(self) -> bool:
        """Have the operator do what was asked for."""
        world = self.life.world
        requests = [*world.requests]
        world.requests.clear()
        for request in requests:
            attempt = world.attempt(request.attempt)
            if attempt is not None:
                world.delete(request, attempt)
        return bool(requests)

    def _wait(self) -> bool:
        """Wait until no call can be in flight, and try all again."""
        state = self.state
        if (state, "wait") in self.tried:
            return False
        self.tried -= {found for found in self.tried if isinstance(found, tuple) and found[0] == state}
        self.tried.add((state, "wait"))
        self.life.world.pause(1_000.0)
        return True


def check(life: Life, machine: Machine) -> None:
    """Raise Violation if something that exists is not recorded, or something desired does not exist."""
    world, wanted, record = life.world, machine.wanted, machine.shelf().record
    assert wanted is not None
    left = claims.unrecorded(world, record)
    if left:
        raise Violation(Promise.NOT_FORGOTTEN, f"{left}")
    services = {name: world.service_of(url) for name, url in wanted.targets.items()}
    for address in wanted.subscriptions:
        for route in sorted(wanted.routes(address, services)):
            if not world.exists(route):
                raise Violation(Promise.DONE, f"{address} desires {route}")
