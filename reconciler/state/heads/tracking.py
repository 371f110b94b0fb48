"""Reads and appends of journals that check and remember the last known heads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.errors import (
    HeadMoved,
    ReconcilerError,
    RecordLost,
    RecordMissing,
    RecordRolledBack,
    StateError,
    StoreUnavailable,
)
from reconciler.model.entry import Closed, Opened, RollbackAccepted
from reconciler.model.record import MeaninglessEntry
from reconciler.state.journal.chain import count_entries, extend, head_of, intact_head, link, parse

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from reconciler.model.address import TargetName
    from reconciler.model.entry import AnyEntry, Begun
    from reconciler.state.heads.known_head import KnownHead
    from reconciler.state.heads.remembered import Heads
    from reconciler.state.heads.seen import Seen
    from reconciler.state.journal.chain import Journal
    from reconciler.state.stores.store import Journals, Store, StoreLocation


class HeadTrackingStore:
    """A store for an apply: it remembers the head of each journal it follows as soon as an append is durable.

    A run that is killed cannot read its record again, and a later rollback must be detected nevertheless. If a head
    cannot be remembered, `heads.warning` says so; the append has succeeded.
    """

    def __init__(self, store: Store, heads: Heads) -> None:
        self.location = store.location
        self.where = store.where
        self._store = store
        self._heads = heads
        self._followed: dict[TargetName, tuple[Journal, StoreLocation, list[str]]] = {}
        """Journals as they were read, and from where, and the hashes of the lines appended to them since."""

    def follow(self, journal: Journal) -> Journal:
        """Track the head of a journal that was read and remembered, and return the journal."""
        self._followed[journal.target] = (journal, self._store.place, [])
        return journal

    def read(self, target: TargetName, durable: Container[str] = ()) -> bytes | None:
        """See Store.read; the journal is followed and remembered: only a read shows what an unanswered append did.

        Raises RecordRolledBack too: heads seen during the run count like those seen before it.
        """
        seen = self._heads.seen(target)
        data = self._store.read(target, durable)
        if data is None:
            return None
        try:
            journal = parse(data, target, self._store.where(target))
        except StateError:  # the caller parses the data too, and reports what is wrong with it
            return data
        _check(self._store, self._heads, journal, seen)
        self.follow(journal)
        self._remember(target)
        return data

    def append(self, target: TargetName, head: str | None, seq: int, lines: bytes, note: str) -> None:
        """See Store.append; raises HeadMoved for any head but the latest this run knows, even after a rollback."""
        if target not in self._followed:
            self._store.append(target, head, seq, lines, note)
            return
        journal, _, appended = self._followed[target]
        is_latest = head == (appended or [journal.head])[-1]
        if not is_latest and (head in appended or any(head == digest for _, digest in journal.lines)):
            raise HeadMoved("conflict: another run appended to this journal", where=target)
        self._store.append(target, head, seq, lines, note)
        if not is_latest:
            return
        appended += [digest for line in lines.split(b"\n") if (digest := head_of(line))]
        self._remember(target)

    def _remember(self, target: TargetName) -> None:
        journal, place, appended = self._followed[target]
        self._heads.note(journal, place, appended)
        try:
            self._heads.remember(journal, place, appended)
        except ReconcilerError as problem:
            self._heads.warning = str(problem)


def read_journal(store: Store, target: TargetName, heads: Heads, *, closed: bool = False) -> Journal:
    """The target's journal, checked against the last known heads, and remembered; `closed`: even if it was closed.

    Raises StateError, each of its kinds but HeadMoved, and SettingsError.
    """
    journal, seen, place = _checked(store, target, heads, closed=closed)
    heads.remember(journal, place, seen=seen)
    return journal


def check_journal(store: Store, target: TargetName, heads: Heads) -> Journal:
    """As `read_journal`, without remembering the journal's head."""
    journal, _, _ = _checked(store, target, heads, closed=False)
    return journal


def _checked(store: Store, target: TargetName, heads: Heads, *, closed: bool) -> tuple[Journal, Seen, StoreLocation]:
    seen = heads.seen(target)  # first: another run may remember a later head between the two reads
    place = store.place
    journal = load_journal(store, target, {known.head for known in seen.at(target, place) if known.read_here})
    if journal is None:
        raise _missing(store, target, seen)
    if not closed:
        _refuse_closed(store, journal)
    _check(store, heads, journal, seen)
    return journal, seen, place


def _check(store: Store, heads: Heads, journal: Journal, seen: Seen) -> None:
    """As `Heads.check`; what this machine still has of the entries that are missing is to be put back."""
    try:
        heads.check(journal, seen, store.place)
    except RecordRolledBack as problem:
        from reconciler.state.heads.kept import with_other_copies  # noqa: PLC0415 - needed only to explain an error

        raise with_other_copies(problem, store, journal, journal.target, seen) from None


def known_journal(store: Store, target: TargetName, seen: Seen) -> KnownHead | None:
    """The last known head of a target's journal, if the journal is what it was when that head was remembered.

    `seen` was read before: if the journal has grown since, its head is another. Its lines are checked, and not decoded:
    they are the same. None if there is anything else to say, which `read_journal` does.
    """
    place = store.place
    match seen.of_target(target):
        case [known] if (known.location, known.resolved) == (place.location, place.resolved):
            try:
                data = store.read(target, {known.head})
            except StateError:
                return None
            return known if data is not None and intact_head(data) == known.head else None
        case _:
            return None


def load_journal(store: Journals, target: TargetName, durable: Container[str] = ()) -> Journal | None:
    """The target's journal as it is in the store, whatever head was last known; None if there is none.

    `durable` as in Store.read. Raises StateError.
    """
    data = store.read(target, durable)
    return None if data is None else parse(data, target, store.where(target))


def begin_journal(store: Store, begun: Begun, heads: Heads, note: str, lost: Sequence[KnownHead] = ()) -> Journal:
    """Initialize the journal of a target that has none; its entries accept the loss of the records `lost`.

    Raises HeadMoved if the target has a journal, and StoreUnavailable.
    """
    lines, _ = link(None, 0, [begun, *rollback_entries(lost, begun.at, begun.by, forced=begun.forced)])
    journal = parse(lines, begun.target, store.where(begun.target))
    return _append(store, None, journal, lines, heads, note)


def restore_journal(store: Store, journal: Journal, lines: bytes, heads: Heads, note: str) -> None:
    """Put back a whole journal, whose `lines` these are, where there is none.

    Raises HeadMoved if there is one, and StoreUnavailable.
    """
    _append(store, None, journal, lines, heads, note)


def rollback_entries(
    lost: Sequence[KnownHead], at: str, by: Mapping[str, str], *, forced: bool
) -> list[RollbackAccepted]:
    """The entries that accept the loss of the heads `lost`, each once: a witness may have seen it too."""
    distinct: dict[str, KnownHead] = {}
    for known in lost:
        distinct.setdefault(known.head, known)
    return [
        RollbackAccepted(
            at=at, by=by, lost_head=known.head, lost_entries=known.entries, lost_record=known.record, forced=forced
        )
        for known in distinct.values()
    ]


def append_entries(store: Store, journal: Journal, entries: Sequence[AnyEntry], heads: Heads, note: str) -> Journal:
    """Append to a journal if its head has not moved, and return the extended journal.

    Raises HeadMoved and StoreUnavailable if the entries were not appended, RecordClosed for a journal that was closed,
    and StateError for entries that are not valid after those of the journal.
    """
    if not isinstance(entries[0], Closed | Opened):
        _refuse_closed(store, journal)
    try:
        extended, lines = extend(journal, entries)
    except MeaninglessEntry as problem:
        raise StateError(f"cannot append this entry: {problem.args[0]}", where=journal.target) from None
    return _append(store, journal, extended, lines, heads, note)


def _append(store: Store, journal: Journal | None, extended: Journal, lines: bytes, heads: Heads, note: str) -> Journal:
    """Append `lines`, which make `journal` (None: there is none yet) `extended`."""
    head, seq = (None, 1) if journal is None else (journal.head, len(journal.lines) + 1)
    try:
        store.append(extended.target, head, seq, lines, note)
    except (HeadMoved, StoreUnavailable):
        found = _read_back(store, extended)
        if found is None:
            raise
        extended = found
    heads.note(extended, store.place)
    heads.remember(extended, store.place)
    return extended


def _read_back(store: Store, extended: Journal) -> Journal | None:
    """The journal as it is in the store, if it contains all of `extended`: only the answer was lost."""
    try:
        journal = load_journal(store, extended.target)
    except StateError:
        return None
    return journal if journal is not None and journal.contains(extended.head, len(extended.lines)) else None


def _refuse_closed(store: Store, journal: Journal) -> None:
    if journal.record().closed is not None:
        from reconciler.state.journal.closing import refuse_closed  # noqa: PLC0415 - hardly any record is closed

        refuse_closed(journal.record(), store.where(journal.target))


def _missing(store: Store, target: TargetName, seen: Seen) -> RecordMissing | RecordLost:
    for known in seen.at(target, store.place):
        from reconciler.state.heads.kept import with_other_copies  # noqa: PLC0415 - needed only to explain an error

        lost = RecordLost(
            f"the state record of {target} is missing: it was last {_read_or_seen(known)} with {known.length};"
            " until it is restored, nothing is created there",
            where=store.location,
            remedy=f"{known.elsewhere_than(store.place)}restore it (version control, a backup, another --state), or"
            " with a copy of it, such as a colleague's, run: reconciler state recover COPY.jsonl; if it is lost for"
            " good, initialize a new one, into which its subscriptions can be imported; run: reconciler state"
            f" accept-rollback -t {target}",
        )
        return with_other_copies(lost, store, None, target, seen)
    return _never_seen(store, {target: seen})


def missing_records(store: Store, targets: Mapping[TargetName, Seen], *, all_declared: bool = False) -> RecordMissing:
    """The error for targets that have no journal and had none here, with one command that initializes them all.

    Before that comes the one that restores what git has, which is looked for only here. `all_declared`: no other
    declared target lacks one, so that the command need not name them.
    """
    from reconciler.state.stores.git.versions import longest_versions, restore_all  # noqa: PLC0415 - only for an error

    problem = _never_seen(store, targets, all_declared=all_declared)
    versions = longest_versions({target: store.journal_file(target) for target in targets})
    if not versions:
        return problem
    what = " and ".join(f"that of {target} with {count_entries(one.entries)}" for target, one in versions.items())
    remedy = f"git has {what}; to restore what it has, run: {restore_all(versions.values())}; else, {problem.remedy}"
    return RecordMissing(problem.what, where=problem.where, remedy=remedy)


def _never_seen(store: Store, targets: Mapping[TargetName, Seen], *, all_declared: bool = False) -> RecordMissing:
    several, names = len(targets) > 1, ", ".join(targets)
    hints = [hint for name, seen in targets.items() if (hint := _seen_elsewhere(store, name, seen, named=several))]
    hint = f" ({', '.join(hints)})" if hints else ""
    selected = "" if several and all_declared else "".join(f" -t {name}" for name in targets)
    return RecordMissing(
        f"no state record for {names}",
        where=store.location,
        remedy=f"check --state{hint}; if {'they' if several else names} never had one, run: reconciler state"
        f" init{selected}",
    )


def _seen_elsewhere(store: Store, target: TargetName, seen: Seen, *, named: bool) -> str:
    """Where a record of a target was seen, in words; empty if nowhere."""
    elsewhere = seen.elsewhere(target, store.place)
    if not elsewhere:
        return ""
    of_target = f" of {target}" if named else ""
    return f"a record{of_target} with {elsewhere[0].length} was last seen {_seen_at(elsewhere[0])}"


def _read_or_seen(known: KnownHead) -> str:
    return "read here" if known.read_here else f"seen {known.source}"


def _seen_at(known: KnownHead) -> str:
    return f"at {known.location}" if known.location else f"in another store {known.source}"
