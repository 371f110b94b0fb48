"""Every order in which the port calls of several actors can happen, depth first; what is alike is looked at once.

An actor is code that gets whatever it asks of the outside from the answers so far; where they end, it is suspended
with the call that comes next. So its state is its answers: with one more, it is run again from its beginning to its
next call. That takes no threads, and every state can be gone back to.
"""

from __future__ import annotations

from collections import deque
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from support.interleaving.world import World


class Call(Struct, frozen=True):
    """The next call of an actor. `faults` are other ways in which it may end; `may` says if it can happen by now."""

    name: str
    perform: Callable[[World], Any]
    faults: tuple[Callable[[World], Any], ...] = ()
    may: Callable[[World], bool] = lambda _: True


class Suspended(BaseException):
    """The next call has no answer yet. Not an Exception: the code under test takes those for faults."""

    def __init__(self, call: Call) -> None:
        super().__init__(call.name)
        self.call = call


class Moment(Struct, frozen=True):
    """A step of an actor: which lane of it went on (-1: time passed), when, and with which answer.

    `more` are the answers to the calls after that one which nothing comes before. `suspends`: the lane then waits.
    """

    lane: int
    now: float
    answer: Any = None
    more: tuple[Any, ...] = ()
    suspends: bool = False


class State(Struct, frozen=True):
    """The state of an actor: its moments so far, which `seen` stands for, and the next calls of its lanes.

    `wake_at` is when there is something for it to do if no call ends until then. `result` is what it ended with.
    """

    moments: tuple[Moment, ...] = ()
    seen: int = 0
    calls: tuple[tuple[int, Call], ...] = ()
    wake_at: float | None = None
    ended: bool = False
    result: Any = None


class _Lane:
    """One thing that an actor does, beside others: a program, what follows from its result, and its answers so far."""

    def __init__(self, program: Callable[[], Any], then: Callable[[Any], None]) -> None:
        self.program = program
        self.then = then
        self.answers: list[Any] = []
        self.next = 0
        self.ids = 0


class Actor:
    """Code that runs beside others. `machine` has its notes; a subclass says what it does first, and what follows."""

    def __init__(self, name: str, machine: str = "") -> None:
        self.name = name
        self.machine = machine or name

    def begin(self) -> None:
        """Open the first lane."""
        raise NotImplementedError

    def wake(self) -> None:
        """Go on after time has passed."""
        raise NotImplementedError

    @property
    def wake_at(self) -> float | None:
        """When to wake it, in seconds of the world."""
        return None

    def resume(self, world: World, former: State, moment: Moment) -> State:
        """Return the state after one more moment."""
        self._world, self._lanes, self._calls, self._ids = world, list[_Lane](), dict[int, Call](), 0
        self._lane: _Lane | None = None
        self._ended, self._result = False, None
        waiting: set[int] = set()
        for each in (*former.moments, moment):
            self._replayed = None if each is moment else deque(each.more)
            self._more: list[Any] = []
            self._now = each.now
            if not self._lanes:
                self.begin()
            elif each.lane < 0:
                self.wake()
            elif each.suspends:  # to run the lane now would lead to no more than what is known
                self._lanes[each.lane].answers += [each.answer, *each.more]
                waiting.add(each.lane)
            else:
                self._lanes[each.lane].answers.append(each.answer)
                waiting.discard(each.lane)
                self._advance(each.lane)
        for lane in waiting:
            self._advance(lane)
        suspends = bool(former.moments) and moment.lane in self._calls
        moment = replace(moment, more=tuple(self._more), suspends=suspends)
        seen = hash((former.seen, moment.lane, moment.now, repr(moment.answer), repr(moment.more)))
        calls = () if self._ended else tuple(self._calls.items())
        return State((*former.moments, moment), seen, calls, self.wake_at, self._ended, self._result)

    # What a subclass calls

    def open(self, program: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Do something more."""
        self._lanes.append(_Lane(program, then))
        self._advance(len(self._lanes) - 1)

    def end(self, result: Any) -> None:
        """Do nothing more."""
        self._ended, self._result = True, result

    def wait(self, call: Call) -> Any:
        """Return the answer to a call that others may come before. Raises Suspended if there is none yet."""
        lane = self._lane
        assert lane is not None
        if lane.next == len(lane.answers):
            raise Suspended(call)
        return self._answer(lane)

    def at_once(self, perform: Callable[[World], Any]) -> Any:
        """Return the answer to a call that nothing comes before."""
        lane = self._lane
        assert lane is not None
        if lane.next == len(lane.answers):
            answer = answer_of(perform, self._world) if self._replayed is None else self._replayed.popleft()
            self._more.append(answer)
            lane.answers.append(answer)
        return self._answer(lane)

    def new_id(self) -> str:
        """Return an id, the same one whenever the actor is run again."""
        if (lane := self._lane) is not None:
            lane.ids += 1
            spelled = f"{self.name} {self._lanes.index(lane)} {lane.ids}"
        else:
            self._ids += 1
            spelled = f"{self.name} {self._ids}"
        return sha256(spelled.encode()).hexdigest()[:32]

    @property
    def clock(self) -> float:
        """The time, in seconds of the world: the same whenever the actor is run again."""
        now: float = self._now if self._lane is None else self.at_once(lambda world: world.now)
        return now

    def _advance(self, number: int) -> None:
        lane = self._lane = self._lanes[number]
        lane.next = lane.ids = 0
        self._calls.pop(number, None)
        try:
            value = lane.program()
        except Suspended as suspended:
            self._calls[number] = suspended.call
            return
        finally:
            self._lane = None
        lane.then(value)

    @staticmethod
    def _answer(lane: _Lane) -> Any:
        answer = lane.answers[lane.next]
        lane.next += 1
        if isinstance(answer, Exception):
            raise answer
        return answer


def answer_of(perform: Callable[[World], Any], world: World) -> Any:
    """Return the answer to a call, or the error that it ends with."""
    try:
        return perform(world)
    except Exception as problem:  # noqa: BLE001 - the actor gets it
        return problem


class Node(Struct, frozen=True):
    """The world, and the states of all actors; `path` names the steps that have led there."""

    world: World
    states: tuple[State, ...]
    path: tuple[str, ...] = ()

    @property
    def key(self) -> Hashable:
        """Equal for nodes from which everything goes on alike."""
        return self.world.key, tuple((state.seen, state.ended) for state in self.states)


class Explored(Struct):
    """How many states and steps there were, and in how many states nothing more happens."""

    states: int = 0
    steps: int = 0
    ends: int = 0


def explore(
    world: World, actors: Sequence[Actor], check: Callable[[Node], None], at_end: Callable[[Node], None]
) -> Explored:
    """Go through every schedule: `check` looks at each state, `at_end` at each in which nothing more happens.

    A fault, a kill and a stall take one of `world.faults` each. An exception gets the path as a note.
    """
    node = Node(world, tuple(State() for _ in actors))
    for number, actor in enumerate(actors):
        node = _resumed(node, number, actor, node.world.copy(), Moment(0, world.now), "")
    explored, stack = Explored(), [node]
    known: set[Hashable] = set()
    while stack:
        node = stack.pop()
        if node.key in known:
            continue
        known.add(node.key)
        try:
            check(node)
            following = list(_following(node, actors))
            if not any(not state.ended for state in node.states) or not following:
                explored.ends += 1
                at_end(node)
        except BaseException as problem:
            problem.add_note("\n".join(node.path))
            raise
        explored.states += 1
        explored.steps += len(following)
        stack += following
    return explored


def run_alone(world: World, actor: Actor) -> Any:
    """Run an actor to its end, without faults, and return its result; the world is changed."""
    state, moment = State(), Moment(0, world.now)
    for _ in range(1_000):
        state = actor.resume(world, state, moment)
        if state.ended:
            return state.result
        if state.calls:
            lane, call = state.calls[0]
            answer = answer_of(call.perform, world)
        else:
            assert state.wake_at is not None, f"{actor.name} waits for nothing"
            lane, answer, world.now = -1, None, max(world.now, state.wake_at)
        moment = Moment(lane, world.now, answer)
    raise AssertionError(f"{actor.name} does not end")


def _following(node: Node, actors: Sequence[Actor]) -> Iterator[Node]:
    """Yield the nodes that one step leads to."""
    faults = node.world.faults
    for number, actor in enumerate(actors):
        state = node.states[number]
        yield from _steps(node, number, actor)
        if faults and not state.ended:
            for world in node.world.without(actor.name):
                yield _with(node, number, replace(state, ended=True, calls=()), world, f"{actor.name} is killed")
    if faults and not all(state.ended for state in node.states):
        for seconds in node.world.stalls():
            world = node.world.copy(faults=faults - 1, now=node.world.now + seconds)
            yield Node(world, node.states, (*node.path, f"{seconds} s pass"))


def _steps(node: Node, number: int, actor: Actor) -> Iterator[Node]:
    """Yield the nodes that the next calls of an actor lead to."""
    state, faults = node.states[number], node.world.faults
    for lane, call in state.calls:
        for fault, perform in enumerate((call.perform, *(call.faults if faults else ()))):
            if call.may(node.world):
                world = node.world.copy(faults=faults - bool(fault))
                moment = Moment(lane, world.now, answer_of(perform, world))
                text = f"{actor.name} {call.name}{f', fault {fault}' if fault else ''}"
                yield _resumed(node, number, actor, world, replace(moment, now=world.now), text)
    if not state.calls and not state.ended and state.wake_at is not None and not node.world.in_flight:
        world = node.world.copy(now=max(node.world.now, state.wake_at))
        yield _resumed(node, number, actor, world, Moment(-1, world.now), f"{actor.name} wakes")


def _resumed(node: Node, number: int, actor: Actor, world: World, moment: Moment, text: str) -> Node:
    return _with(node, number, actor.resume(world, node.states[number], moment), world, text)


def _with(node: Node, number: int, state: State, world: World, text: str) -> Node:
    states = (*node.states[:number], state, *node.states[number + 1 :])
    return Node(world, states, (*node.path, text) if text else node.path)
