"""The protocol of every store: read a whole journal, and append to it if its head has not moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Hashable, Iterable
    from pathlib import Path

    from reconciler.model.address import TargetName


class StoreLocation(Struct, frozen=True):
    """Where a store is, independent of the working directory: heads are remembered with it.

    `location` is the store's, with a relative path made absolute; `resolved` the same with symbolic links resolved, ""
    for a store that is not on this machine. `normalized` gives the spellings of one location one form, "" for the
    location of another type of store; the default is right for paths.
    """

    location: str
    resolved: str = ""
    normalized: Callable[[str], str] = str

    def has_any(self, names: Iterable[str]) -> bool:
        """Whether one of these remembered locations is this place."""
        ours = {self.location, self.resolved, self.normalized(self.location)} - {""}
        return any(name in ours or self.normalized(name) in ours for name in names)


class Journals(Protocol):
    """What an apply needs of a store. A store reads and writes bytes, and does not interpret them.

    It holds no lock between two calls, so none can get stuck. No call waits for other processes for longer than 30 s,
    however many locks it takes, and signals end every wait. Threads may share a store.
    """

    location: str
    """Its name for messages, free of credentials; of a store on this machine, a value that `--state` accepts."""

    def where(self, target: TargetName) -> str:
        """The location of a journal, for messages."""
        ...

    def read(self, target: TargetName, durable: Container[str] = ()) -> bytes | None:
        """The journal's current bytes, never cached; None if there certainly is none. Raises StoreUnavailable.

        They are durable, even if the process that wrote them was killed before it had made sure of that. Of `durable`,
        heads that this machine has seen to be durable here, a store need not make sure again.
        """
        ...

    def append(self, target: TargetName, head: str | None, seq: int, lines: bytes, note: str) -> None:
        """Append complete lines, durably, if the hash of the last complete line is `head` (None: no journal yet).

        `seq` is the number of the first of `lines`, 1 in a new journal. It follows from `head`: a store that finds
        lines by their number does not have to read the journal for it. It is no condition: the head alone decides.

        What follows the last newline is an interrupted write, and is deleted. `note` describes the lines, for stores
        with a history of their own.

        Raises HeadMoved if the head is another one, and StoreUnavailable if the append failed. After either, the lines
        may have been written nevertheless, since an answer can be lost: the caller must read again to find out.
        """
        ...


class Store(Journals, Protocol):
    """A place for journals."""

    @property
    def path(self) -> Path | None:
        """Its directory or file, absolute, if it is on a disk of this machine (on a CI runner, lost with the job)."""
        ...

    @property
    def place(self) -> StoreLocation:
        """Where it is."""
        ...

    def prepare(self) -> None:
        """Make the place ready for journals if it is not, and test that it keeps what it promises; nothing is changed
        in it otherwise. `state init` does this before it begins a journal, `state copy` before it closes one;
        it may be called at any time.

        Raises StateError for a place that cannot be trusted with a record, and StoreUnavailable.
        """
        ...

    def stamp(self, target: TargetName) -> Hashable | None:
        """Something that differs if the journal does, for a fraction of a read's cost; None if only a read can tell."""
        ...

    def targets(self) -> list[TargetName]:
        """The targets that have a journal in this store, sorted. Raises StoreUnavailable."""
        ...

    def journal_file(self, target: TargetName) -> Path | None:
        """The file of this machine that is the journal, which git may track; None for a store without such files."""
        ...


@runtime_checkable
class Triable(Protocol):
    """A store that can try whether an append would succeed: what `Store` does not require."""

    def check_writable(self, target: TargetName) -> None:
        """Raises StateError if an append to the target's journal, which exists, would fail, as far as can be tried.

        No journal is changed, and nothing is left behind that a reader could take for one.
        """
        ...


@runtime_checkable
class Keeping(Protocol):
    """A store of which this machine keeps what it has seen: what `Store` does not require."""

    def kept(self, target: TargetName) -> list[bytes]:
        """The complete lines of the target's journal as they were seen on this machine, the newest first.

        The journal in the store may lack lines of them if it was set back. Raises StateError.
        """
        ...
