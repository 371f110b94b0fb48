"""The protocol of every store: read a whole journal, and append to it if its head has not moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from reconciler.model.address import TargetName


class Store(Protocol):
    """A place for journals. A store reads and writes bytes, and does not interpret them.

    It holds no lock between two calls, so none can get stuck.
    """

    location: str
    """Its name for messages, as the user writes it; free of credentials."""

    local: bool
    """Whether it is on a disk of this machine (on a CI runner, a disk that is lost with the job)."""

    def targets(self) -> list[TargetName]:
        """The targets that have a journal in this store, sorted. Raises StoreUnavailable."""
        ...

    def read(self, target: TargetName) -> bytes | None:
        """The journal's current bytes, never cached; None if there is none. Raises StoreUnavailable."""
        ...

    def append(self, target: TargetName, head: str | None, lines: bytes, note: str) -> None:
        """Append complete lines, durably, if the hash of the last complete line is `head` (None: no journal yet).

        What follows the last newline is an interrupted write, and is deleted. `note` describes the lines, for stores
        with a history of their own.

        Raises HeadMoved if the head is another one, and StoreUnavailable if the append failed. After either, the lines
        may have been written nevertheless, since an answer can be lost: the caller must read again to find out.
        """
        ...
