"""Reads a journal object by object, or what follows a pack or what was read before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.errors import RecordDamaged, StoreUnavailable
from reconciler.state.stores.objects.history import History, count_lines, refuse_incomplete, unpacked
from reconciler.state.stores.objects.keys import numbers_in, object_key, pack_folder, pack_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.state.stores.objects.bucket import Bucket

_REMEDY = "run the command again; if that does not help, another program deletes objects, or reads are inconsistent"
_GONE = (
    "restore them from versions or a backup of the bucket; if they are lost for good, copy the last pack to the key"
    " {key}; then run: reconciler state verify"
)


class Reading:
    """One read of a target's journal; `where` is the location of the bucket, for messages."""

    def __init__(self, bucket: Bucket, target: str, where: str, until: float) -> None:
        self._bucket = bucket
        self._target = target
        self._where = where
        self._until = until

    def history(self, known: History | None) -> History | None:
        """The journal as it is now, None if there is none; `known` is what was read or written of it before.

        It is complete, or damaged. Raises StoreUnavailable, and RecordDamaged for an object that is incomplete.
        """
        base = known or self._packed()
        objects = self._objects(base)
        if base is not None and objects.get(base.last) != base.parts[-1]:
            base, objects = None, self._objects(None)  # neither a pack nor a memory counts against the object itself
        if not objects and self._packs():
            what = "all objects of the journal are missing; there are packs of them"
            raise RecordDamaged(
                what, where=f"{self._where}/{self._target}", remedy=_GONE.format(key=object_key(self._target, 1))
            )
        if not objects:
            return None
        history = base or History()
        for number in sorted(objects):
            if number > history.last:
                history = history.followed_by(number, objects[number])
        return history

    def _packed(self) -> History | None:
        """What the latest pack holds; None if there is none, or it is not what it is supposed to be."""
        numbers = self._packs()
        if not numbers:
            return None
        keys = [pack_key(self._target, numbers[-1]), object_key(self._target, numbers[-1])]
        pack, last = self._bucket.get(keys, self._until)
        return unpacked(pack, last, numbers[-1])

    def _packs(self) -> list[int]:
        """The numbers of the packs, sorted."""
        folder = pack_folder(self._target)
        return numbers_in(folder, self._bucket.keys(folder, "", self._until))

    def _objects(self, base: History | None) -> dict[int, bytes]:
        """The objects from the last one of `base`, by their numbers.

        A list may be older than the objects: what follows the last one listed is asked for by its key, and so is what
        is missing in between.
        """
        first = base.last if base is not None else 1
        after = object_key(self._target, first)
        listed = numbers_in(self._target, self._bucket.keys(self._target, after, self._until))
        objects = self._get([first, *(number for number in listed if number != first)])
        if missing := [number for number in listed if number not in objects]:
            raise StoreUnavailable(
                "the object store lists this object, but does not return it",
                where=f"{self._where}/{object_key(self._target, missing[0])}",
                remedy=_REMEDY,
            )
        number = first
        while number in objects:
            number += count_lines(objects[number])
            if number not in objects:
                objects |= self._get([number])
        return objects

    def _get(self, numbers: Sequence[int]) -> dict[int, bytes]:
        """Those of these objects that exist. Raises RecordDamaged for one that is incomplete."""
        keys = [object_key(self._target, number) for number in numbers]
        found = self._bucket.get(keys, self._until)
        for key, data in zip(keys, found, strict=True):
            if data is not None:
                refuse_incomplete(data, f"{self._where}/{key}")
        return {number: data for number, data in zip(numbers, found, strict=True) if data is not None}
