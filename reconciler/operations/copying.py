"""Copies records to another store, where they continue; the records left behind are closed.

One history, which every step adds to: a copy that was interrupted can be run again, and nothing is ever appended in two
places. For each target:

1. `closed` is appended to the record. From then on nothing else can follow there, so all of it can be copied.
2. Its lines are written to the other store, read back and compared. That copy ends with `closed` too.
3. `closed` with `complete` is appended to the record if its head is still the one that was copied. This decides it:
   whoever opens the record again, or starts a copy to a third store, appends to the same head, and one of both fails.
4. That line and `opened` are appended to the copy. From then on it is the record.

All targets take each step before one takes the next: the records of one service count for each other, and one that is
closed in a store stops creates on its service there.
"""

from collections.abc import Iterator
from shlex import quote

from msgspec import Struct

from reconciler.errors import (
    HeadMoved,
    Interrupted,
    ReconcilerError,
    RecordMissing,
    Refused,
    StateError,
    StoreUnavailable,
)
from reconciler.model.address import TargetName
from reconciler.model.entry import Closed, Opened, who
from reconciler.model.record import Record
from reconciler.operations.copying_checks import (
    refuse_behind_upstream,
    refuse_in_flight,
    refuse_separation,
    refuse_temporary,
    targets_to_copy,
)
from reconciler.operations.edit import append_drafted, now_by
from reconciler.operations.workspace import Workspace
from reconciler.state.heads.remembered import refuse_missing
from reconciler.state.journal.chain import Journal, link, parse
from reconciler.state.journal.closing import refuse_closed

_RETRIES = 5  # conflicts with another run of the same copy
_OTHER = "use an empty place: another directory, branch or prefix"


class Copied(Struct, frozen=True):
    """A record that continues in the store `place`, where it is `journal` now."""

    target: TargetName
    place: str
    journal: Journal


class _Lines(Struct, frozen=True):
    """A journal as it is in a store, and the bytes of its complete lines."""

    journal: Journal
    data: bytes


def copy_records(
    workspace: Workspace, source: str, destination: str, patterns: tuple[str, ...], *, force: bool
) -> Iterator[Copied]:
    """Copy the selected records from the store `source` to the store `destination`, and close them in `source`.

    If both are one store, open there again what was closed. `force` overrides a copy to another store that was started,
    or even completed, and takes a CI runner's disk.

    Raises Refused before anything is appended, StateError, SelectionError and SettingsError. After an error or an
    interrupt in the middle, the same call continues.
    """
    here, there = workspace.at(source, "FROM"), workspace.at(destination, "TO")
    copying = _Copying(here, there, _name(here, source), _name(there, destination), force)
    names = targets_to_copy(here, patterns)
    if there.store.place.has_any((here.store.place.location, here.store.place.resolved)):
        yield from copying.open_again(names)
        return
    copying.check(names)
    try:
        for name in names:
            copying.close(name)
        heads = {name: copying.bring(name).head for name in names}
        for name in names:
            copying.complete(name, heads[name])
        for name in names:
            yield Copied(name, copying.to, copying.bring(name))
    except (ReconcilerError, Interrupted):
        selected = "".join(f" -t {quote(pattern)}" for pattern in patterns)
        workspace.notices.warn(
            f"{copying.source} may be closed until the copy is complete; when the cause is resolved, run: reconciler"
            f" state copy {quote(copying.source)} {quote(copying.to)}{selected}"
        )
        raise


def _name(workspace: Workspace, given: str) -> str:
    """The name of a store for the record: a value of --state, as it was given unless it could hold credentials.

    Not the absolute path of a directory: another clone of a repository has it elsewhere.
    """
    store = workspace.store
    return store.location if store.path is not None or "@" in given or "?" in given else given


class _Copying(Struct, frozen=True):
    """The copy from the store of `here`, named `source`, to that of `there`, named `to`."""

    here: Workspace
    there: Workspace
    source: str
    to: str
    force: bool

    def check(self, names: list[TargetName]) -> None:
        """Raises Refused and StateError as long as nothing is appended."""
        if not self.force:
            refuse_temporary(self.there)
        refuse_behind_upstream(self.here, names)
        refuse_separation(self.here, names, lambda record: self._continues_there(record.closed))
        for name in names:
            lines = self._lines_here(name)
            self._refuse_to_close(lines.journal.record())
            self._missing_there(name, lines)
        self.there.warn_of_host_only_locks()

    def close(self, name: TargetName) -> None:
        """Close the record, unless that is done."""

        def draft(journal: Journal) -> list[Closed]:
            record = journal.record()
            self._refuse_to_close(record)
            if self._continues_there(record.closed):
                return []
            at, by = now_by(self.here)
            return [Closed(at=at, by=by, source=self.source, to=self.to, forced=record.closed is not None)]

        append_drafted(self.here, name, self._read_here, draft, f"closed, to be copied to {self.to}")

    def bring(self, name: TargetName) -> Journal:
        """Write what the copy lacks, with `opened` if it is to be the record; gives the copy as it was read back."""
        for _ in range(_RETRIES):
            lines = self._lines_here(name)
            self._refuse_other_copy(lines.journal)
            copy, missing = self._missing_there(name, lines)
            if copy is not None and not missing:
                is_open = len(copy.lines) > len(lines.journal.lines)
                return self.there.read(name) if is_open else copy
            self._append_there(name, copy, missing)
        raise StateError(
            "too many conflicts with another copy", where=self.there.store.where(name), remedy="retry later"
        )

    def complete(self, name: TargetName, head: str) -> None:
        """Decide that the copy with this head, which was verified, is to be the record."""

        def draft(journal: Journal) -> list[Closed]:
            self._refuse_other_copy(journal)
            closed = journal.record().closed
            if closed is not None and closed.complete:
                return []
            if journal.head != head:
                raise StateError("another copy of this record was started", where=name, remedy="retry later")
            at, by = now_by(self.here)
            return [Closed(at=at, by=by, source=self.source, to=self.to, complete=True)]

        append_drafted(self.here, name, self._read_here, draft, f"copied to {self.to}")

    def open_again(self, names: list[TargetName]) -> Iterator[Copied]:
        """Open records again where they were closed. Raises Refused if none is, and unless forced RecordClosed."""
        closed = [name for name in names if self._read_here(name).record().closed]
        if not closed:
            raise Refused("FROM and TO are the same store", where=self.source)
        for name in closed:
            journal = append_drafted(self.here, name, self._read_here, self._draft_opened, "opened again")
            yield Copied(name, self.source, journal)

    def _draft_opened(self, journal: Journal) -> list[Opened]:
        record = journal.record()
        if record.closed is None:
            return []
        if not self.force:
            refuse_closed(record, self.here.store.where(record.target))
        at, by = now_by(self.here)
        return [Opened(at=at, by=by, place=self.source, forced=True)]

    def _read_here(self, name: TargetName) -> Journal:
        return self.here.read(name, closed=True)

    def _lines_here(self, name: TargetName) -> _Lines:
        self._read_here(name)
        lines = _lines(self.here, name)
        if lines is None:
            raise RecordMissing("the record is missing", where=self.here.store.where(name))
        return lines

    def _continues_there(self, closed: Closed | None) -> bool:
        return closed is not None and (closed.to == self.to or self.there.store.place.has_any((closed.to,)))

    def _refuse_to_close(self, record: Record) -> None:
        """Raises Refused for a record whose calls may be in flight, and unless forced for one copied elsewhere."""
        closed = record.closed
        if closed is None:
            refuse_in_flight(record)
        elif not (self.force or self._continues_there(closed)):
            raise self._copied_elsewhere(record.target, closed)

    def _copied_elsewhere(self, name: TargetName, closed: Closed) -> Refused:
        other, source, to = quote(closed.to), quote(self.source), quote(self.to)
        force = f"run: reconciler state copy {source} {to} -t {name} --force"
        if closed.complete:
            what = f"the record was copied to {closed.to}, and continues there"
            remedy = f"to copy it from there, run: reconciler state copy {other} {to} -t {name}"
            lost = f"if it is lost there for good, its later entries are lost too; to copy what is here, {force}"
            return Refused(what, where=name, remedy=f"{remedy}; {lost}")
        what = f"a copy to {closed.to} was started at {closed.at} by {who(closed.by)}"
        finish = f"to finish it, run: reconciler state copy {source} {other} -t {name}"
        remedy = f"{finish}; to copy to {self.to} instead, {force}"
        return Refused(what, where=name, remedy=remedy)

    def _refuse_other_copy(self, journal: Journal) -> None:
        """Raises StateError if the record was opened again since it was closed, or is copied elsewhere."""
        closed = journal.record().closed
        if closed is None:
            raise StateError("the record was opened again before the copy was complete", where=journal.target)
        if not self._continues_there(closed):
            raise StateError(f"another run is copying the record to {closed.to}", where=journal.target)

    def _missing_there(self, name: TargetName, lines: _Lines) -> tuple[Journal | None, bytes]:
        """The copy, None if there is none yet, and the bytes it lacks. Raises Refused for any other record there.

        A copy that was cut short is added to only if it is closed all the time: one that lacks lines must not be used.
        """
        journal, copy = lines.journal, _lines(self.there, name)
        if copy is not None and _is_open(copy, lines):
            return copy.journal, b""
        closed = journal.record().closed
        if copy is not None and not _is_unfinished(copy, lines):
            what = "there is another record, or an older copy of this one"
            raise Refused(what, where=self.there.store.where(name), remedy=_OTHER)
        if closed is not None and not self.force:
            refuse_missing(journal, self.here.heads.seen(name), self.here.store.place)
            if copy is None and closed.complete:
                raise self._copy_lost(name)
        missing = lines.data if copy is None else lines.data[len(copy.data) :]
        if closed is not None and closed.complete:
            at, by = now_by(self.there)
            missing += link(journal.head, len(journal.lines), [Opened(at=at, by=by, place=self.to)])[0]
        return None if copy is None else copy.journal, missing

    def _copy_lost(self, name: TargetName) -> Refused:
        again = f"reconciler state copy {quote(self.source)} {quote(self.to)} -t {name} --force"
        return Refused(
            "the copy that was complete is missing",
            where=self.there.store.where(name),
            remedy=f"restore it (a backup, another TO); if it is lost for good, its later entries are lost too; to copy"
            f" what is in {self.source}, run: {again}",
        )

    def _append_there(self, name: TargetName, copy: Journal | None, missing: bytes) -> None:
        """Append to the copy; it is read again to see what became of it. Raises StoreUnavailable if nothing did."""
        head, seq = (None, 1) if copy is None else (copy.head, len(copy.lines) + 1)
        try:
            self.there.store.append(name, head, seq, missing, f"{name}: copied from {self.source}")
        except HeadMoved:
            return
        except StoreUnavailable:
            now = _lines(self.there, name)
            if now is None or not now.data.endswith(missing):
                raise


def _lines(workspace: Workspace, name: TargetName) -> _Lines | None:
    """The journal in a store, whatever head was last known; None if there is none. Raises StateError."""
    store = workspace.store
    data = store.read(name)
    if data is None:
        return None
    journal = parse(data, name, store.where(name))
    return _Lines(journal, data[: len(data) - journal.torn])


def _is_open(copy: _Lines, lines: _Lines) -> bool:
    """Whether `copy` continues `lines`, and was opened; another run of this copy may have completed it meanwhile."""
    following = (entry for entry, _ in copy.journal.lines[len(lines.journal.lines) :])
    opening = next((entry for entry in following if not isinstance(entry, Closed)), None)
    return copy.data.startswith(lines.data) and isinstance(opening, Opened)


def _is_unfinished(copy: _Lines, lines: _Lines) -> bool:
    """Whether `copy` is a closed copy of the first of `lines`, and those that it lacks do not open it."""
    rest = lines.journal.lines[len(copy.journal.lines) :]
    closed = copy.journal.record().closed is not None
    return closed and lines.data.startswith(copy.data) and all(isinstance(entry, Closed) for entry, _ in rest)
