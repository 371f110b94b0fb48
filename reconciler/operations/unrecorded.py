"""Records as they are planned with: together with what this machine knows and could not append to them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING

from reconciler.errors import SettingsError, StateError
from reconciler.model.entry import Imported, Intent, Settled
from reconciler.model.record import MeaninglessEntry
from reconciler.model.unrecorded import counting
from reconciler.state.private.unrecorded import all_kept

if TYPE_CHECKING:
    from collections.abc import Container

    from reconciler.model.address import TargetName
    from reconciler.model.record import Attempt, Record
    from reconciler.operations.workspace import Workspace
    from reconciler.state.private.unrecorded import Unrecorded


def read_counted(workspace: Workspace, target: TargetName) -> Record:
    """A target's record, read afresh, as `counted` gives it. Raises StateError."""
    return counted(workspace, workspace.read(target).record())


def counted(workspace: Workspace, record: Record) -> Record:
    """The record, with the creates that only files of unrecorded entries tell of; each file is warned of once.

    Raises StateError for a file that cannot be read, and for one that tells of a create but not of which.
    """
    kept = _kept_of(workspace, record)
    try:
        found, news = counting(record, (one.entry for one in kept))
    except MeaninglessEntry as problem:
        raise _nameless(record, kept, problem.args[1]) from None
    for file in dict.fromkeys(one.file for one in kept if _attempt_of(one) in news):
        count = len({_attempt_of(one) for one in kept if one.file == file} & news)
        workspace.warn_once(
            f"{record.target}: {file} holds results of {count} create{'' if count == 1 else 's'} that are not in the"
            f" record; until they are, they count as unknown here; record them: reconciler state recover {file}"
        )
    _tell_proven(workspace, record)
    return replace(found, attempts={**found.attempts, **_with_files(found, kept, news)})


def _tell_proven(workspace: Workspace, record: Record) -> None:
    """Say of which unsettled creates a run that died has left the response here: they were created."""
    unsettled = [one for one in record.attempts.values() if one.unsettled]
    if not unsettled:
        return
    from reconciler.operations.kept_secrets import with_response  # noqa: PLC0415 - a plan pays only for what it uses

    for one in unsettled:
        with suppress(SettingsError, StateError):
            if with_response(workspace, record, one).response:
                workspace.warn_once(
                    f"{one.address}: the response to its create is kept here, so it was created; settle it:"
                    f" reconciler state resolve {one.address} --created"
                )


def _with_files(record: Record, kept: list[Unrecorded], news: Container[str]) -> dict[str, Attempt]:
    """The attempts in doubt of which files tell more than the record, each with the first of those: it begins them."""
    return {
        attempt.id: replace(attempt, kept=quote(str(one.file)))
        for one in reversed(kept)
        if (attempt := record.attempts.get(_attempt_of(one) or "")) and attempt.unsettled and attempt.id in news
    }


def _attempt_of(kept: Unrecorded) -> str | None:
    """The attempt that an entry begins or settles, None for any other entry."""
    return kept.entry.attempt if isinstance(kept.entry, Intent | Imported | Settled) else None


def _kept_of(workspace: Workspace, record: Record) -> list[Unrecorded]:
    """What is kept for a record; nothing where there is no place for it."""
    try:
        directory = workspace.data_directory
    except SettingsError:
        return []
    return [one for one in all_kept(directory) if one.record in record.ids]


def _nameless(record: Record, kept: list[Unrecorded], attempt: str) -> StateError:
    """The error for the result of a create which no entry describes."""
    file = next(one.file for one in kept if _attempt_of(one) == attempt)
    return StateError(
        f"{file} holds the result of a create (attempt {attempt}), and the record does not say what was created",
        where=record.target,
        remedy="find the newer record (version control, a backup, an artifact) and add it: reconciler state recover"
        f" NEWER.jsonl; if it is lost, ask the operator, import what exists, and move {file} to another directory",
    )
