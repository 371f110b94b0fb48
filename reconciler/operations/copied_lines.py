"""The lines of a journal that is copied, and how far a copy of them is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from reconciler.model.entry import Closed, Opened
from reconciler.state.journal.chain import Journal, parse

if TYPE_CHECKING:
    from reconciler.model.address import TargetName
    from reconciler.state.stores.store import Store


class Lines(Struct, frozen=True):
    """A journal as it is in a store, and the bytes of its complete lines."""

    journal: Journal
    data: bytes

    @property
    def closed(self) -> Closed | None:
        return self.journal.record().closed

    def is_open_in(self, copy: Lines) -> bool:
        """Whether `copy` continues these lines, and was opened."""
        following = [entry for entry, _ in copy.journal.lines[len(self.journal.lines) :]]
        return copy.data.startswith(self.data) and bool(following) and isinstance(following[0], Opened)

    def is_begun_in(self, copy: Lines) -> bool:
        """Whether `copy` has the first of these lines and is closed, and none of those it lacks opens it.

        It is then closed however few of them are added: nobody may use a copy that lacks lines.
        """
        rest = self.journal.lines[len(copy.journal.lines) :]
        begins = copy.closed is not None and self.data.startswith(copy.data)
        return begins and all(isinstance(entry, Closed) for entry, _ in rest)


def read_lines(store: Store, target: TargetName) -> Lines | None:
    """The journal in a store, whatever head was last known; None if there is none. Raises StateError."""
    data = store.read(target)
    if data is None:
        return None
    journal = parse(data, target, store.where(target))
    return Lines(journal, data[: len(data) - journal.torn])
