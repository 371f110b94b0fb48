"""A bucket in memory that keeps what it promises: what a broken one is made from."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from reconciler.state.stores.objects.bucket import Answer
from reconciler.state.stores.objects.objects import BucketStore
from reconciler.state.stores.store import StoreLocation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reconciler.state.stores.objects.bucket import Bucket

MEMORY = "memory://bucket/prefix"


class MemoryBucket:
    """All clients of one bucket are this object: each operation is one step, and everybody sees it at once.

    `objects` are its contents, for a test to look at or to tamper with.
    """

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.lock = threading.RLock()

    def create(self, key: str, data: bytes, until: float) -> Answer:
        """See Bucket.create."""
        with self.lock:
            if key in self.objects:
                return Answer("conflict")
            self.objects[key] = data
            return Answer("created")

    def get(self, keys: Sequence[str], until: float) -> list[bytes | None]:
        """See Bucket.get."""
        with self.lock:
            return [self.objects.get(key) for key in keys]

    def keys(self, folder: str, after: str, until: float) -> list[str]:
        """See Bucket.keys."""
        with self.lock:
            return sorted(key for key in self.objects if key.startswith(f"{folder}/") and key > after)

    def folders(self, folder: str, until: float) -> list[str]:
        """See Bucket.folders."""
        inside = f"{folder}/" if folder else ""
        with self.lock:
            below = [key.removeprefix(inside) for key in self.objects if key.startswith(inside)]
        return sorted({rest.partition("/")[0] for rest in below if "/" in rest})


def bucket_store(connect: Callable[[], Bucket]) -> BucketStore:
    """A store in a bucket to which `connect` makes another client each time."""
    return BucketStore(StoreLocation(MEMORY), MEMORY, connect)
