"""What every store offers: read a journal whole, and append to it if its head is still the one expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from reconciler.model.address import TargetName


class Store(Protocol):
    """Where journals live. A store moves bytes; what they mean is the journal's business.

    No lock is ever held between two calls, so none is ever stuck.
    """

    location: str
    """How the user names it, for messages; free of credentials."""

    local: bool
    """Whether it is a disk of this machine (on a CI runner, one that dies with the job)."""

    def targets(self) -> list[TargetName]:
        """The targets that have a journal here, sorted. Raises StoreUnavailable."""
        ...

    def read(self, target: TargetName) -> bytes | None:
        """The journal's bytes, read afresh; None where there is none. Raises StoreUnavailable."""
        ...

    def append(self, target: TargetName, head: str | None, lines: bytes, note: str) -> None:
        """Append whole lines, durably, if the hash of the last whole line is still `head` (None: no journal yet).

        What follows the last newline is a torn write of somebody who died, and is cut off. `note` says what the
        lines are about, for stores that keep a history of their own.

        Raises HeadMoved where the head is another, and StoreUnavailable where the append failed; after either the
        lines may have been written all the same (an answer can be lost): read again before believing it.
        """
        ...
