"""`reconciler state accept-rollback`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options
from reconciler.cli.output import print_lines, say, work_is_done
from reconciler.cli.recording import confirm, now_by
from reconciler.cli.workspace import Workspace, whole_selection
from reconciler.errors import RecordMissing
from reconciler.model.entry import RollbackAccepted
from reconciler.reports.text import Line
from reconciler.reports.visible import visible
from reconciler.state.journal import parse
from reconciler.state.reading import append_entries, whereabouts

if TYPE_CHECKING:
    from reconciler.model.address import TargetName
    from reconciler.state.heads import Seen
    from reconciler.state.journal import Journal


@click.command("accept-rollback")
@click.option("-t", "--target", metavar="TARGET", required=True, help="Whose record.")
@click.option("--force", is_flag=True, help="Without asking.")
@common_options
def command(target: str, force: bool) -> None:
    """Accept that a record lost its last entries.

    A backup was restored, say, and what was seen of the record before is lost. What the lost entries knew to exist may
    be created a second time. Find the newer record if there is any way to.
    """
    workspace = Workspace()
    names = whole_selection((target,), {*workspace.store.targets(), *workspace.desired.targets})
    for name in names:
        journal = _read(workspace, name)
        seen = workspace.heads.seen().get(journal.record().id)
        if seen is None or _holds(journal, seen):
            print_lines([Line(f"  {visible(name)}: nothing to accept, it holds all that was seen of it")])
            continue
        say(
            f"  {name}: seen before were {seen.entries} entries up to {seen.head}; the record has {len(journal.lines)},"
            f" up to {journal.head}, and does not hold that one"
        )
        confirm(force, "Accept the record as it is?")
        _accept(workspace, journal, seen)
        print_lines([Line(f"  {visible(name)}: accepted as it is")])


def _read(workspace: Workspace, name: TargetName) -> Journal:
    """The journal, checked but for what was seen of it."""
    data = workspace.store.read(name)
    if data is None:
        raise RecordMissing("it has no state record here", where=f"{name} in {workspace.store.location}")
    return parse(data, name, f"{workspace.store.location} {name}")


def _holds(journal: Journal, seen: Seen) -> bool:
    return journal.contains(seen.head, seen.entries) or seen.head in journal.record().accepted_losses


def _accept(workspace: Workspace, journal: Journal, seen: Seen) -> None:
    at, by = now_by(workspace)
    entry = RollbackAccepted(at=at, by=by, lost_head=seen.head, lost_entries=seen.entries)
    note = f"{journal.target}: rollback accepted"
    accepted = append_entries(workspace.store, journal, [entry], workspace.heads, note)
    work_is_done()
    workspace.heads.accept(accepted, whereabouts(workspace.store))
