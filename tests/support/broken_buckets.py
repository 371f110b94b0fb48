"""Buckets that break what a bucket should keep, one promise each; `BROKEN` names them all.

Each is a client of a `MemoryBucket`, which holds what is really stored. A fault happens with the probability `odds`.
"""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING

from reconciler.state.stores.objects.bucket import Answer
from support.memory_bucket import MemoryBucket

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reconciler.state.stores.objects.bucket import Bucket


class _Client:
    """A client that does as the bucket does; the faults override a part of it."""

    def __init__(self, bucket: BrokenBucket, odds: float) -> None:
        self._bucket: MemoryBucket = bucket
        self._broken = bucket
        self._odds = odds
        self._rng = bucket.rng()
        self._lock = threading.Lock()

    def create(self, key: str, data: bytes, until: float) -> Answer:
        return self._bucket.create(key, data, until)

    def get(self, keys: Sequence[str], until: float) -> list[bytes | None]:
        return self._bucket.get(keys, until)

    def keys(self, folder: str, after: str, until: float) -> list[str]:
        return self._bucket.keys(folder, after, until)

    def folders(self, folder: str, until: float) -> list[str]:
        return self._bucket.folders(folder, until)

    def _happens(self) -> bool:
        with self._lock:
            return not self._broken.calm and self._rng.random() < self._odds


class IgnoresCondition(_Client):
    """Overwrites what is there, and calls it created."""

    def create(self, key: str, data: bytes, until: float) -> Answer:
        if self._happens():
            with self._bucket.lock:
                self._bucket.objects[key] = data
            return Answer("created")
        return super().create(key, data, until)


class ChecksThenWrites(_Client):
    """Looks whether the object exists, and writes it a moment later."""

    def create(self, key: str, data: bytes, until: float) -> Answer:
        if self._bucket.get([key], until)[0] is not None:
            return Answer("conflict")
        self._broken.wait(self._broken.lag / 6 if self._happens() else 0.0)
        with self._bucket.lock:
            self._bucket.objects[key] = data
        return Answer("created")


class StaleList(_Client):
    """Lists what there was a moment ago: new objects appear in it later."""

    def keys(self, folder: str, after: str, until: float) -> list[str]:
        found = super().keys(folder, after, until)
        if self._happens():
            new = self._broken.newest()
            return [key for key in found if key not in new]
        return found


class StaleRead(_Client):
    """Does not return an object that was written a moment ago."""

    def get(self, keys: Sequence[str], until: float) -> list[bytes | None]:
        found = super().get(keys, until)
        new = self._broken.newest() if self._happens() else ()
        return [None if key in new else data for key, data in zip(keys, found, strict=True)]


class LateArrival(_Client):
    """Does not answer, and carries the write out a moment later, if the key is free by then."""

    def create(self, key: str, data: bytes, until: float) -> Answer:
        if not self._happens():
            return super().create(key, data, until)
        self._broken.later(lambda: self._bucket.create(key, data, until))
        return Answer("unknown", "the object store did not answer in time")


class PhantomConflict(_Client):
    """Reports a conflict for an object that it has just stored."""

    def create(self, key: str, data: bytes, until: float) -> Answer:
        answer = super().create(key, data, until)
        return Answer("conflict") if self._happens() else answer


class ConflictWithNothing(_Client):
    """Reports a conflict, and stores nothing."""

    def create(self, key: str, data: bytes, until: float) -> Answer:
        return Answer("conflict") if self._happens() else super().create(key, data, until)


class SuccessWithNothing(_Client):
    """Reports success, and stores nothing."""

    def create(self, key: str, data: bytes, until: float) -> Answer:
        return Answer("created") if self._happens() else super().create(key, data, until)


class HalfAnObject(_Client):
    """Stores the first half of an object, and calls it created."""

    def create(self, key: str, data: bytes, until: float) -> Answer:
        return super().create(key, data[: len(data) // 2] if self._happens() else data, until)


class TwoRegions(_Client):
    """Every second client talks to another region; what is written in one arrives in the other a moment later.

    Where both have written an object by then, the first region's stays.
    """

    def __init__(self, bucket: BrokenBucket, odds: float) -> None:
        super().__init__(bucket, odds)
        bucket.clients += 1
        self._is_first = bucket.clients % 2 == 1
        self._first, self._second = bucket, bucket.other_region()
        self._bucket = self._first if self._is_first else self._second

    def create(self, key: str, data: bytes, until: float) -> Answer:
        answer = super().create(key, data, until)
        if answer.end == "created":
            self._broken.later(lambda: self._arrive_elsewhere(key, data))
        return answer

    def _arrive_elsewhere(self, key: str, data: bytes) -> None:
        if self._is_first:
            self._second.objects[key] = data
        elif self._first.create(key, data, 0.0).end == "conflict":
            self._second.objects[key] = self._first.objects[key]


class ReorderedListing(_Client):
    """Lists in any order."""

    def keys(self, folder: str, after: str, until: float) -> list[str]:
        found = super().keys(folder, after, until)
        self._rng.shuffle(found)
        return found


class BrokenBucket(MemoryBucket):
    """What is stored, with what the broken clients of it need to know: what is new, and the other region."""

    calm = False
    """Whether no fault happens any more."""
    lag = 0.03
    """Seconds by which what is old, or late, lags behind."""

    def __init__(self) -> None:
        super().__init__()
        self.clients = 0
        self._written: dict[str, float] = {}
        self._region: MemoryBucket | None = None

    def create(self, key: str, data: bytes, until: float) -> Answer:
        with self.lock:
            answer = super().create(key, data, until)
            if answer.end == "created":
                self._written[key] = self.now()
            return answer

    def newest(self) -> set[str]:
        """The keys of what was written a moment ago."""
        with self.lock:
            return {key for key, at in self._written.items() if at > self.now() - self.lag}

    def rng(self) -> random.Random:
        """What decides on the faults of one more client."""
        return random.Random()

    def now(self) -> float:
        """The time in seconds."""
        return time.monotonic()

    def wait(self, seconds: float) -> None:
        """Time passes, in which others may do something."""
        time.sleep(seconds)

    def later(self, task: Callable[[], object]) -> None:
        """Do `task` a moment later."""
        threading.Timer(self.lag, task).start()

    def other_region(self) -> MemoryBucket:
        """The one other region of this bucket."""
        with self.lock:
            self._region = self._region or MemoryBucket()
            return self._region


BROKEN: dict[str, type[_Client]] = {
    "ignores the condition": IgnoresCondition,
    "checks, then writes": ChecksThenWrites,
    "a stale list": StaleList,
    "a stale read": StaleRead,
    "late arrival": LateArrival,
    "a phantom conflict after success": PhantomConflict,
    "a conflict with nothing stored": ConflictWithNothing,
    "success with nothing stored": SuccessWithNothing,
    "half an object": HalfAnObject,
    "two regions that disagree for a while": TwoRegions,
    "a reordered listing": ReorderedListing,
}


HARMLESS = BROKEN.keys() - {"ignores the condition", "checks, then writes", "two regions that disagree for a while"}
"""What costs no more than time, or an apply that stops, even in a store that was admitted because it happens rarely."""


def clients_of(broken: str, bucket: BrokenBucket, odds: float = 1.0) -> Callable[[], Bucket]:
    """Makes clients with the fault of that name."""
    return lambda: BROKEN[broken](bucket, odds)
