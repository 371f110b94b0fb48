"""`reconciler state recover`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options
from reconciler.cli.output import print_lines
from reconciler.cli.recording import record_entries
from reconciler.cli.workspace import Workspace
from reconciler.errors import RecordForeign
from reconciler.reports.text import Line
from reconciler.reports.visible import visible
from reconciler.state.unrecorded import read_kept

if TYPE_CHECKING:
    from reconciler.model.address import TargetName
    from reconciler.model.entry import AnyEntry
    from reconciler.model.record import Record
    from reconciler.state.unrecorded import Unrecorded


@click.command("recover")
@click.argument("file", type=click.Path(path_type=Path))
@common_options
def command(file: Path) -> None:
    """Record what could not be recorded.

    FILE is what an apply named, that knew outcomes and could not write them to the record. They are appended as they
    are, over whatever happened meanwhile; what the record holds already is left out. The file stays.
    """
    workspace = Workspace()
    kept = read_kept(file)
    for target in sorted({one.target for one in kept}):
        _refuse_foreign(workspace, target, kept)
    for target in sorted({one.target for one in kept}):
        _recover(workspace, target, [one.entry for one in kept if one.target == target])
    if not kept:
        print_lines([Line("Nothing to record.")])


def _refuse_foreign(workspace: Workspace, target: TargetName, kept: list[Unrecorded]) -> None:
    """Raises RecordForeign where an entry belongs to another record than the one that is here."""
    record = workspace.read(target).record()
    for one in kept:
        if one.target == target and one.record != record.id:
            raise RecordForeign(
                f"{one.file} holds entries of another record of it",
                where=target,
                remedy="name the store they belong to with --state",
            )


def _recover(workspace: Workspace, target: TargetName, entries: list[AnyEntry]) -> None:
    missing: list[AnyEntry] = []

    def draft(_record: Record) -> list[AnyEntry]:
        there = [entry for entry, _ in workspace.read(target).lines]
        missing[:] = [entry for entry in entries if entry not in there]
        return missing

    record_entries(workspace, target, draft, "recovered")
    count = f"{len(missing)} {'entry' if len(missing) == 1 else 'entries'} recorded"
    before = len(entries) - len(missing)
    print_lines([Line(f"  {visible(target)}: {count}{f', {before} were recorded already' if before else ''}")])
