"""Recovers results that an apply could not save to the record, and entries of another copy of the journal."""

import os
import shlex
from collections.abc import Callable, Container, Iterator
from pathlib import Path

from msgspec import Struct, field

from reconciler.errors import RecordClosed, RecordForeign, RecordMissing, RecordRolledBack, StateError, StoreUnavailable
from reconciler.model.address import Address, TargetName
from reconciler.model.entry import AnyEntry, Joined, Opened
from reconciler.model.joining import all_entries
from reconciler.model.record import Attempt, Record, fold
from reconciler.model.unrecorded import followable
from reconciler.operations.copying import written_name
from reconciler.operations.directory_of_copies import refuse_directory
from reconciler.operations.edit import append_drafted, now_by
from reconciler.operations.rebound_copies import rebound_since
from reconciler.operations.selecting import whole_selection
from reconciler.operations.sound_config import sound_targets
from reconciler.operations.workspace import Workspace
from reconciler.state.heads.kept import lost_but_kept, nothing_kept, source_of
from reconciler.state.heads.known_head import KnownHead
from reconciler.state.heads.remembered import missing_heads
from reconciler.state.heads.tracking import load_journal, restore_journal
from reconciler.state.journal.chain import Journal, is_journal, parse
from reconciler.state.journal.closing import refuse_closed
from reconciler.state.journal.histories import made_elsewhere, missing_of, services_of, services_since
from reconciler.state.private.unrecorded import Unrecorded, kept_in, read_whole


class Recovery(Struct, frozen=True):
    """What was recovered of one target: numbers of entries, and what needs attention."""

    target: TargetName
    recovered: int
    before: int = 0
    """Entries of the file that the record had already."""
    is_spent: bool = False
    """Whether it was a recovery file, and the record has all of it that concerns this target."""
    left: list[StateError] = field(default_factory=list)
    """Why each of the other entries could not be recovered."""
    disputed: list[tuple[str, Address]] = field(default_factory=list)
    """The ids and addresses of attempts about which two copies of a journal disagree."""
    unresolved: list[Attempt] = field(default_factory=list)
    """The other attempts of the file whose outcome the record does not know either."""
    bindings: str = ""
    """What the record and the copy were bound to, if to different services or accounts, in words."""


def recover(workspace: Workspace, file: Path) -> Iterator[Recovery]:
    """Append to the record what a recovery file, or another copy of a journal, knows and the record does not.

    Where the record is missing, the copy is put in its place if it has all that was last seen there. Raises StateError
    for a file that is neither, and RecordForeign for one of another record.
    """
    refuse_directory(file)
    data = read_whole(file)
    if is_journal(data):
        whole = data[: data.rfind(b"\n") + 1]  # an append that was cut off was never acknowledged
        theirs = parse(whole, None, str(file))
        workspace.within.refuse_others([theirs.target])
        ours = load_journal(workspace.store, theirs.target)
        _refuse_continued(workspace, theirs, str(file), ours)
        if ours is None:
            yield _put_back(workspace, theirs, whole, file)
        else:
            yield _merge(workspace, theirs, str(file), seen_here=_was_here(workspace, theirs))
        return
    saved = kept_in(data, file)
    targets = sorted({entry.target for entry in saved})
    workspace.within.refuse_others(targets)
    for target in targets:
        _refuse_foreign(_read(workspace, target), saved)
    for target in targets:
        yield _recover(workspace, file, target, [entry.entry for entry in saved if entry.target == target])


def recover_kept(workspace: Workspace, pattern: str) -> Iterator[Recovery]:
    """Append to the selected records what this machine has seen of them and the store has lost.

    A journal that is missing is put back as it was last seen, and what was seen of other histories of it merged.
    Raises StateError, also where something is missing of which nothing was kept; one that is damaged, closed or not
    kept does not stop the others.
    """
    store, heads = workspace.store, workspace.heads
    targets = whole_selection((pattern,), {*store.targets(), *heads.seen().targets_at(store.place)})
    workspace.within.refuse_others(targets)
    for target in targets:
        try:
            yield from _recover_kept(workspace, target)
        except StateError as problem:
            if isinstance(problem, StoreUnavailable) or len(targets) == 1:
                raise
            yield Recovery(target, 0, left=[problem])


def _recover_kept(workspace: Workspace, target: TargetName) -> Iterator[Recovery]:
    store, heads = workspace.store, workspace.heads
    journal, seen = load_journal(store, target), heads.seen(target)
    kept, _ = lost_but_kept(store, journal, target, seen)
    if not kept and (problem := nothing_kept(store, journal, target, seen)):
        raise problem
    if journal is None and kept:
        restore_journal(store, kept[0].journal, kept[0].data, heads, f"{target}: put back")
        workspace.notices.work_is_done()
        journal = kept[0].journal
        yield Recovery(target, len(journal.lines))
        kept, _ = lost_but_kept(store, journal, target, seen)
    if journal is not None:
        for theirs in kept:
            yield _merge(workspace, theirs.journal, source_of(store), seen_here=True)


def command_to_share(workspace: Workspace, target: TargetName) -> str:
    """How to commit and push the journal of a target, if it is a file in a work tree of git; "" if not."""
    from reconciler.state.stores.git.upstream import in_work_tree  # noqa: PLC0415 - few stores need git

    journal = workspace.store.journal_file(target)
    if journal is None or not in_work_tree(journal):
        return ""
    folder, name = os.path.split(workspace.store.where(target))
    git = f"git -C {shlex.quote(folder or '.')}"
    return f"{git} add {shlex.quote(name)} && {git} commit -m 'Recover the record of {target}' && {git} push"


def _refuse_continued(workspace: Workspace, theirs: Journal, source: str, ours: Journal | None) -> None:
    """Raises RecordClosed for a copy of a record that has moved to another store since what is, or was seen, here.

    Otherwise it could be used in both, and a create that is in one would be sent again in the other.
    """
    seen = max((known.entries for known in _known_here(workspace, theirs)), default=0)
    known = theirs.lines[:seen] if ours is None else ours.lines
    opened = [entry for entry in all_entries(theirs.lines) if isinstance(entry, Opened)]
    if not opened or opened[-1] in all_entries(known):
        return
    store, place = workspace.store, opened[-1].place
    here = written_name(workspace, workspace.setting("state", "RECONCILER_STATE", "state"))
    if place != here and not store.place.has_any((place,)):
        back = f"; to use {here} again, run: reconciler state copy {shlex.quote(place)} {shlex.quote(here)}"
        raise RecordClosed(
            f"{source} is of a record that continues in {place}",
            where=theirs.target,
            remedy=f"use it there, with --state {shlex.quote(place)}{back if ours is None else ''}",
        )


def _put_back(workspace: Workspace, theirs: Journal, data: bytes, file: Path) -> Recovery:
    """Put a copy in the place of a record that is missing; `data` is all of it.

    Raises RecordMissing where no record was seen, since the copy may be an older one or the place wrong, and
    RecordRolledBack if it lacks what was seen.
    """
    store, target, heads = workspace.store, theirs.target, workspace.heads
    refuse_closed(theirs.record(), str(file))
    seen = heads.seen(target)
    if not seen.at(target, store.place):
        raise _not_here(workspace, target)
    lost = missing_heads(theirs, seen, store.place)
    if lost:
        raise RecordRolledBack(
            f"the copy does not contain what was last seen of the record of {target}: {lost[0].length}",
            where=file,
            remedy="find a newer copy",
        )
    _refuse_rehearsal(workspace, theirs, str(file))
    restore_journal(store, theirs, data, heads, f"{target}: put back")
    workspace.notices.work_is_done()
    return Recovery(target, len(theirs.lines))


def _refuse_rehearsal(workspace: Workspace, theirs: Journal, source: str) -> None:
    """Raises RecordForeign for a copy with entries made at other services than those seen here and in the settings."""
    seen = max((known.entries for known in _known_here(workspace, theirs)), default=1)
    target = sound_targets(workspace).get(theirs.target)
    moved = [] if target is None else [target.base_url]
    elsewhere = services_since(theirs, seen, [*services_of(theirs.lines[:seen]), *moved])
    if elsewhere:
        unless = "only if the service has moved there, first let base_url be that address"
        raise made_elsewhere(theirs, source, elsewhere, unless)


def _not_here(workspace: Workspace, target: TargetName) -> RecordMissing:
    return RecordMissing("no state record here", where=workspace.store.where(target), remedy="check --state")


def _merge(workspace: Workspace, theirs: Journal, source: str, *, seen_here: bool = False) -> Recovery:
    """Append what another copy of a journal knows; `seen_here` as in `missing_of`."""
    new: list[AnyEntry] = []
    before = theirs

    def draft(journal: Journal) -> list[AnyEntry]:
        nonlocal before
        before = journal
        new[:] = missing_of(journal, theirs, source, *now_by(workspace), seen_here=seen_here)
        return new

    _append(workspace, theirs.target, draft, "joined")
    count = sum(len(entry.lines) if isinstance(entry, Joined) else 1 for entry in new)
    record = _read(workspace, theirs.target).record()
    disputed = [(attempt.id, attempt.address) for attempt in record.attempts.values() if attempt.disputed]
    unresolved = _unresolved(record, theirs.record().attempts)
    joined = next((entry for entry in new if isinstance(entry, Joined)), None)
    bindings = rebound_since(before, theirs.record(), record, joined.after) if joined else ""
    return Recovery(theirs.target, count, disputed=disputed, unresolved=unresolved, bindings=bindings)


def _was_here(workspace: Workspace, theirs: Journal) -> bool:
    """Whether this machine has last seen in this store what a copy holds, bound to what the copy is bound to.

    If the copy was rebound since, that may have been done to rehearse with a sandbox.
    """
    record = theirs.record()
    known_here = (fold(theirs.lines[: known.entries]) for known in _known_here(workspace, theirs))
    return any((known.rebound, known.account) == (record.rebound, record.account) for known in known_here)


def _known_here(workspace: Workspace, theirs: Journal) -> Iterator[KnownHead]:
    """The last known heads of this store that a copy contains."""
    place = workspace.store.place
    for known in workspace.heads.seen(theirs.target).of_record(theirs.record().id):
        if place.has_any((known.location, known.resolved)) and theirs.contains(known.head, known.entries):
            yield known


def _recover(workspace: Workspace, file: Path, target: TargetName, entries: list[AnyEntry]) -> Recovery:
    """Append what is missing and can follow."""
    can: list[AnyEntry] = []
    cannot: list[AnyEntry] = []

    def draft(journal: Journal) -> list[AnyEntry]:
        recorded = list(all_entries(journal.lines))
        can[:], cannot[:] = followable(journal.record(), (entry for entry in entries if entry not in recorded))
        return can

    _append(workspace, target, draft, "recovered")
    before = len(entries) - len(can) - len(cannot)
    left = [_left(file, target, entry) for entry in cannot]
    named = {getattr(entry, "attempt", "") for entry in entries}
    unresolved = _unresolved(_read(workspace, target).record(), named)
    return Recovery(target, len(can), before, not cannot, left, unresolved=unresolved)


def _unresolved(record: Record, ids: Container[str]) -> list[Attempt]:
    return [attempt for attempt in record.unresolved if attempt.id in ids and not attempt.disputed]


def _read(workspace: Workspace, target: TargetName) -> Journal:
    """The journal, not checked against its last known head: a record that was rolled back is recovered into as well."""
    store = workspace.store
    journal = load_journal(store, target)
    if journal is None:
        raise _not_here(workspace, target)
    refuse_closed(journal.record(), store.where(target))
    return journal


def _append(workspace: Workspace, target: TargetName, draft: Callable[[Journal], list[AnyEntry]], note: str) -> None:
    append_drafted(workspace, target, lambda target: _read(workspace, target), draft, note)


def _refuse_foreign(journal: Journal, saved: list[Unrecorded]) -> None:
    """Raises RecordForeign if an entry belongs to another record than the one that is here."""
    for entry in saved:
        if entry.target == journal.target and entry.record not in journal.record().ids:
            raise RecordForeign(
                f"{entry.file} belongs to another record of this target",
                where=journal.target,
                remedy="use --state with the store that it belongs to",
            )


def _left(file: Path, target: TargetName, entry: AnyEntry) -> StateError:
    about = f" of attempt {entry.attempt}" if hasattr(entry, "attempt") else ""
    return StateError(
        f"cannot recover the entry {entry.kind!r}{about}: the record does not contain the entries before it; it is"
        f" still in {file}",
        where=target,
        remedy="find the newer journal (version control, a backup, a CI artifact) and run: reconciler state recover"
        f" NEWER.jsonl; then run: reconciler state recover {shlex.quote(str(file))}",
    )
