"""Journals in a bucket: each append is one object, created under the number of its first entry if nobody else has.

A journal is the concatenation of its objects. Nothing is ever overwritten or deleted, so the number of an append can be
taken once: a write that arrives late, after somebody else's, is refused like any other. A pack holds all objects up to
one of them, so that a long journal is not read object by object; it is no more than a cache, and ignored unless it is
a journal that ends with that very object.
"""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.errors import HeadMoved, StoreUnavailable
from reconciler.model.address import TARGET, TargetName
from reconciler.state.stores.objects.history import History
from reconciler.state.stores.objects.keys import PACKS, has_numbers, object_key, pack_key
from reconciler.state.stores.objects.probe import prove
from reconciler.state.stores.objects.reading import Reading
from reconciler.state.stores.objects.writing import write_once

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Hashable, Iterator

    from reconciler.state.stores.objects.bucket import Bucket
    from reconciler.state.stores.store import StoreLocation

_PATIENCE = 30.0  # seconds for one call, all its requests together
_BRIEFLY = 5.0  # seconds, after a timeout: an apply retries for each outcome, and must end
_PACKING = 5.0  # seconds for a pack, which nobody needs
_LOOSE = 64  # objects that are read one by one at most


class BucketStore:
    """Journals in a bucket. `connect` opens a client of its own for it; threads may share the store."""

    path = None

    def __init__(self, place: StoreLocation, location: str, connect: Callable[[], Bucket]) -> None:
        self.place = place
        self.location = location
        self._connect = connect
        self._bucket = connect()
        self._patience = _PATIENCE
        self._known: dict[TargetName, History] = {}

    def prepare(self) -> None:
        """See Store.prepare: nothing has to be made, and the proof leaves its objects behind."""
        prove(self._connect, self.location)

    def targets(self) -> list[TargetName]:
        """See Store.targets: those with any object; one that lost its first is damaged. Other folders are ignored."""
        with self._in_time() as until:
            named = [
                TargetName(f"{region}/{environment}")
                for region in self._bucket.folders("", until)
                if TARGET.fullmatch(f"{region}/x")
                for environment in self._bucket.folders(region, until)
                if TARGET.fullmatch(f"{region}/{environment}")
            ]
            begun = self._bucket.get([object_key(target, 1) for target in named], until)
            found = zip(named, begun, strict=True)
            return sorted(target for target, first in found if first is not None or self._is_rest(target, until))

    def _is_rest(self, target: TargetName, until: float) -> bool:
        """Whether a folder without a first object is what is left of a journal, and not the packs of another prefix."""
        return not target.endswith(PACKS) and has_numbers(self._bucket.keys(target, "", until), target)

    def where(self, target: TargetName) -> str:
        """See Store.where."""
        return f"{self.location} {target}"

    def journal_file(self, target: TargetName) -> None:
        """See Store.journal_file: a bucket has none."""

    def stamp(self, target: TargetName) -> Hashable | None:
        """See Store.stamp: a journal ends where it did if the next object does not exist."""
        known = self._known.get(target)
        if known is None:
            return None
        with suppress(StoreUnavailable), self._in_time() as until:
            if self._bucket.get([object_key(target, known.next)], until) == [None]:
                return known.head
        return None

    def read(self, target: TargetName, durable: Container[str] = ()) -> bytes | None:  # noqa: ARG002
        """See Store.read; what an object store returns is durable.

        Raises RecordDamaged for an object that is incomplete.
        """
        with self._in_time() as until:
            history = self._read(target, until)
        return b"".join(history.parts) if history is not None else None

    def append(self, target: TargetName, head: str | None, seq: int, lines: bytes, note: str) -> None:  # noqa: ARG002
        """See Store.append; objects have no history of their own, so `note` is not used."""
        with self._in_time() as until:
            before = self._at_head(target, head, seq, until)
            last = {object_key(target, before.last): before.parts[-1]} if before.parts else {}
            write_once(self._bucket, object_key(target, seq), lines, last, self.where(target), until)
        self._known[target] = after = before.followed_by(seq, lines)
        if after.loose > _LOOSE:
            self._pack(target, after)

    def _read(self, target: TargetName, until: float) -> History | None:
        self._check_name(target)
        known = self._known.pop(target, None)
        history = Reading(self._bucket, target, self.location, until).history(known)
        if history is not None and history.next:
            self._known[target] = history
        return history

    def _at_head(self, target: TargetName, head: str | None, seq: int, until: float) -> History:
        """The journal that ends with that head, before the entry `seq`.

        That a number is free is not enough: a journal may have been replaced by another, or lost its first object.
        Raises HeadMoved, and RecordDamaged.
        """
        self._check_name(target)
        if head is None:
            if self._read(target, until) is not None:
                raise HeadMoved("conflict: another run initialized this journal", where=self.where(target))
            return History()
        known = self._known.get(target)
        if known is None or (known.head, known.next) != (head, seq):
            known = self._read(target, until)
        if known is None:
            raise HeadMoved("the journal is missing", where=self.where(target))
        if (known.head, known.next) != (head, seq):
            raise HeadMoved("conflict: another run appended to this journal", where=self.where(target))
        return known

    def _check_name(self, target: TargetName) -> None:
        if not TARGET.fullmatch(target):
            raise StoreUnavailable(f"not a valid target name: {target!r}", where=self.location)

    def _pack(self, target: TargetName, history: History) -> None:
        """Write a pack. If that fails, or another run has written it, nothing is lost; the next one comes later."""
        with suppress(StoreUnavailable):
            pack = b"".join(history.parts)
            self._bucket.create(pack_key(target, history.last), pack, time.monotonic() + _PACKING)
        self._known[target] = replace(history, loose=0)

    @contextmanager
    def _in_time(self) -> Iterator[float]:
        """When a call has to end."""
        until = time.monotonic() + self._patience
        try:
            yield until
        except StoreUnavailable:
            if time.monotonic() >= until:
                self._patience = _BRIEFLY
            raise
        self._patience = _PATIENCE
