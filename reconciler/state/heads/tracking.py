"""Journals out of a store and back into it, with what was seen of them before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.errors import HeadMoved, ReconcilerError, RecordLost, RecordMissing, StateError, StoreUnavailable
from reconciler.model.entry import RollbackAccepted
from reconciler.model.record import MeaninglessEntry
from reconciler.state.heads.remembered import seen_at, seen_elsewhere
from reconciler.state.journal.chain import extend, head_of, link, parse
from reconciler.state.stores.files import FileStore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reconciler.model.address import TargetName
    from reconciler.model.entry import AnyEntry, Begun
    from reconciler.state.heads.known_head import KnownHead
    from reconciler.state.heads.remembered import Heads
    from reconciler.state.journal.chain import Journal
    from reconciler.state.stores.store import Store


class HeadTrackingStore:
    """A store for an apply: what it appends to the journals it follows is remembered as soon as it is durable.

    A run that dies cannot read its record a last time, and an older record must be noticed all the same. Where the
    head cannot be remembered, `heads` has a warning; the append has succeeded nevertheless.
    """

    def __init__(self, store: Store, heads: Heads) -> None:
        self.location = store.location
        self.local = store.local
        self._store = store
        self._heads = heads
        self._followed: dict[TargetName, tuple[Journal, list[str]]] = {}
        """Journals as they were read, and the hashes of what was appended to them since."""

    def follow(self, journal: Journal) -> Journal:
        """Take a journal that was read, and remembered, for what the next append goes on from; gives it back."""
        self._followed[journal.target] = (journal, [])
        return journal

    def targets(self) -> list[TargetName]:
        """See Store.targets."""
        return self._store.targets()

    def read(self, target: TargetName) -> bytes | None:
        """See Store.read; followed and remembered, since what an append without an answer came to shows only here.

        Raises RecordRolledBack too: what was seen in the middle of a run counts like what was seen before it.
        """
        seen = self._heads.seen(target)
        data = self._store.read(target)
        if data is None:
            return None
        try:
            journal = parse(data, target, _place(self._store, target))
        except StateError:  # whoever asked finds that out, and what to do about it
            return data
        self._heads.check(journal, seen, absolute_location(self._store))
        self.follow(journal)
        self._remember(target)
        return data

    def append(self, target: TargetName, head: str | None, lines: bytes, note: str) -> None:
        """See Store.append; never to a head that this run has read more of, even where the record lost that since."""
        if target not in self._followed:
            self._store.append(target, head, lines, note)
            return
        journal, appended = self._followed[target]
        is_latest = head == (appended or [journal.head])[-1]
        if not is_latest and (head in appended or any(head == digest for _, digest in journal.lines)):
            raise HeadMoved("somebody else has appended to this journal", where=target)
        self._store.append(target, head, lines, note)
        if not is_latest:
            return
        appended += [digest for line in lines.split(b"\n") if (digest := head_of(line))]
        self._remember(target)

    def _remember(self, target: TargetName) -> None:
        journal, appended = self._followed[target]
        try:
            self._heads.remember(journal, absolute_location(self._store), appended)
        except ReconcilerError as problem:
            self._heads.warning = str(problem)


def read_journal(store: Store, target: TargetName, heads: Heads) -> Journal:
    """The target's journal, checked against what was seen of it before, and remembered.

    Raises StateError, each of its kinds but HeadMoved, and SettingsError.
    """
    seen = heads.seen(target)  # before the record is read: a head remembered meanwhile may be later than what is read
    data = store.read(target)
    if data is None:
        raise _missing(store, target, seen)
    journal = parse(data, target, _place(store, target))
    heads.check(journal, seen, absolute_location(store))
    heads.remember(journal, absolute_location(store))
    return journal


def begin_journal(store: Store, begun: Begun, heads: Heads, note: str, given_up: Sequence[KnownHead] = ()) -> Journal:
    """Begin the journal of a target that has none; it says that the loss of the records `given_up` was accepted.

    Raises HeadMoved where the target has a journal, and StoreUnavailable.
    """
    lines, _ = link(None, 0, [begun, *rollback_entries(given_up, begun.at, begun.by, forced=begun.forced)])
    journal = parse(lines, begun.target, _place(store, begun.target))
    return _append(store, None, journal, lines, heads, note)


def rollback_entries(
    given_up: Sequence[KnownHead], at: str, by: Mapping[str, str], *, forced: bool
) -> list[RollbackAccepted]:
    """Entries that accept the loss of what was seen."""
    return [
        RollbackAccepted(
            at=at, by=by, lost_head=one.head, lost_entries=one.entries, lost_record=one.record, forced=forced
        )
        for one in given_up
    ]


def append_entries(store: Store, journal: Journal, entries: Sequence[AnyEntry], heads: Heads, note: str) -> Journal:
    """Append to a journal that is as it was read, and give it as it is then.

    Raises HeadMoved and StoreUnavailable where the entries are not in it, and StateError for ones that cannot follow.
    """
    try:
        extended, lines = extend(journal, entries)
    except MeaninglessEntry as problem:
        raise StateError(f"this cannot be recorded: {problem.args[0]}", where=journal.target) from None
    return _append(store, journal.head, extended, lines, heads, note)


def absolute_location(store: Store) -> str:
    """The store's location, told apart from one of the same relative path in another directory."""
    if not store.local:
        return store.location
    return str(store.root if isinstance(store, FileStore) else Path(store.location).absolute())


def _append(store: Store, head: str | None, extended: Journal, lines: bytes, heads: Heads, note: str) -> Journal:
    """Append `lines`, which make the journal `extended`."""
    try:
        store.append(extended.target, head, lines, note)
    except (HeadMoved, StoreUnavailable):
        found = _found_again(store, extended)
        if found is None:
            raise
        extended = found
    heads.remember(extended, absolute_location(store))
    return extended


def _found_again(store: Store, extended: Journal) -> Journal | None:
    """The journal as it is in the store, if it holds the lines: a lost answer looks like a conflict."""
    try:
        data = store.read(extended.target)
        journal = None if data is None else parse(data, extended.target, _place(store, extended.target))
    except StateError:
        return None
    return journal if journal is not None and journal.contains(extended.head, len(extended.lines)) else None


def _missing(store: Store, target: TargetName, seen: Mapping[str, KnownHead]) -> RecordMissing | RecordLost:
    location = absolute_location(store)
    for known in seen_at(seen, target, location):
        return RecordLost(
            f"the state record of {target} is missing: it had {known.length} when it was last read here",
            where=store.location,
            remedy="put it back (version control, a backup, another --state); only if it is lost for good, and what it"
            f" held may be created a second time: reconciler state accept-rollback -t {target}",
        )
    others = seen_elsewhere(seen, target, location)
    hint = "".join(f" one with {one.length} was seen at {one.location};" for one in others[:1])
    return RecordMissing(
        f"{target} has no state record here",
        where=store.location,
        remedy=f"is this the right --state?{hint} if {target} never had a record: reconciler state init -t {target}",
    )


def _place(store: Store, target: TargetName) -> str:
    """Where a journal is, for messages."""
    return f"{store.location}/{target}.jsonl" if store.local else f"{store.location} {target}"
