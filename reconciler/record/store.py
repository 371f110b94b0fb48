"""The interface of every store, which reads the whole record and appends to it if its head has not moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from reconciler.errors import HeadMoved, Message
from reconciler.record.chain import last_head

if TYPE_CHECKING:
    from pathlib import Path


class Stored(Struct, frozen=True):
    """The contents of a store. `data` is the record's bytes, or None if there certainly is no record.

    `second` is a copy of the head that the store keeps apart from the record (git: the branch `BRANCH-head`). It is ""
    if the copy is missing, and None if the store keeps no copy.
    """

    data: bytes | None
    second: str | None = None


class Store(Protocol):
    """A place for one record. A store reads and writes bytes and does not interpret them.

    It holds no lock between two calls, so no lock can get stuck. No call waits longer than 30 s for other processes,
    and signals end every wait. Threads may share a store.
    """

    place: str
    """The name of the place in notes and messages, without credentials. `--state` accepts it from any directory."""

    path: Path | None
    """The absolute path of the record if it is a file on this machine, otherwise None."""

    def read(self) -> Stored:
        """Return the current, durable contents, never cached ones. Raises StoreUnavailable."""
        ...

    def append(self, head: str | None, lines: bytes, summary: str, *, second: str | None = None) -> None:
        """Append complete lines durably if the hash of the last complete line is `head` (None: no record yet).

        An incomplete last line is removed. `summary` describes the lines, for stores that keep a history. `second` is
        the head to write to the second place once the lines are durable; None leaves the second place unchanged, and a
        store without a second place ignores it. Without `lines`, only the second place is updated, and only if the
        head is `head`.

        When this returns, the lines and the second head have been read back. A second head that is neither in the
        record nor in `lines` is never overwritten: the record was reset, and the append fails as if the head had moved.

        Raises HeadMoved if the record has another head, and StoreUnavailable if the append failed. In both cases the
        lines may have been written, since an answer can be lost: the caller must read again to find out.
        """
        ...

    def prepare(self) -> None:
        """Prepare the place for a record if necessary, and check that it is reliable; change nothing else.

        `state init` calls this before it begins a record, `state copy` before it closes one, and an apply before its
        first append. Raises RecordError for a place that cannot be trusted with a record, and StoreUnavailable.
        """
        ...

    def check_writable(self) -> None:
        """Check as far as possible, without an append, that an append would succeed.

        Raises RecordError if an append would fail.
        """
        ...


def has_head(data: bytes | None, head: str | None) -> bool:
    """True if `data` ends with the line whose hash is `head`, or if both are None (no record)."""
    return head is None if data is None else last_head(data) == head


def require_head(data: bytes | None, head: str | None, place: str) -> None:
    """Raise HeadMoved unless `head` is the head of `data`."""
    if (data is None) != (head is None):
        raise head_moved(place, "there is a record already" if head is None else "the record is missing")
    if not has_head(data, head):
        raise head_moved(place)


def head_moved(place: str, what: str = "another run appended to the record") -> HeadMoved:
    """Return the error for an append to a record whose head has moved."""
    return HeadMoved(Message("head-moved", f"conflict: {what}", place))
