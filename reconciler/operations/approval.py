"""What approves an apply: a flag, a digest, or a saved plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.errors import Refused

if TYPE_CHECKING:
    from reconciler.model.plan import Plan
    from reconciler.operations.plan_file import SavedPlan

_PLAN_AGAIN = "make a new plan with the same settings, review it, and approve that one"


@dataclass(frozen=True, slots=True)
class Approval:
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

    def refuse_other_plan(self, plan: Plan, *, whole: bool) -> None:
        """Raises Refused unless the plan is the approved one: all of it, or the targets selected now."""
        if self.digest is not None and self.digest != plan.digest:
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
