"""`reconciler state recover`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal
from reconciler.errors import HeadMoved, RecordForeign, RecordMissing, StateError
from reconciler.model.entry import Joined
from reconciler.model.joining import told
from reconciler.model.unrecorded import followable
from reconciler.operations.edit import now_by
from reconciler.operations.workspace import Workspace
from reconciler.planning.reasons import how_to_settle
from reconciler.reports.text import Line
from reconciler.reports.visible import visible
from reconciler.state.heads.tracking import append_entries
from reconciler.state.journal.chain import is_journal, parse
from reconciler.state.journal.histories import missing_of
from reconciler.state.private.unrecorded import kept_in, read_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.address import TargetName
    from reconciler.model.entry import AnyEntry
    from reconciler.state.journal.chain import Journal
    from reconciler.state.private.unrecorded import Unrecorded

_TRIES = 20


@click.command("recover")
@click.argument("file", type=click.Path(path_type=Path))
@common_options
@pass_terminal
def command(terminal: Terminal, file: Path) -> int:
    """Add kept outcomes, or another history of the record.

    FILE is the file that an apply named because it could not write results to the record. Or it is another journal of
    the same record: the other side of a merge conflict, the journal of another clone, a newer backup. What the record
    holds already is left out, so that it may be repeated; FILE stays. An older record, which other commands refuse, is
    recovered into as well.
    """
    workspace = Workspace(terminal)
    data = read_whole(file)
    if is_journal(data):
        _join(terminal, workspace, parse(data, None, str(file)), file)
        return 0
    kept = kept_in(data, file)
    targets = sorted({one.target for one in kept})
    for target in targets:
        _refuse_foreign(_read(workspace, target), kept)
    if not kept:
        terminal.print_lines([Line("Nothing to record.")])
    return max((_recover(terminal, workspace, file, target, _of(target, kept)) for target in targets), default=0)


def _join(terminal: Terminal, workspace: Workspace, theirs: Journal, file: Path) -> None:
    """Record what another journal of a record here knows."""
    new: list[AnyEntry] = []

    def draft(journal: Journal) -> list[AnyEntry]:
        new[:] = missing_of(journal, theirs, str(file), *now_by(workspace))
        return new

    _append(workspace, theirs.target, draft, "joined")
    count = sum(len(entry.lines) if isinstance(entry, Joined) else 1 for entry in new)
    terminal.print_lines([Line(f"  {visible(theirs.target)}: {count} {'entry' if count == 1 else 'entries'} recorded")])
    for one in _read(workspace, theirs.target).record().attempts.values():
        if one.disputed:
            terminal.say(
                f"The histories contradict each other about attempt {one.id}, so it counts as unknown;"
                f" {how_to_settle(one.address)}"
            )


def _read(workspace: Workspace, target: TargetName) -> Journal:
    """The journal, checked but for what was seen of it: an older record must be recovered into as well."""
    store = workspace.store
    place = f"{store.location}/{target}.jsonl" if store.local else f"{store.location} {target}"
    data = store.read(target)
    if data is None:
        raise RecordMissing("it has no state record here", where=place, remedy="is this the right --state?")
    return parse(data, target, place)


def _append(
    workspace: Workspace, target: TargetName, draft: Callable[[Journal], Sequence[AnyEntry]], note: str
) -> None:
    """Append what `draft` makes of the journal as it is, and again where another run appends first."""
    for _ in range(_TRIES):
        journal = _read(workspace, target)
        entries = draft(journal)
        if not entries:
            return
        try:
            append_entries(workspace.store, journal, entries, workspace.heads, f"{target}: {note}")
        except HeadMoved:
            continue
        return
    raise StateError("other runs keep appending to the record", where=target, remedy="try again")


def _refuse_foreign(journal: Journal, kept: list[Unrecorded]) -> None:
    """Raises RecordForeign where an entry belongs to another record than the one that is here."""
    for one in kept:
        if one.target == journal.target and one.record not in journal.record().ids:
            raise RecordForeign(
                f"{one.file} holds entries of another record of it",
                where=journal.target,
                remedy="name the store they belong to with --state",
            )


def _of(target: TargetName, kept: list[Unrecorded]) -> list[AnyEntry]:
    return [one.entry for one in kept if one.target == target]


def _recover(terminal: Terminal, workspace: Workspace, file: Path, target: TargetName, entries: list[AnyEntry]) -> int:
    """Record what is missing and can follow; the exit code is 1 where something could not."""
    can: list[AnyEntry] = []
    cannot: list[AnyEntry] = []

    def draft(journal: Journal) -> list[AnyEntry]:
        there = list(told(journal.lines))
        can[:], cannot[:] = followable(journal.record(), (entry for entry in entries if entry not in there))
        return can

    _append(workspace, target, draft, "recovered")
    count = f"{len(can)} {'entry' if len(can) == 1 else 'entries'} recorded"
    before = len(entries) - len(can) - len(cannot)
    terminal.print_lines([Line(f"  {visible(target)}: {count}{f', {before} were recorded already' if before else ''}")])
    for entry in cannot:
        terminal.print_problem(_left(file, target, entry))
    return int(bool(cannot))


def _left(file: Path, target: TargetName, entry: AnyEntry) -> StateError:
    about = f" of attempt {entry.attempt}" if hasattr(entry, "attempt") else ""
    return StateError(
        f"the entry {entry.kind!r}{about} cannot be recorded: the record here does not hold what it follows; it stays"
        f" in {file}",
        where=target,
        remedy="find the newer record (version control, a backup, an artifact) and add it: reconciler state recover"
        f" NEWER.jsonl; then repeat: reconciler state recover {file}",
    )
