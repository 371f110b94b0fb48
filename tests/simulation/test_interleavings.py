"""Every interleaving, at each call of a port, of what may run at the same moment: an apply, and what is beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from support.desired_values import desired_of, target_of
from support.interleaving.actors import Applying, Commands, Person
from support.interleaving.schedules import Actor, Explored, Node, explore, run_alone
from support.interleaving.world import SETTLED, World, recorded_or_saved
from support.memory_record import record_of, unchanged_read_once
from support.simulation import broken
from support.simulation.broken import Break
from support.simulation.world import WALL, Created, Promise, Violation

from reconciler.applying import execution
from reconciler.errors import RecordDamaged
from reconciler.model.address import Address
from reconciler.model.desired import Desired
from reconciler.model.plan import Applied, Done
from reconciler.operations.copying import Copy
from reconciler.record.facts import AnyFact, Intended, What
from reconciler.record.fold import fold
from reconciler.record.statements import AcceptLoss, Complete
from reconciler.values import stamp

A, B = "memory:a", "memory:b"
EU, US = "europe/staging", "usa/staging"


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    """No threads."""
    with patch.object(execution, "unless_interrupted", lambda job, *_: job()), unchanged_read_once():
        yield


def wanting(*addresses: str, service: str = "") -> Desired:
    """Return a desired state with these addresses; a service for each target, or one for all."""
    targets = [target_of(name, service or f"https://{name.replace('/', '-')}.example") for name in (EU, US)]
    wanted = {
        address: ((f"ONB1000{address[-1]}",), f"https://hooks.example/{address[-1] if service else address}")
        for address in addresses
    }
    return desired_of(targets, wanted)


ONE = wanting(f"{EU}/s0")
TWO = wanting(f"{EU}/s0", f"{EU}/s1")
TWO_TARGETS = wanting(f"{EU}/s0", f"{US}/s0")


def record(*facts: AnyFact, complete: bool = True) -> dict[str, bytes | None]:
    """Return places, the first of which holds a record with these facts."""
    return {A: record_of(*facts, complete=complete), B: None}


def overdue(desired: Desired) -> Intended:
    """Return the intent of an apply that died: nobody knows what became of its call."""
    address, sent = f"{EU}/s0", desired.subscriptions[Address(f"{EU}/s0")]
    base_url = desired.targets[sent.address.target].base_url
    what = What(address, sent.codes, sent.template, base_url, account="account", settled_by=WALL - 1)
    return Intended(at=stamp(WALL - 200), by={}, attempt="0" * 32, what=what)


def copy(commands: Commands) -> object:
    """Move the record from A to B."""
    return Copy(commands, A, B).carry_out()


def check(node: Node) -> None:
    """Raise Violation if a record is damaged, two places let a create pass, or a run does not say what is so."""
    world = node.world
    try:
        records = [fold(lines) for place in world.places if (lines := world.lines(place))]
    except RecordDamaged as problem:
        raise Violation(Promise.SOUND, str(problem)) from None
    if sum(not record.open_losses and not record.closed_to for record in records) > 1:
        raise Violation(Promise.ONCE, "two places let a create pass")
    for state in node.states:
        for result in state.result.results if isinstance(state.result, Applied) else ():
            false = {True: (Done.REJECTED, Done.NOT_SENT), False: (Done.CREATED,)}[result.attempt in world.created]
            if result.attempt is not None and result.outcome in false:
                raise Violation(Promise.TRUTHFUL, f"{result}")
            if result.attempt is not None and not recorded_or_saved(world, result.attempt):
                raise Violation(Promise.SAVED, f"{result}")


def comes_to_rest(node: Node, desired: Desired, place: str) -> None:
    """Raise Violation unless people and one more apply lead to what is desired, each once, with nothing left to do."""
    world = node.world.copy(faults=0, now=node.world.now + SETTLED)

    def settle(commands: Commands) -> None:
        if place == B:
            copy(commands)
        commands.recover()
        commands.resolve()
        if commands.journal.read().record.open_losses:
            commands.say(Complete())

    for actor in (Person("judge", desired, place, settle), Applying("last", desired, place)):
        result = run_alone(world, actor)
        if isinstance(result, Exception):
            raise Violation(Promise.AT_REST, f"{actor.name}: {result}")
    wanted = Counter(
        (desired.targets[subscription.address.target].base_url, code, subscription.template)
        for subscription in desired.subscriptions.values()
        for code in subscription.codes
    )
    exists = Counter(route for made in world.created.values() for route in made.routes)
    if set(wanted) != set(exists) or max(exists.values()) > 1:
        raise Violation(Promise.AT_REST, f"{exists}")
    known = fold(world.lines(place)).attempts
    if not all(known[attempt].in_force for attempt in world.created):
        raise Violation(Promise.NOT_FORGOTTEN, f"{world.created}")


class Scene(NamedTuple):
    """What is desired, the record at first, and who runs; `moves`: the record is at B in the end."""

    desired: Desired
    places: dict[str, bytes | None]
    actors: tuple[Actor, ...]
    exists: tuple[Intended, ...] = ()
    moves: bool = False

    def explore(self, faults: int = 0) -> Explored:
        """Go through every schedule with so many faults. Raises Violation for a broken promise."""
        world = World(self.places, second=True, faults=faults)
        world.intents = {intent.attempt: intent.what for intent in self.exists}
        world.created = {intent.attempt: Created(intent.attempt, intent.what) for intent in self.exists}
        place = B if self.moves else A
        return explore(world, self.actors, check, lambda node: comes_to_rest(node, self.desired, place))


def applies(desired: Desired, count: int = 2, *, machine: str = "") -> Scene:
    """Return a scene of several applies at once, each on a machine of its own, or all on one."""
    actors = tuple(Applying(f"apply {number}", desired, A, machine) for number in range(count))
    return Scene(desired, record(), actors)


def beside(program: Callable[[Commands], object], desired: Desired = ONE, **scene: Any) -> Scene:
    """Return a scene of an apply, and a person who does something."""
    places = scene.pop("places", None) or record()
    return Scene(desired, places, (Applying("apply", desired, A), Person("person", desired, A, program)), **scene)


def resolving(*, created: bool) -> Scene:
    """Return a scene of an apply and a person who resolves what an apply has left behind that died."""
    intent = overdue(ONE)
    exists = (intent,) if created else ()
    return beside(Commands.resolve, places=record(intent), exists=exists)


def overtaken() -> Scene:
    """Return a scene of two applies and a person who resolves: one may be overtaken by the other."""
    scene = applies(ONE)
    return scene._replace(actors=(*scene.actors, Person("person", ONE, A, Commands.resolve)))


def renamed() -> Scene:
    """Return a scene of two applies that know one service under different target names."""
    first, second = (wanting(f"{target}/s0", service="https://api.example") for target in (EU, US))
    return Scene(first, record(), (Applying("apply 0", first, A), Applying("apply 1", second, A)))


SMALL: dict[str, Scene] = {
    "two applies": applies(ONE), "two applies on one machine": applies(ONE, machine="laptop"),
    "two names of one service": renamed(),
    "complete": beside(lambda commands: commands.say(Complete()), places=record(complete=False)),
    "accept-loss": beside(lambda commands: commands.say(AcceptLoss())), "a copy": beside(copy, moves=True),
    "resolve, created": resolving(created=True), "resolve, not created": resolving(created=False),
}  # fmt: skip
LARGE: dict[str, Scene] = {
    "two applies of two": applies(TWO), "two applies of two targets": applies(TWO_TARGETS),
    "three applies": applies(ONE, 3), "overtaken": overtaken(), "a copy of two": beside(copy, TWO, moves=True),
    "a loss": beside(Commands.lose_and_complete), "a loss of two": beside(Commands.lose_and_complete, TWO),
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_every_interleaving_keeps_every_promise(name: str) -> None:
    """Nothing is created twice, no call leaves before its intent is durable, and all comes to rest."""
    assert SMALL[name].explore().ends


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", LARGE)
def test_every_interleaving_of_more_keeps_every_promise(name: str) -> None:
    """The same with two subscriptions, three actors, and more commands."""
    assert LARGE[name].explore().ends


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", [*SMALL, "overtaken"])
def test_every_interleaving_with_one_fault_keeps_every_promise(name: str) -> None:
    """The same with one kill, one stall, one failure or one lost answer, at every place where it can happen."""
    assert (SMALL | LARGE)[name].explore(1).ends


BROKEN: list[tuple[Break, str, int, set[Promise]]] = [
    (broken.append_without_comparing, "two applies", 0, {Promise.SOUND}),
    (broken.send_first, "two applies", 0, {Promise.INTENT_FIRST}),
    (broken.keep_to_the_old_plan, "two applies", 0, {Promise.ONCE}),
    (broken.keep_to_the_old_plan, "two names of one service", 0, {Promise.ONCE}),
    (broken.adopt_any_head, "two applies of two", 1, {Promise.ONCE}),
    (broken.object_to_nothing, "accept-loss", 1, {Promise.FRESH, Promise.ONCE}),
    (broken.forget_the_window, "overtaken", 1, {Promise.ONCE}),
    (broken.leave_the_second_place_behind, "two applies", 1, {Promise.INTENT_FIRST}),
    (broken.retry_unknown, "two applies", 1, {Promise.ONCE}),
    (broken.take_unknown_for_rejected, "two applies", 1, {Promise.TRUTHFUL}),
    (broken.forget_outcomes, "two applies", 0, {Promise.SAVED}),
    (broken.save_nothing, "a copy", 0, {Promise.SAVED}),
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("break_it", "name", "faults", "promises"),
    [pytest.param(*case, id=f"{case[0].__name__}, {case[1]}", marks=[pytest.mark.soak] * case[2]) for case in BROKEN],
)
def test_a_broken_protocol_is_found(
    break_it: Break, name: str, faults: int, promises: set[Promise], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exploration that lets a broken protocol pass would prove nothing."""
    break_it(monkeypatch)
    with pytest.raises(Violation) as violation:
        (SMALL | LARGE)[name].explore(faults)
    assert violation.value.promise in promises
