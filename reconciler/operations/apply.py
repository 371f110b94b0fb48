"""What must hold of a plan before it is applied."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.errors import Refused
from reconciler.model.plan import SENDS
from reconciler.operations.plan import make
from reconciler.planning.guard import refuse_too_many

if TYPE_CHECKING:
    from reconciler.operations.approval import Approval
    from reconciler.operations.plan import Planned
    from reconciler.operations.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Permissions:
    """What the user lets an apply do; `unsealed` lets it store unencrypted responses on a temporary disk."""

    approval: Approval
    max_creates: int | None
    allow_empty: bool
    unsealed: bool
    accepted_duplicates: frozenset[str]


def plan_to_apply(workspace: Workspace, patterns: tuple[str, ...], permitted: Permissions) -> Planned:
    """The plan as it is now, which is the one approved if approval was given.

    Raises what `make` does, and Refused for a plan that is not permitted.
    """
    planned = make(
        workspace,
        patterns or permitted.approval.selection,
        allow_empty=permitted.allow_empty,
        accepted_duplicates=permitted.accepted_duplicates,
    )
    permitted.approval.refuse_other_plan(planned.plan, whole=not patterns)
    refuse_too_many(planned.plan, permitted.max_creates)
    if not permitted.unsealed:
        _refuse_unencrypted(workspace, planned)
    _refuse_behind(workspace, planned)
    return planned


def _refuse_unencrypted(workspace: Workspace, planned: Planned) -> None:
    """Raises Refused if responses, and the secrets in them, would be stored on a disk that does not last."""
    creates = any(change.action in SENDS for change in planned.plan.changes)
    if creates and not planned.desired.recipients and (workspace.in_ci or not workspace.store.local):
        raise Refused(
            "create responses may contain secrets that the service sends only once; without `recipients`, they are"
            " stored unencrypted on this machine",
            remedy="to encrypt them into the record, create a key with age-keygen -o FILE and add its public key to"
            " config/ as recipients: [age1…]; or accept this with --unsealed",
        )


def _refuse_behind(workspace: Workspace, planned: Planned) -> None:
    """Raises Refused if creates were planned from files that lack entries of the branch they are shared by."""
    from reconciler.state.stores.git.upstream import refuse_behind  # noqa: PLC0415 - only a plan with creates needs git

    targets = sorted({change.address.target for change in planned.plan.changes if change.action in SENDS})
    refuse_behind(workspace.store, targets, workspace.cache_directory, os.environ, workspace.notices.warn)
