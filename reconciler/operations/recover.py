"""Recovers results that an apply could not save to the record, and entries of another copy of the journal."""

import os
import shlex
from collections.abc import Callable, Container, Iterator
from pathlib import Path

from msgspec import Struct, field

from reconciler.errors import RecordForeign, RecordMissing, RecordRolledBack, StateError
from reconciler.model.account import short_account
from reconciler.model.address import Address, TargetName
from reconciler.model.entry import AnyEntry, Joined
from reconciler.model.joining import all_entries
from reconciler.model.record import Attempt, Record, fold
from reconciler.model.unrecorded import followable
from reconciler.model.url import same_service
from reconciler.operations.edit import append_drafted, now_by
from reconciler.operations.selecting import whole_selection
from reconciler.operations.workspace import Workspace
from reconciler.state.heads.kept import lost_but_kept, nothing_kept, source_of
from reconciler.state.heads.remembered import missing_heads
from reconciler.state.heads.tracking import load_journal, restore_journal
from reconciler.state.journal.chain import Journal, is_journal, parse
from reconciler.state.journal.closing import refuse_closed
from reconciler.state.journal.histories import missing_of
from reconciler.state.private.unrecorded import Unrecorded, kept_in, read_whole

_NAMED = 3  # files of a directory, in an error
_BEGINNING = 64  # bytes of a file that show whether it is a journal


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
    _refuse_directory(file)
    data = read_whole(file)
    if is_journal(data):
        whole = data[: data.rfind(b"\n") + 1]  # an append that was cut off was never acknowledged
        theirs = parse(whole, None, str(file))
        workspace.within.refuse_others([theirs.target])
        if load_journal(workspace.store, theirs.target) is None:
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


def _refuse_directory(file: Path) -> None:
    """Raises StateError for a directory, with the first few files that may be meant."""
    if file.is_dir():
        found = [str(path) for depth in ("*", "*/*", "*/*/*") for path in sorted(file.glob(f"{depth}.jsonl"))]
        journals = [path for path in found if _begins_journal(path)]
        if journals:
            raise _several(file, journals)
        names = f" in it: {', '.join(found[:_NAMED])}" if found else ""
        raise StateError("is a directory", where=file, remedy=f"name a journal or a recovery file{names}")


def _begins_journal(path: str) -> bool:
    if not Path(path).is_file():  # reading a pipe would block
        return False
    try:
        with Path(path).open("rb") as file:
            return is_journal(file.read(_BEGINNING))
    except OSError:
        return False


def _several(directory: Path, journals: list[str]) -> StateError:
    """The error for a directory of journals, such as that of another clone, with the first few commands."""
    commands = "; ".join(
        f"to recover that of {'/'.join(Path(path).with_suffix('').parts[-2:])}, run: reconciler state recover"
        f" {shlex.quote(path)}"
        for path in journals[:_NAMED]
    )
    rest = len(journals) - _NAMED
    more = f"; and so on for {rest} other{'s' if rest > 1 else ''}" if rest > 0 else ""
    what = "is a directory with copies of records"
    return StateError(what, where=directory, remedy=f"each is a file of its own; {commands}{more}")


def recover_kept(workspace: Workspace, pattern: str) -> Iterator[Recovery]:
    """Append to the selected records what this machine has seen of them and the store has lost.

    A journal that is missing is put back as it was last seen, and what was seen of other histories of it merged.
    Raises StateError, after all others, for one of which nothing was kept and something is missing.
    """
    unkept: list[StateError] = []
    store, heads = workspace.store, workspace.heads
    targets = whole_selection((pattern,), {*store.targets(), *heads.seen().targets_at(store.place)})
    workspace.within.refuse_others(targets)
    for target in targets:
        journal, seen = load_journal(store, target), heads.seen(target)
        kept, _ = lost_but_kept(store, journal, target, seen)
        if not kept and (problem := nothing_kept(store, journal, target, seen)):
            unkept.append(problem)
        if journal is None and kept:
            restore_journal(store, kept[0].journal, kept[0].data, heads, f"{target}: put back")
            workspace.notices.work_is_done()
            journal = kept[0].journal
            yield Recovery(target, len(journal.lines))
            kept, _ = lost_but_kept(store, journal, target, seen)
        if journal is not None:
            for theirs in kept:
                yield _merge(workspace, theirs.journal, source_of(store), seen_here=True)
    if unkept:
        raise unkept[0]


def command_to_share(workspace: Workspace, target: TargetName) -> str:
    """How to commit and push the journal of a target, if it is a file in a work tree of git; "" if not."""
    from reconciler.state.stores.git.upstream import in_work_tree  # noqa: PLC0415 - few stores need git

    journal = workspace.store.journal_file(target)
    if journal is None or not in_work_tree(journal):
        return ""
    folder, name = os.path.split(workspace.store.where(target))
    git = f"git -C {shlex.quote(folder or '.')}"
    return f"{git} add {shlex.quote(name)} && {git} commit -m 'Recover the record of {target}' && {git} push"


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
    restore_journal(store, theirs, data, heads, f"{target}: put back")
    workspace.notices.work_is_done()
    return Recovery(target, len(theirs.lines))


def _not_here(workspace: Workspace, target: TargetName) -> RecordMissing:
    return RecordMissing("no state record here", where=workspace.store.where(target), remedy="check --state")


def _merge(workspace: Workspace, theirs: Journal, source: str, *, seen_here: bool = False) -> Recovery:
    """Append what another copy of a journal knows; `seen_here` as in `missing_of`."""
    new: list[AnyEntry] = []
    before = theirs.record()

    def draft(journal: Journal) -> list[AnyEntry]:
        nonlocal before
        before = journal.record()
        new[:] = missing_of(journal, theirs, source, *now_by(workspace), seen_here=seen_here)
        return new

    _append(workspace, theirs.target, draft, "joined")
    count = sum(len(entry.lines) if isinstance(entry, Joined) else 1 for entry in new)
    record = _read(workspace, theirs.target).record()
    disputed = [(attempt.id, attempt.address) for attempt in record.attempts.values() if attempt.disputed]
    unresolved = _unresolved(record, theirs.record().attempts)
    diverged = any(isinstance(entry, Joined) for entry in new)
    bindings = _bindings(before, theirs.record(), record) if diverged else ""
    return Recovery(theirs.target, count, disputed=disputed, unresolved=unresolved, bindings=bindings)


def _was_here(workspace: Workspace, theirs: Journal) -> bool:
    """Whether this machine has last seen in this store what a copy holds, bound to what the copy is bound to.

    If the copy was rebound since, that may have been done to rehearse with a sandbox.
    """
    record, place = theirs.record(), workspace.store.place
    known_here = (
        fold(theirs.lines[: known.entries])
        for known in workspace.heads.seen(theirs.target).of_record(record.id)
        if place.has_any((known.location, known.resolved)) and theirs.contains(known.head, known.entries)
    )
    return any((known.rebound, known.account) == (record.rebound, record.account) for known in known_here)


def _bindings(ours: Record, theirs: Record, merged: Record) -> str:
    """What two histories were bound to, and the record is now; "" if both were bound to the same."""
    if not same_service(ours.base_url, theirs.base_url):
        what, here, there, now = "the service at ", ours.base_url, theirs.base_url, merged.base_url
    elif None not in (ours.account, theirs.account) and ours.account != theirs.account:
        what = "the account "
        here, there, now = map(short_account, (ours.account, theirs.account, merged.account))
    else:
        return ""
    return (
        f"the record was bound to {what}{here}, what was recovered to {what}{there}; now it is bound to {now}: check"
        " with the operator that what was created since they diverged exists there"
    )


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
