"""Initializes the state record: an empty journal for each target that has none."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.errors import HeadMoved, Refused
from reconciler.model.entry import Begun
from reconciler.operations.edit import now_by
from reconciler.operations.file_locks import warn_of_host_only_locks
from reconciler.operations.workspace import whole_selection
from reconciler.state.heads.remembered import seen_at, seen_elsewhere
from reconciler.state.heads.tracking import absolute_location, begin_journal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reconciler.model.address import TargetName
    from reconciler.operations.workspace import Workspace
    from reconciler.state.heads.known_head import KnownHead


@dataclass(frozen=True, slots=True)
class Initialized:
    """A target that has a journal: whether it is `new`, and the records whose loss the new one accepts."""

    target: TargetName
    base_url: str
    new: bool
    lost: tuple[KnownHead, ...] = ()


def initialize(workspace: Workspace, patterns: tuple[str, ...], *, force: bool) -> Iterator[Initialized]:
    """Initialize the journals of the selected targets, one by one.

    Unless forced, raises Refused on a disk that does not last, and for a record that exists, or existed, elsewhere.
    """
    names = whole_selection(patterns, workspace.desired.targets)
    if workspace.in_ci and workspace.store.local and not force:
        raise Refused(
            "a CI runner's disk is lost with the job, so the next job would create everything again",
            where=workspace.store.location,
            remedy="use a persistent store with --state; or, if this disk is persistent, use --force",
        )
    if not force:
        for name in names:
            _refuse_second(workspace, name)
    warn_of_host_only_locks(workspace.notices, workspace.store)
    for name in names:
        yield _initialize(workspace, name, force=force)


def _initialize(workspace: Workspace, name: TargetName, *, force: bool) -> Initialized:
    at, by = now_by(workspace)
    base_url = workspace.desired.targets[name].base_url
    begun = Begun(at=at, by=by, record=uuid.uuid4().hex, target=name, base_url=base_url, forced=force)
    lost = _lost(workspace, name)
    try:
        begin_journal(workspace.store, begun, workspace.heads, f"{name}: initialized", lost)
    except HeadMoved:
        workspace.read(name)  # raises if it is damaged
        return Initialized(name, base_url, new=False)
    workspace.notices.work_is_done()
    return Initialized(name, base_url, new=True, lost=tuple(lost))


def _refuse_second(workspace: Workspace, name: TargetName) -> None:
    """Raises Refused if a record of the target, for this service, existed here and is missing, or exists elsewhere."""
    base_url = workspace.desired.targets[name].base_url
    lost = _lost(workspace, name)
    elsewhere = seen_elsewhere(workspace.heads.seen(), name, absolute_location(workspace.store))
    others = [] if _is_sandbox(base_url) else [seen for seen in elsewhere if seen.concerns(base_url)]
    if not (lost or others) or workspace.store.read(name) is not None:
        return
    where = f"{name} in {workspace.store.location}"
    if lost:
        raise Refused(
            f"the record with {lost[0].length} is missing",
            where=where,
            remedy="restore it (version control, a backup, another --state), or its subscriptions will be created"
            f" again. If it is lost for good, run: reconciler state accept-rollback -t {name}",
        )
    raise Refused(
        f"a record with {others[0].length} exists at {others[0].location}",
        where=where,
        remedy=f"use it with --state {others[0].location}, or its subscriptions will be created again. To initialize a"
        f" new one anyway, run: reconciler state init -t {name} --force",
    )


def _lost(workspace: Workspace, name: TargetName) -> list[KnownHead]:
    """What was seen here of the target's records for this service; lost if there is no journal."""
    known = seen_at(workspace.heads.seen(), name, absolute_location(workspace.store))
    return [seen for seen in known if seen.concerns(workspace.desired.targets[name].base_url)]


def _is_sandbox(base_url: str) -> bool:
    """Whether nothing at the service outlives it: plain http is for loopback only, and a sandbox starts empty."""
    return base_url.lower().startswith("http:")
