"""The interface of every store: read the whole record, and append to it if its head has not moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from reconciler.errors import HeadMoved, Message
from reconciler.record.chain import last_head

if TYPE_CHECKING:
    from pathlib import Path


class Stored(Struct, frozen=True):
    """The contents of a store. `data` is the record's bytes, None if there certainly is no record.

    `second` is the head that the store keeps a second time, apart from the record (git: the branch `BRANCH-head`): ""
    if that is missing, None if the store has no such second place.
    """

    data: bytes | None
    second: str | None = None


class Store(Protocol):
    """A place for one record. A store reads and writes bytes, and does not interpret them.

    It holds no lock between two calls, so none can get stuck. No call waits for other processes for longer than 30 s,
    however many locks it takes, and signals end every wait. Threads may share a store.
    """

    place: str
    """Its name, free of credentials: a value that `--state` accepts, the same from every working directory. It is what
    notes and messages call the place."""

    path: Path | None
    """Its file, absolute, if it is a file of this machine; None for every other store."""

    def read(self) -> Stored:
        """Return the current contents, never cached ones; they are durable. Raises StoreUnavailable."""
        ...

    def append(self, head: str | None, seq: int, lines: bytes, note: str, *, second: str | None = None) -> None:
        """Append complete lines, durably, if the hash of the last complete line is `head` (None: no record yet).

        `seq` is the number of the first of `lines`, 1 in a new record; the head alone is the condition. What follows
        the last newline is a torn write, and is cut off. `note` describes the lines, for stores with a history of their
        own. `second` is the head to keep in the second place once the lines are durable, None to leave that alone; a
        store without one ignores it. Without `lines`, only that is moved, if the head is `head`. When this returns, the
        place was seen to hold the lines and the second head. A second head that neither the record nor `lines` name is
        never overwritten: the record was set back, and the append is refused as if the head had moved.

        Raises HeadMoved if the head is another one, and StoreUnavailable if the append failed. After either, the lines
        may have been written nevertheless, since an answer can be lost: the caller must read again to find out.
        """
        ...

    def prepare(self) -> None:
        """Prepare the place for a record if necessary, and test that it keeps its promises; change nothing else.

        `state init` does this before it begins a record, `state copy` before it closes one, an apply before its first
        append. Raises RecordError for a place that cannot be trusted with a record, and StoreUnavailable.
        """
        ...

    def check_writable(self) -> None:
        """Raise RecordError if an append would fail, as far as can be tested without an append."""
        ...


def require_head(data: bytes | None, head: str | None, place: str) -> None:
    """Raise HeadMoved unless `data` ends with the line whose hash is `head`; with None, unless there is no record."""
    if (data is None) != (head is None):
        raise head_moved(place, "there is a record already" if head is None else "the record is missing")
    if data is not None and last_head(data) != head:
        raise head_moved(place)


def head_moved(place: str, what: str = "another run appended to the record") -> HeadMoved:
    """Return the error of an append that came too late."""
    return HeadMoved(Message("head-moved", f"conflict: {what}", place))
