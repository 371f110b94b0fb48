"""A disk, and everything it may hold after a power failure.

What was written stays pending until its file is synced, and a name stays pending until its directory is. Of what is
pending, a crash may leave any part: names changed or not, in any order; of a write nothing, a beginning, or zeros where
data should be. So says POSIX, and some file system does each of these ("All File Systems Are Not Created Equal",
Pillai et al., OSDI 2014). A rename within a directory is atomic.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations, islice, product
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator, Mapping, Sequence

ROOT = 0
_FEW = 4
"""Of so many pending operations of a file or a directory, every combination may be left; of more, a sample is drawn."""


@dataclass(frozen=True, slots=True)
class Naming:
    """Names of the directory `node` change, all at once: to another node, or to none."""

    node: int
    names: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Making:
    """A file or a directory begins to exist, without a name."""

    node: int
    directory: bool


@dataclass(frozen=True, slots=True)
class Writing:
    """`data` is written to a file, at `offset`."""

    node: int
    offset: int
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Cutting:
    """A file gets another size."""

    node: int
    size: int


@dataclass(frozen=True, slots=True)
class Syncing:
    """Whatever is pending of a file or a directory is on the disk from here on."""

    node: int


@dataclass(frozen=True, slots=True)
class Fact:
    """Not an operation: something has happened that must be true of every disk from here on."""

    kind: str
    about: str


Operation = Naming | Making | Writing | Cutting | Syncing | Fact
Pending = Naming | Writing | Cutting
Tree = dict[str, "bytes | Tree"]
"""What a directory holds: files by name, and directories."""


@dataclass(frozen=True)
class Crash:
    """What a disk holds after a crash. `holed`: zeros stand where data was to be, with data behind them."""

    tree: Tree
    holed: bool


@dataclass(frozen=True)
class _Content:
    """What may be left of a file."""

    data: bytes
    holed: bool = False


_Names = dict[str, int]
_Left = _Content | _Names


class DiskModel:
    """A disk to which operations happen, one after the other."""

    def __init__(self) -> None:
        self._directories: dict[int, _Names] = {ROOT: {}}
        self._files: dict[int, bytes] = {}
        self._pending: dict[int, list[Pending]] = {ROOT: []}

    def happen(self, operation: Operation) -> None:
        """An operation happens; what it does is pending, unless it syncs."""
        match operation:
            case Making(node, directory):
                self._pending[node] = []
                if directory:
                    self._directories[node] = {}
                else:
                    self._files[node] = b""
            case Syncing(node):
                self._sync(node)
            case Naming() | Writing() | Cutting():
                self._pending[operation.node].append(operation)
            case Fact():
                pass

    def as_seen(self) -> Tree:
        """What processes see now, which is what is left where one of them is killed."""
        return self._crash({node: self._left(node, pending) for node, pending in self._pending.items()}).tree

    def after_a_crash(self, rng: random.Random, at_most: int) -> Iterator[Crash]:
        """What may be left if the power fails now: all there can be where that is no more, or a sample of it."""
        nodes = [node for node, pending in self._pending.items() if pending]
        choices = [list(self._choices(node, rng)) for node in nodes]
        if prod(map(len, choices)) <= at_most:
            picks: Iterable[Sequence[_Left]] = product(*choices)
        else:
            picks = islice(_telling(choices, rng), at_most)
        for pick in picks:
            yield self._crash(dict(zip(nodes, pick, strict=True)))

    def _sync(self, node: int) -> None:
        match self._left(node, self._pending[node]):
            case _Content(data):
                self._files[node] = data
            case names:
                self._directories[node] = names
        self._pending[node] = []

    def _choices(self, node: int, rng: random.Random) -> Iterator[_Left]:
        """What may be left of a file or a directory: nothing of what is pending first, and all of it last."""
        for kept in _subsets(self._pending[node], rng):
            if node in self._files and kept and isinstance(kept[-1], Writing):
                for torn, holed in _torn(kept[-1]):
                    yield _Content(_written(self._files[node], [*kept[:-1], torn]), holed)
            yield self._left(node, kept)

    def _left(self, node: int, kept: Sequence[Pending]) -> _Left:
        if node in self._files:
            return _Content(_written(self._files[node], kept))
        return _named(self._directories[node], kept)

    def _crash(self, picked: Mapping[int, _Left]) -> Crash:
        holed = any(isinstance(left, _Content) and left.holed for left in picked.values())

        def grow(node: int) -> bytes | Tree:
            match picked.get(node):
                case _Content(data):
                    return data
                case None if node in self._files:
                    return self._files[node]
                case None:
                    names = self._directories[node]
                case left:
                    names = left
            return {name: grow(below) for name, below in names.items()}

        tree = grow(ROOT)
        assert isinstance(tree, dict)
        return Crash(tree, holed)


def _telling(choices: Sequence[Sequence[_Left]], rng: random.Random) -> Iterator[Sequence[_Left]]:
    """One choice for each: nothing, all, all but for one of them in turn, and then anything."""
    everything = [choice[-1] for choice in choices]
    yield [choice[0] for choice in choices]
    yield everything
    for index, choice in enumerate(choices):
        yield [*everything[:index], choice[0], *everything[index + 1 :]]
    while True:
        yield [rng.choice(choice) for choice in choices]


def _subsets(pending: Sequence[Pending], rng: random.Random) -> Iterator[Sequence[Pending]]:
    """What may be left of operations: any of them where they are few, and a sample where they are many."""
    if len(pending) <= _FEW:
        for size in range(len(pending) + 1):
            yield from combinations(pending, size)
        return
    yield ()
    for _ in range(2**_FEW):
        share = rng.random()
        yield [one for one in pending if rng.random() < share]
    yield pending


def _torn(write: Writing) -> Iterator[tuple[Writing, bool]]:
    """What may be left of a write, short of all of it; and whether zeros stand before data."""
    data, middle = write.data, len(write.data) // 2
    for length in (1, middle, len(data) - 1):
        yield replace(write, data=data[:length]), False
        yield replace(write, data=data[:length].ljust(len(data), b"\0")), False
    yield replace(write, data=bytes(len(data))), False
    yield replace(write, data=data[middle:].rjust(len(data), b"\0")), True


def _written(data: bytes, operations: Sequence[Pending]) -> bytes:
    for operation in operations:
        match operation:
            case Writing(_, offset, new):
                data = data[:offset].ljust(offset, b"\0") + new + data[offset + len(new) :]
            case Cutting(_, size):
                data = data[:size].ljust(size, b"\0")
    return data


def _named(names: _Names, operations: Sequence[Pending]) -> _Names:
    names = dict(names)
    for operation in operations:
        assert isinstance(operation, Naming)
        for name, node in operation.names.items():
            if node is None:
                names.pop(name, None)
            else:
                names[name] = node
    return names
