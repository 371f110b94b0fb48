"""Tests that an object store keeps what an append depends on, before a record is trusted to it.

Several clients, each with connections of its own, race to create one object, round after round. A store passes if, in
each round, one of them wins, everybody reads what the winner wrote, the key is listed, and the object cannot be
overwritten. That is a test, not a proof: what goes wrong once in a thousand races, or only while a data center fails,
passes. The objects stay, since nothing is ever deleted: 6 of 300 KB in all for each test, below `.probe/`.
"""

from __future__ import annotations

import threading
import time
import uuid
from typing import TYPE_CHECKING, TypeVar

from reconciler.errors import StateError, StoreUnavailable
from reconciler.state.stores.objects.bucket import Answer
from reconciler.state.stores.objects.threads import at_once

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.state.stores.objects.bucket import Bucket

Result = TypeVar("Result")

_RACERS = 8
_ROUNDS = 6
_PATIENCE = 60.0  # seconds for all of it
_FOLDER = ".probe"
_SIZES = (300, 100_000)  # bytes: an append of one entry, and one of many; the rounds take turns
_TRIES = 5  # a conflict may mean that nobody's object was stored
_PAUSE = 0.2  # seconds before the next
_RETRY = "run the command again"
_REMEDY = "a record here could lose entries, and creates be sent twice; use another object store, or git or PostgreSQL"


def prove(connect: Callable[[], Bucket], where: str) -> None:
    """Test the bucket that `connect` opens a new client for.

    Raises StateError for one that cannot be trusted, and StoreUnavailable.
    """
    until = time.monotonic() + _PATIENCE
    buckets = [connect() for _ in range(_RACERS)]
    folder = f"{_FOLDER}/{uuid.uuid4().hex}"
    for number in range(_ROUNDS):
        _Round(buckets, folder, number, where, until).run()


class _Round:
    """One race for one key."""

    def __init__(self, buckets: list[Bucket], folder: str, number: int, where: str, until: float) -> None:
        self._buckets = buckets
        self._folder = folder
        self._key = f"{folder}/{number:012}.jsonl"
        self._before = f"{folder}/{number - 1:012}.jsonl" if number else ""
        size = _SIZES[number % len(_SIZES)]
        self._objects = [f"{uuid.uuid4().hex} {'x' * size}\n".encode() for _ in buckets]
        self._where = where
        self._until = until

    def run(self) -> None:
        """Race, and look at what came of it."""
        if any(self._read()):
            raise self._refusal("an object exists that was never written")
        winner = self._race()
        self._expect(winner, "an object was overwritten, although it existed")
        if not all(self._listed("") + self._listed(self._before)):
            raise self._refusal("an object is missing from a list made after it was written")
        if any(answer.end == "created" for answer in self._create()):
            raise self._refusal("an object was overwritten, although it existed")
        self._expect(winner, "an object was overwritten, although the write was refused")

    def _race(self) -> bytes:
        """The object that was created; all clients try at once, again if none of them has succeeded."""
        for _ in range(_TRIES):
            answers = self._create()
            stored = self._read()
            winners = [data for data, answer in zip(self._objects, answers, strict=True) if answer.end == "created"]
            if len(winners) > 1:
                raise self._refusal("two clients created one object")
            if winners:
                return winners[0]
            for data in stored:  # the winner's answer was lost
                if data is not None:
                    return data
            if any(answer.end == "refused" for answer in answers):
                break
            time.sleep(_PAUSE)
        reason = next((answer for answer in answers if answer.reason), Answer("conflict", "conflicts only"))
        what = f"no object could be created: {reason.reason}"
        raise StoreUnavailable(what, where=self._where, remedy=reason.remedy or _RETRY)

    def _expect(self, winner: bytes, trouble: str) -> None:
        """Raises StateError unless every client reads what the winner wrote."""
        if winner not in self._objects:
            raise self._refusal("an object was stored incompletely, or mixed with another")
        for stored in self._read():
            if stored is None:
                raise self._refusal("a client does not see an object that another has written")
            if stored != winner:
                raise self._refusal(trouble if stored in self._objects else "an object was stored incompletely")

    def _create(self) -> list[Answer]:
        """Create the object through all clients at once; how each was answered."""
        barrier = threading.Barrier(len(self._buckets))

        def create(number: int) -> Answer:
            barrier.wait()
            return self._buckets[number].create(self._key, self._objects[number], self._until)

        return self._by_all(create)

    def _read(self) -> list[bytes | None]:
        """What each client reads."""
        return self._by_all(lambda number: self._buckets[number].get([self._key], self._until)[0])

    def _listed(self, after: str) -> list[bool]:
        """Whether each client finds the key in a list that begins behind the key `after`."""
        return self._by_all(lambda number: self._key in self._buckets[number].keys(self._folder, after, self._until))

    def _by_all(self, step: Callable[[int], Result]) -> list[Result]:
        """The results of a step that all clients do at once."""
        return at_once(step, range(len(self._buckets)), len(self._buckets), self._until, self._where)

    def _refusal(self, what: str) -> StateError:
        what = f"this object store does not keep what a record depends on: {what}"
        return StateError(what, where=self._where, remedy=_REMEDY)
