"""Reads of records that are read again and again during an apply."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from reconciler.state.heads.tracking import read_journal

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.model.address import TargetName
    from reconciler.model.record import Record
    from reconciler.state.heads.remembered import Heads
    from reconciler.state.heads.seen import Seen
    from reconciler.state.stores.store import Store


class Rereader:
    """Reads many records again and again: one whose journal and head are as they were is the record it was then."""

    def __init__(self, store: Store, heads: Heads) -> None:
        self._store = store
        self._heads = heads
        self._latest: dict[TargetName, tuple[object, Record]] = {}

    def begin(self) -> Callable[[TargetName], Record]:
        """Begin to read them once more, each when the function that is given is called.

        It checks and remembers as `read_journal` does, and raises what that does. Raises SettingsError.
        """
        return partial(self._read, self._heads.seen())

    def _read(self, seen: Seen, target: TargetName) -> Record:
        stamp = self._store.stamp(target)
        before, record = self._latest.get(target, (None, None))
        if stamp is not None and record is not None and before == (stamp, *_concerning(record, seen)):
            return record
        journal = read_journal(self._store, target, self._heads)
        record = journal.record()
        if not journal.torn:  # another line of the same length may take the place of what follows the last newline
            self._latest[target] = (stamp, *_concerning(record, seen)), record
        return record


def _concerning(record: Record, seen: Seen) -> tuple[object, ...]:
    """The heads that a record is checked against."""
    return seen.records.get(record.id), *seen.of_target(record.target)
