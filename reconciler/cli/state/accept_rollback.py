"""`reconciler state accept-rollback`"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal
from reconciler.cli.terminal.questions import confirm
from reconciler.errors import RecordMissing
from reconciler.model.entry import Begun
from reconciler.operations.edit import now_by
from reconciler.operations.workspace import Workspace, whole_selection
from reconciler.reports.text import Line
from reconciler.reports.visible import visible
from reconciler.state.heads.remembered import missed, seen_there, targets_seen
from reconciler.state.heads.tracking import append_entries, begin_journal, losses, whereabouts
from reconciler.state.journal.chain import parse

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.address import TargetName
    from reconciler.state.heads.seen import Seen
    from reconciler.state.journal.chain import Journal


@click.command("accept-rollback")
@click.option("-t", "--target", metavar="TARGET", required=True, help="Whose record.")
@click.option("--force", is_flag=True, help="Without asking.")
@common_options
@pass_terminal
def command(terminal: Terminal, target: str, force: bool) -> None:
    """Accept that a record lost entries, or is gone.

    A backup was restored, say, or another record was started in its place, and what was seen of the record before is
    lost. What the lost entries knew to exist may be created a second time. Find the newer record if there is any way
    to. Where no record is left, a new one is started.
    """
    workspace = Workspace(terminal)
    location, seen = whereabouts(workspace.store), workspace.heads.seen()
    known = {*workspace.store.targets(), *workspace.desired.targets, *targets_seen(seen, location)}
    for name in whole_selection((target,), known):
        journal = _read(workspace, name)
        lost = seen_there(seen, name, location) if journal is None else missed(journal, seen, location)
        if journal is None and not lost:
            raise RecordMissing(
                f"{name} has no state record here, and none was seen here before",
                where=workspace.store.location,
                remedy=f"to start one: reconciler state init -t {name}",
            )
        if not lost:
            terminal.print_lines([Line(f"  {visible(name)}: nothing to accept, it holds all that was seen of it")])
            continue
        _describe(terminal, name, journal, lost)
        confirm(force, "Accept the record as it is?" if journal else "Start a new record?")
        _accept(terminal, workspace, name, journal, lost, force)
        terminal.print_lines(
            [Line(f"  {visible(name)}: accepted{' as it is' if journal else '; a new record was started'}")]
        )


def _read(workspace: Workspace, name: TargetName) -> Journal | None:
    """The journal, checked but for what was seen of it; None where there is none."""
    data = workspace.store.read(name)
    return None if data is None else parse(data, name, f"{workspace.store.location} {name}")


def _describe(terminal: Terminal, name: TargetName, journal: Journal | None, lost: list[Seen]) -> None:
    now = "it has no record now, and a new one would say that nothing exists"
    if journal is not None:
        now = f"the record has {len(journal.lines)}, up to {journal.head}, and does not hold that one"
    for one in lost:
        terminal.say(f"  {name}: seen before were {one.length} up to {one.head}; {now}")


def _accept(
    terminal: Terminal, workspace: Workspace, name: TargetName, journal: Journal | None, lost: list[Seen], force: bool
) -> None:
    at, by = now_by(workspace)
    note = f"{name}: rollback accepted"
    if journal is not None:
        accepted = append_entries(workspace.store, journal, losses(lost, at, by, forced=force), workspace.heads, note)
        terminal.work_is_done()
        workspace.heads.accept(accepted, whereabouts(workspace.store))
        return
    base_url = _service(workspace, name, lost)
    begun = Begun(at=at, by=by, record=uuid.uuid4().hex, target=name, base_url=base_url, forced=force)
    begin_journal(workspace.store, begun, workspace.heads, note, lost)
    terminal.work_is_done()


def _service(workspace: Workspace, name: TargetName, lost: list[Seen]) -> str:
    """The service for a new record: the declared one, else that of the lost record. Raises RecordMissing."""
    target = workspace.desired.targets.get(name)
    urls = [target.base_url] if target else [one.base_url for one in lost if one.base_url]
    if not urls:
        raise RecordMissing(
            "which service its record belonged to is not known",
            where=name,
            remedy=f"declare the target {name} in config/, with its base_url, and repeat the command",
        )
    return urls[0]
