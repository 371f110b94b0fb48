"""Copies records to another store, where they continue; the records left behind are closed.

One history, which every step adds to: a copy that was interrupted can be run again, and nothing is ever appended in two
places. For each target:

1. `closed` is appended to the record. From then on nothing else can follow there, so all of it can be copied.
2. Its lines are written to the other store, read back and compared. That copy ends with the same `closed`.
3. `closed` with `complete` is appended to the record if that `closed` is still its last line. This decides it: whoever
   opens the record again, or starts another copy, appends to the same head, and one of both fails.
4. That line and `opened` are appended to the copy. From then on it is the record.

A place may have several names, and one name may be several places: a path on two machines, a branch of two clones. So
no name decides which copy is meant, but the `closed` that it ends with: a run that finds one whose copy is not in its
own store appends another.

All targets take each step before one takes the next: the records of one service count for each other, and one that is
closed in a store stops creates on its service there.
"""

from collections.abc import Iterator
from shlex import quote

from msgspec import Struct, field

from reconciler.errors import (
    HeadMoved,
    Interrupted,
    ReconcilerError,
    Refused,
    StateError,
    StoreUnavailable,
)
from reconciler.model.address import TargetName
from reconciler.model.entry import Closed, Opened, who
from reconciler.model.record import Record
from reconciler.operations.copied_lines import Lines, read_lines
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
from reconciler.state.journal.chain import Journal, link
from reconciler.state.journal.closing import refuse_closed

_RETRIES = 5  # conflicts with another run of the same copy
_OTHER = "use an empty place: another directory, branch, prefix or schema"


class Copied(Struct, frozen=True):
    """A record that continues in the store `place`, where it is `journal` now."""

    target: TargetName
    place: str
    journal: Journal


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
    copying = _Copying(here, there, written_name(here, source), written_name(there, destination), force)
    names = targets_to_copy(here, patterns)
    workspace.within.refuse_others(names)
    if there.store.place.has_any((here.store.place.location, here.store.place.resolved)):
        yield from copying.open_again(names)
        return
    copying.check(names)
    try:
        for name in names:
            copying.close(name)
        for name in names:
            copying.bring(name)
        for name in names:
            copying.complete(name)
        for name in names:
            yield Copied(name, copying.to, copying.bring(name))
    except (ReconcilerError, Interrupted):
        selected = "".join(f" -t {quote(pattern)}" for pattern in patterns)
        workspace.notices.warn(
            f"{copying.source} may be closed until the copy is complete; when the cause is resolved, run: reconciler"
            f" state copy {quote(copying.source)} {quote(copying.to)}{selected}"
        )
        raise


def written_name(workspace: Workspace, given: str) -> str:
    """The name of a store for the record: a value of --state, as it was given unless it could hold credentials.

    Not the absolute path of a directory: another clone of a repository has it elsewhere.
    """
    store = workspace.store
    return store.location if store.path is not None or "@" in given or "?" in given else given


class _Copying(Struct):
    """The copy from the store of `here`, named `source`, to that of `there`, named `to`.

    `closings` has the heads of the records after they were closed for this copy.
    """

    here: Workspace
    there: Workspace
    source: str
    to: str
    force: bool
    closings: dict[TargetName, str] = field(default_factory=dict)

    def check(self, names: list[TargetName]) -> None:
        """Raises Refused and StateError as long as nothing is appended."""
        if not self.force:
            refuse_temporary(self.there)
        refuse_behind_upstream(self.here, names)
        refuse_separation(self.here, names, lambda record: self._continues_there(record.closed))
        self.there.store.prepare()
        for name in names:
            lines, copy = self._read_both(name)
            self._refuse_to_close(lines.journal.record())
            self._missing_there(lines, copy)
        self.there.warn_of_host_only_locks()

    def close(self, name: TargetName) -> None:
        """Close the record, unless it was closed for a copy that is there."""

        def draft(journal: Journal) -> list[Closed]:
            record = journal.record()
            self._refuse_to_close(record)
            continues = self._continues_there(record.closed)
            if continues and record.closed is not None and (record.closed.complete or self._is_there(journal)):
                return []
            forced = record.closed is not None and not continues
            at, by = now_by(self.here)
            return [Closed(at=at, by=by, source=self.source, to=self.to, forced=forced)]

        closed = append_drafted(self.here, name, self._read_here, draft, f"closed, to be copied to {self.to}")
        self.closings[name] = closed.head

    def bring(self, name: TargetName) -> Journal:
        """Write what the copy lacks, with `opened` if it is to be the record; gives the copy as it was read back."""
        for _ in range(_RETRIES):
            lines, copy = self._read_both(name)
            self._refuse_other_copy(lines.journal)
            missing = self._missing_there(lines, copy)
            if copy is not None and not missing:
                is_open = len(copy.journal.lines) > len(lines.journal.lines)
                return self.there.read(name) if is_open else copy.journal
            self._append_there(name, copy, missing)
        raise self._conflicts(name)

    def complete(self, name: TargetName) -> None:
        """Decide that the copy, which was verified, is to be the record."""

        def draft(journal: Journal) -> list[Closed]:
            self._refuse_other_copy(journal)
            closed = journal.record().closed
            if closed is not None and closed.complete:
                return []
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

    def _is_there(self, journal: Journal) -> bool:
        """Whether the other store has the copy that a record was closed for."""
        copy = read_lines(self.there.store, journal.target)
        return copy is not None and copy.journal.contains(journal.head, len(journal.lines))

    def _read_here(self, name: TargetName) -> Journal:
        return self.here.read(name, closed=True)

    def _read_both(self, name: TargetName) -> tuple[Lines, Lines | None]:
        """The record and the copy, None if there is none yet, as both were at one moment. Raises StateError."""
        for _ in range(_RETRIES):
            lines, copy = read_lines(self.here.store, name), read_lines(self.there.store, name)
            journal = self._read_here(name)
            if lines is not None and lines.journal.head == journal.head:
                return lines, copy
        raise self._conflicts(name)

    @staticmethod
    def _conflicts(name: TargetName) -> StateError:
        return StateError(
            "too many conflicts: other runs keep appending to the record", where=name, remedy="retry later"
        )

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
        """Raises StateError if the record was opened again since it was closed, or closed for another copy."""
        closed = journal.record().closed
        if closed is None:
            raise StateError("the record was opened again before the copy was complete", where=journal.target)
        heads = [digest for _, digest in journal.lines[-2 if closed.complete else -1 :]]
        if self.closings[journal.target] not in heads:
            what = f"another run has started to copy the record to {closed.to}"
            raise StateError(what, where=journal.target, remedy="wait for it to end")

    def _missing_there(self, lines: Lines, copy: Lines | None) -> bytes:
        """What the copy lacks. Raises Refused for any other record there."""
        journal, name = lines.journal, lines.journal.target
        if copy is not None and lines.is_open_in(copy):
            return b""
        if copy is not None and not lines.is_begun_in(copy):
            what = "there is another record, or an older copy of this one"
            raise Refused(what, where=self.there.store.where(name), remedy=_OTHER)
        complete = lines.closed is not None and lines.closed.complete
        if lines.closed is not None and not self.force:
            refuse_missing(journal, self.here.heads.seen(name), self.here.store.place)
            if complete and (copy is None or len(copy.journal.lines) < len(journal.lines) - 1):
                raise self._copy_lost(name)
        missing = lines.data if copy is None else lines.data[len(copy.data) :]
        if complete:
            at, by = now_by(self.there)
            missing += link(journal.head, len(journal.lines), [Opened(at=at, by=by, place=self.to)])[0]
        return missing

    def _copy_lost(self, name: TargetName) -> Refused:
        again = f"reconciler state copy {quote(self.source)} {quote(self.to)} -t {name} --force"
        return Refused(
            "the copy that was complete is missing",
            where=self.there.store.where(name),
            remedy=f"restore it (a backup, another TO); if it is lost for good, its later entries are lost too; to copy"
            f" what is in {self.source}, run: {again}",
        )

    def _append_there(self, name: TargetName, copy: Lines | None, missing: bytes) -> None:
        """Append to the copy; it is read again to see what became of it. Raises StoreUnavailable if nothing did."""
        head, seq = (None, 1) if copy is None else (copy.journal.head, len(copy.journal.lines) + 1)
        try:
            self.there.store.append(name, head, seq, missing, f"{name}: copied from {self.source}")
        except HeadMoved:
            return
        except StoreUnavailable:
            now = read_lines(self.there.store, name)
            if now is None or not now.data.endswith(missing):
                raise
