"""A store that keeps every version of its journals, and checks every append as the journal code would."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

from reconciler.errors import HeadMoved, RecordMissing
from reconciler.model.record import MeaninglessEntry
from reconciler.state.journal.chain import extend, link, parse
from reconciler.state.journal.entries import from_fields
from reconciler.state.stores.store import StoreLocation
from support.simulation.sim_service import Promise, Violation

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from reconciler.model.address import TargetName
    from reconciler.model.entry import AnyEntry, Begun
    from reconciler.state.journal.chain import Journal
    from support.simulation.sim_world import Owner


class Way(Protocol):
    """How a machine reads journals and appends to them."""

    def journal(self, target: TargetName) -> Journal:
        """The journal as it is now. Raises StateError."""
        ...

    def append(self, target: TargetName, head: str | None, seq: int, lines: bytes, note: str) -> None:
        """Compare and append. Raises StateError."""
        ...

    def known(self, target: TargetName) -> Journal:
        """The journal just after an append, as whoever made it knows it."""
        ...


_CHAIN = ("seq", "prev", "hash")


class SimStore:
    """Journals in memory. `watch` is told of each append: the journal before, the journal after, the new entries."""

    location = "simulated"
    place = StoreLocation(location)

    def __init__(self, watch: Callable[[Journal, Journal, Sequence[AnyEntry]], None]) -> None:
        self.watch = watch
        self.data: dict[TargetName, bytes] = {}
        self.versions: dict[TargetName, list[Journal]] = {}
        self.hidden: set[TargetName] = set()

    def begin(self, begun: Begun) -> Journal:
        """A record begins, whatever was in its place before."""
        data, _ = link(None, 0, [begun])
        self.data[begun.target] = data
        journal = parse(data, begun.target, self.location)
        self.versions.setdefault(begun.target, []).append(journal)
        return journal

    def journal(self, target: TargetName) -> Journal:
        """The journal as it is now. Raises RecordMissing."""
        if target not in self.versions or target in self.hidden:
            raise RecordMissing("there is no such journal", where=target)
        return self.versions[target][-1]

    def latest(self, target: TargetName) -> Journal:
        """The journal as it is now, though nobody may be able to read it."""
        return self.versions[target][-1]

    def targets(self) -> list[TargetName]:
        return sorted(self.data.keys() - self.hidden)

    def where(self, target: TargetName) -> str:
        """See Journals.where."""
        return f"{self.location} {target}"

    def read(self, target: TargetName, durable: Container[str] = ()) -> bytes | None:
        return self.data.get(target)

    def opened_by(self, owner: Owner) -> Way:
        """The way of a machine to the journals."""
        return self

    def append(self, target: TargetName, head: str | None, seq: int, lines: bytes, note: str) -> None:
        """Compare and append. Raises HeadMoved, and Violation for lines that do not belong there."""
        before = self.journal(target)
        if before.head != head:
            raise HeadMoved("somebody else was first", where=target)
        if len(before.lines) + 1 != seq:
            raise Violation(Promise.SOUND, f"the first line appended is not number {seq}")
        self.graft(target, lines)

    def known(self, target: TargetName) -> Journal:
        """See Way.known."""
        return self.journal(target)

    def graft(self, target: TargetName, lines: bytes) -> None:
        """Append without comparing. Raises Violation for lines that do not belong there."""
        before = self.journal(target)
        after, entries = grown(before, lines)
        self.data[target] += lines
        self.versions[target].append(after)
        self.watch(before, after, entries)

    def cut(self, journal: Journal, number: int) -> Journal:
        """Go back to the first entries of a journal, so many of them; gives what is left."""
        data = b"".join(self.data[journal.target].splitlines(keepends=True)[:number])
        older = parse(data, journal.target, self.location)
        self.put(older)
        return older

    def put(self, journal: Journal) -> None:
        """Put this journal in the place of the one of its target."""
        self.data[journal.target] = link(None, 0, [entry for entry, _ in journal.lines])[0]
        self.versions[journal.target].append(journal)

    def check(self) -> None:
        """Raises Violation unless the bytes are the journals: what was checked line by line holds for the whole."""
        for target, data in self.data.items():
            if parse(data, target, self.location) != self.journal(target):
                raise Violation(Promise.SOUND, f"the journal of {target} does not read as what was appended to it")


def grown(journal: Journal, lines: bytes) -> tuple[Journal, Sequence[AnyEntry]]:
    """The journal with `lines` at its end, and their entries. Raises Violation for lines that do not belong there."""
    entries = [_decode(line) for line in lines.splitlines()]
    try:
        after, linked = extend(journal, entries)
    except MeaninglessEntry as problem:
        raise Violation(Promise.SOUND, f"an entry cannot follow the ones before it: {problem}") from None
    if linked != lines:
        raise Violation(Promise.SOUND, "the chain of hashes is broken")
    return after, entries


def _decode(line: bytes) -> AnyEntry:
    return from_fields({key: value for key, value in json.loads(line).items() if key not in _CHAIN})
