"""Records in a bucket that breaks its promises: machines reach them by the real code of the store for object stores.

Each request takes time, in which other machines do something. So requests interleave as those of processes do, though
all happens in one thread, and a seed gives one history.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

from reconciler.errors import RecordMissing
from reconciler.state.journal.chain import parse
from reconciler.state.stores.objects import objects, writing
from reconciler.state.stores.objects.keys import object_key
from support.broken_buckets import BrokenBucket, clients_of
from support.memory_bucket import bucket_store
from support.simulation.sim_service import Promise, Violation
from support.simulation.sim_store import SimStore, grown
from support.simulation.sim_world import Died
from support.simulation.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from reconciler.model.address import TargetName
    from reconciler.model.entry import Begun
    from reconciler.state.journal.chain import Journal
    from reconciler.state.stores.objects.bucket import Answer, Bucket
    from support.simulation.sim_world import Owner, World

_REQUEST = 0.2  # seconds that a request takes at most
_BY_THE_BUCKET_ALONE = dict.fromkeys(
    ("append_lost", "append_never", "append_late", "roll_back", "vanish", "take_over"), 0.0
)
"""Faults of a store that a simulation without a bucket makes up."""


class BucketSimulation(Simulation):
    """A simulation with its records in a bucket, which is `broken` in a way that has a name, with some probability."""

    def __init__(self, seed: int, broken: str, odds: float, *, tracing: bool = False) -> None:
        super().__init__(
            seed,
            odds=_BY_THE_BUCKET_ALONE,
            tracing=tracing,
            store=lambda world: BucketRecords(world, broken, odds),
        )

    def run(self) -> World:
        with _in_time_of(self.world):
            return super().run()

    def _come_to_rest(self) -> None:
        records = self.world.store
        assert isinstance(records, BucketRecords)
        records.calm()
        super()._come_to_rest()


class SimBucket(BrokenBucket):
    """What is stored, in the time of a simulation."""

    lag = 2.0

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def rng(self) -> random.Random:
        return random.Random(self._world.rng.random())

    def now(self) -> float:
        return self._world.time

    def wait(self, seconds: float) -> None:
        self._world.pass_time(seconds)

    def later(self, task: Callable[[], object]) -> None:
        self._world.later(self._world.rng.random() * self.lag, task)


class BucketRecords(SimStore):
    """The records in the bucket, as somebody sees them who is shown all that is stored, and nothing that is not.

    `broken` names what is wrong with the clients of the machines, which happens with the probability `odds`. People,
    who read and append at once, have a client that is all right.
    """

    def __init__(self, world: World, broken: str, odds: float) -> None:
        super().__init__(world.promises.watch)
        self._world = world
        self.bucket = SimBucket(world)
        self._connect = clients_of(broken, self.bucket, odds)

    def begin(self, begun: Begun) -> Journal:
        journal = super().begin(begun)
        self._put(begun.target, 1, self.data[begun.target])
        return journal

    def append(self, target: TargetName, head: str | None, seq: int, lines: bytes, note: str) -> None:
        """What people do; an administrator has deleted what is not a whole object before."""
        self.mend(target)
        before = self.journal(target)
        assert (before.head, len(before.lines) + 1) == (head, seq)
        self._put(target, seq, lines)
        self.look(target)

    def journal(self, target: TargetName) -> Journal:
        self.look(target)
        return self.latest(target)

    def opened_by(self, owner: Owner) -> BucketWay:
        return BucketWay(self, self._world, owner, self._connect)

    def look(self, target: TargetName) -> None:
        """See what has been stored since. Raises Violation if that is not what was stored before, and more."""
        before = self.latest(target)
        known, number, new = self.data[target], 1, b""
        while (data := self.bucket.objects.get(object_key(target, number))) and data.endswith(b"\n"):
            number, new = number + data.count(b"\n"), new + data
        if not new.startswith(known):
            raise Violation(Promise.SOUND, "an append was lost that others may have seen")
        if new != known:
            after, entries = grown(before, new[len(known) :])
            self.data[target] = new
            self.versions[target].append(after)
            self.watch(before, after, entries)
            self._world.tell("is stored:", target, len(before.lines) + 1)

    def mend(self, target: TargetName) -> None:
        """Delete an object that is not whole."""
        for key, data in [*self.bucket.objects.items()]:
            if key.startswith(f"{target}/") and not data.endswith(b"\n"):
                del self.bucket.objects[key]
                self.bucket.other_region().objects.pop(key, None)

    def calm(self) -> None:
        self.bucket.calm = True
        for target in self.targets():
            self.mend(target)

    def _put(self, target: TargetName, number: int, data: bytes) -> None:
        for region in (self.bucket, self.bucket.other_region()):
            region.objects[object_key(target, number)] = data


class BucketWay:
    """A machine's way to the records: a store of its own, whose client has the fault. It dies with its machine."""

    def __init__(self, records: BucketRecords, world: World, owner: Owner, connect: Callable[[], Bucket]) -> None:
        self._records = records
        self._store = bucket_store(lambda: _Slow(connect(), world, owner))

    def journal(self, target: TargetName) -> Journal:
        """The journal as this machine is shown it. Raises StateError."""
        data = self._store.read(target)
        self._records.look(target)
        if data is None:
            raise RecordMissing("there is no such journal", where=target)
        return parse(data, target, self._store.location)

    def append(self, target: TargetName, head: str | None, seq: int, lines: bytes, note: str) -> None:
        """See Way.append."""
        try:
            self._store.append(target, head, seq, lines, note)
        finally:
            self._records.look(target)

    def known(self, target: TargetName) -> Journal:
        """What this machine has read and written of it."""
        return parse(b"".join(self._store._known[target].parts), target, self._store.location)


class _Slow:
    """A client whose requests take time; a machine that has crashed meanwhile sends no more of them."""

    def __init__(self, bucket: Bucket, world: World, owner: Owner) -> None:
        self._bucket = bucket
        self._world = world
        self._owner = owner

    def create(self, key: str, data: bytes, until: float) -> Answer:
        self._wait()
        return self._bucket.create(key, data, until)

    def get(self, keys: Sequence[str], until: float) -> list[bytes | None]:
        self._wait()
        return self._bucket.get(keys, until)

    def keys(self, folder: str, after: str, until: float) -> list[str]:
        self._wait()
        return self._bucket.keys(folder, after, until)

    def folders(self, folder: str, until: float) -> list[str]:
        self._wait()
        return self._bucket.folders(folder, until)

    def _wait(self) -> None:
        incarnation = self._owner.incarnation
        self._world.pass_time(self._world.rng.random() * _REQUEST)
        if self._owner.incarnation != incarnation:
            raise Died


class _Time:
    """What the store takes for the module `time`."""

    def __init__(self, world: World) -> None:
        self._world = world

    def monotonic(self) -> float:
        return self._world.time

    def sleep(self, seconds: float) -> None:
        self._world.pass_time(seconds)


@contextmanager
def _in_time_of(world: World) -> Iterator[None]:
    time = _Time(world)
    with patch.object(objects, "time", time), patch.object(writing, "time", time):
        yield
