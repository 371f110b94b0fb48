"""What must hold of a plan before it is applied, the approval among it."""

import os

from msgspec import Struct

from reconciler.errors import Refused
from reconciler.model.plan import SENDS
from reconciler.model.selection import Selection
from reconciler.operations.plan import Planned, make
from reconciler.operations.plan_file import SavedPlan
from reconciler.operations.same_service import creates_after_loss
from reconciler.operations.workspace import Workspace
from reconciler.planning.guard import refuse_too_many

_PLAN_AGAIN = "make a new plan with the same settings, review it, and approve that one"


class Approval(Struct, frozen=True):
    """What was given to approve the plan with."""

    automatic: bool
    digest: str | None
    saved: SavedPlan | None

    @property
    def given(self) -> bool:
        return self.automatic or self.digest is not None or self.saved is not None

    @property
    def selection(self) -> tuple[str, ...]:
        """The patterns that a saved plan was made for."""
        return self.saved.selection if self.saved else ()

    def refuse_other_plan(self, planned: Planned, *, whole: bool) -> None:
        """Raises Refused unless the plan is the approved one: all of it, or the targets selected now.

        An empty digest approves nothing, which is enough where there is nothing to do.
        """
        plan = planned.plan
        if self.digest == "" and planned.has_work:
            raise Refused(
                "the digest is empty, so no plan was approved",
                where="--expect-digest",
                remedy="check the step that makes the plan; use the digest that it prints, or --auto-approve to apply"
                " whatever the plan is",
            )
        if self.digest and self.digest != plan.digest:
            raise Refused(
                f"the plan has changed: its digest is now {plan.digest}",
                where=f"--expect-digest {self.digest}",
                remedy=_PLAN_AGAIN,
            )
        if self.saved is None:
            return
        digests: dict[str, str] = {name: target.digest for name, target in plan.targets.items()}
        names = sorted({*digests, *self.saved.targets} if whole else digests)
        changed = [name for name in names if digests.get(name) != self.saved.targets.get(name)]
        if changed:
            raise Refused(
                f"the saved plan is stale for {', '.join(changed)}: it was applied already, the configuration, settings"
                " or record have changed, or it was made with other -t options",
                where=self.saved.file,
                remedy=_PLAN_AGAIN,
            )


def plan_to_apply(
    workspace: Workspace,
    patterns: tuple[str, ...],
    approval: Approval,
    accepted_duplicates: tuple[str, ...],
    max_creates: int | None,
    *,
    allow_empty: bool,
    unsealed: bool,
    pinned: bool,
) -> Planned:
    """The plan as it is now, which is the one approved if approval was given.

    `unsealed` lets it store unencrypted responses on a temporary disk; `pinned` takes no service address and no
    recipient from the checkout alone. Raises what `make` does, and Refused for a plan that is not permitted.
    """
    patterns, whole = patterns or approval.selection, not patterns
    if pinned:
        from reconciler.operations.pinned import refuse_unpinned  # noqa: PLC0415 - few runs need it

        refuse_unpinned(workspace.desired, Selection.of(patterns), workspace.variables, unsealed=unsealed)
    planned = make(workspace, patterns, accepted_duplicates, allow_empty=allow_empty)
    approval.refuse_other_plan(planned, whole=whole)
    refuse_too_many(planned.plan, max_creates)
    if problem := creates_after_loss(planned.plan, planned.records, accepted_duplicates):
        raise problem
    if not unsealed:
        _refuse_unencrypted(workspace, planned)
    _refuse_behind(workspace, planned)
    return planned


def _refuse_unencrypted(workspace: Workspace, planned: Planned) -> None:
    """Raises Refused if responses, and the secrets in them, would be stored on a disk that does not last."""
    creates = any(change.action in SENDS for change in planned.plan.changes)
    if creates and not planned.desired.recipients and (workspace.in_ci or workspace.store.path is None):
        from reconciler.operations.new_project.age_key import HOW_TO_ENCRYPT  # noqa: PLC0415 - only to explain an error

        raise Refused(
            "create responses may contain secrets that the service sends only once; without `recipients`, they are"
            " stored unencrypted on this machine",
            remedy=f"to encrypt them into the record, {HOW_TO_ENCRYPT}; or accept this with --unsealed",
        )


def _refuse_behind(workspace: Workspace, planned: Planned) -> None:
    """Raises Refused if creates were planned from files that lack entries of the branch they are shared by."""
    from reconciler.state.stores.git.upstream import refuse_behind  # noqa: PLC0415 - only a plan with creates needs git

    targets = sorted({change.address.target for change in planned.plan.changes if change.action in SENDS})
    refuse_behind(workspace.store, targets, workspace.cache_directory, os.environ, workspace.notices.warn)
