"""`reconciler state init`"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import click

from reconciler.cli.options import common_options, pass_terminal, target_option
from reconciler.errors import HeadMoved, Refused
from reconciler.model.entry import Begun
from reconciler.operations.edit import now_by
from reconciler.operations.shared_files import warn_of_host_only_locks
from reconciler.operations.workspace import Workspace, whole_selection
from reconciler.reports.text import Line
from reconciler.reports.visible import visible
from reconciler.state.heads.remembered import seen_elsewhere, seen_there
from reconciler.state.heads.tracking import begin_journal, whereabouts

if TYPE_CHECKING:
    from reconciler.cli.terminal.terminal import Terminal
    from reconciler.model.address import TargetName
    from reconciler.state.heads.seen import Seen


@click.command("init")
@target_option
@click.option(
    "--force",
    is_flag=True,
    help="Also on a CI runner's disk, or where a record was seen before.",
)
@common_options
@pass_terminal
def command(terminal: Terminal, targets: tuple[str, ...], force: bool) -> None:
    """Start a journal where there is none.

    One for each target, or for those selected. A new journal says that nothing exists. What was created by hand before
    is recorded with `state import`.
    """
    workspace = Workspace(terminal)
    names = whole_selection(targets, workspace.desired.targets)
    if workspace.in_ci and workspace.store.local and not force:
        raise Refused(
            "a record on a CI runner's disk dies with the job, and the next job would create everything again",
            where=workspace.store.location,
            remedy="choose a store that lasts, with --state; or, if this disk does last, --force",
        )
    if not force:
        for name in names:
            _refuse_second(workspace, name)
    warn_of_host_only_locks(terminal, workspace.store)
    begun = [name for name in names if _begin(terminal, workspace, name, force)]
    if begun:
        terminal.say(
            "If subscriptions were created by hand before, record them now, before the first apply creates them again:"
            " reconciler state import --all"
        )


def _refuse_second(workspace: Workspace, name: TargetName) -> None:
    """Raises Refused where a record of the target, for this service, was seen here and is gone, or in another place."""
    base_url = workspace.desired.targets[name].base_url
    lost = _lost(workspace, name)
    elsewhere = seen_elsewhere(workspace.heads.seen(), name, whereabouts(workspace.store))
    others = [] if _is_sandbox(base_url) else [one for one in elsewhere if one.concerns(base_url)]
    if not (lost or others) or workspace.store.read(name) is not None:
        return
    known = (lost or others)[0]
    what, remedy, anew = (
        (
            f"a record of {known.length} was here before, and is gone",
            "put it back (version control, a backup, another --state)",
            f"Only if it is lost for good: reconciler state accept-rollback -t {name}",
        )
        if lost
        else (
            f"a record of {known.length} was seen at {known.location}",
            "use that one, with --state",
            f"If you want a new one: reconciler state init -t {name} --force",
        )
    )
    raise Refused(
        what,
        where=f"{name} in {workspace.store.location}",
        remedy=f"{remedy}; a new record says that nothing exists, so all the other knows would be created again."
        f" {anew}",
    )


def _lost(workspace: Workspace, name: TargetName) -> list[Seen]:
    """What was seen here of the target's records for this service; lost where no journal is there."""
    there = seen_there(workspace.heads.seen(), name, whereabouts(workspace.store))
    return [one for one in there if one.concerns(workspace.desired.targets[name].base_url)]


def _is_sandbox(base_url: str) -> bool:
    """Whether nothing of the service outlives it: plain http is for loopback only, and many begin anew there."""
    return base_url.lower().startswith("http:")


def _begin(terminal: Terminal, workspace: Workspace, name: TargetName, force: bool) -> bool:
    """Whether a journal was begun; not where there is one."""
    at, by = now_by(workspace)
    base_url = workspace.desired.targets[name].base_url
    begun = Begun(at=at, by=by, record=uuid.uuid4().hex, target=name, base_url=base_url, forced=force)
    lost = _lost(workspace, name)
    try:
        begin_journal(workspace.store, begun, workspace.heads, f"{name}: begun", lost)
    except HeadMoved:
        workspace.read(name)  # it must hold together, or be complained of
        terminal.print_lines([Line(f"  {visible(name)}: has a record already")])
        return False
    terminal.work_is_done()
    terminal.print_lines([Line(f"  {visible(name)}: begun, for the service at {visible(base_url)}")])
    for one in lost:
        terminal.say(f"{name}: the loss of a record with {one.length} is accepted; what it held may be created again")
    return True
