"""Accepts that records lost entries, or are lost."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.errors import RecordMissing
from reconciler.model.entry import Begun
from reconciler.operations.edit import now_by
from reconciler.operations.workspace import whole_selection
from reconciler.state.heads.remembered import missing_heads, seen_at, targets_seen
from reconciler.state.heads.tracking import absolute_location, append_entries, begin_journal, rollback_entries
from reconciler.state.journal.chain import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reconciler.model.address import TargetName
    from reconciler.operations.workspace import Workspace
    from reconciler.state.heads.known_head import KnownHead
    from reconciler.state.journal.chain import Journal


@dataclass(frozen=True, slots=True)
class Rollback:
    """The journal of a target as it is, if there is one, and what this machine last knew of it and it does not hold."""

    target: TargetName
    journal: Journal | None
    lost: list[KnownHead]


def rollbacks(workspace: Workspace, pattern: str) -> Iterator[Rollback]:
    """Each selected target, read when it is asked for. Raises RecordMissing for one that never had a record."""
    location, seen = absolute_location(workspace.store), workspace.heads.seen()
    known = {*workspace.store.targets(), *workspace.desired.targets, *targets_seen(seen, location)}
    for name in whole_selection((pattern,), known):
        journal = _read(workspace, name)
        lost = seen_at(seen, name, location) if journal is None else missing_heads(journal, seen, location)
        if journal is None and not lost:
            raise RecordMissing(
                f"{name} has no state record here, and never had one",
                where=workspace.store.location,
                remedy=f"to initialize it, run: reconciler state init -t {name}",
            )
        yield Rollback(name, journal, lost)


def accept(workspace: Workspace, rollback: Rollback, *, force: bool) -> None:
    """Record that the loss is accepted, in a new journal if there is none. Raises StateError."""
    name, journal, lost = rollback.target, rollback.journal, rollback.lost
    at, by = now_by(workspace)
    note = f"{name}: rollback accepted"
    if journal is not None:
        accepted = append_entries(
            workspace.store, journal, rollback_entries(lost, at, by, forced=force), workspace.heads, note
        )
        workspace.notices.work_is_done()
        workspace.heads.accept(accepted, absolute_location(workspace.store))
        return
    base_url = _service(workspace, name, lost)
    begun = Begun(at=at, by=by, record=uuid.uuid4().hex, target=name, base_url=base_url, forced=force)
    begin_journal(workspace.store, begun, workspace.heads, note, lost)
    workspace.notices.work_is_done()


def _read(workspace: Workspace, name: TargetName) -> Journal | None:
    """The journal, not checked against what was last known of it; None if there is none."""
    data = workspace.store.read(name)
    return None if data is None else parse(data, name, f"{workspace.store.location} {name}")


def _service(workspace: Workspace, name: TargetName, lost: list[KnownHead]) -> str:
    """The service for a new record: the declared one, else that of the lost record. Raises RecordMissing."""
    target = workspace.desired.targets.get(name)
    urls = [target.base_url] if target else [seen.base_url for seen in lost if seen.base_url]
    if not urls:
        raise RecordMissing(
            "the service of the lost record is unknown",
            where=name,
            remedy=f"declare the target {name} in config/ with its base_url, then run this command again",
        )
    return urls[0]
