"""The verdict of a plan or a status, for the exit code of `--detailed-exitcode`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.model.record import Status
from reconciler.model.result import Verdict

if TYPE_CHECKING:
    from reconciler.model.plan import Plan, TargetPlan
    from reconciler.model.status import Status as TargetsStatus


def verdict_of_plan(plan: Plan, now: float, *, in_flight: Verdict = Verdict.UNRESOLVED) -> Verdict:
    """Return UNRESOLVED over CHANGES over DONE.

    UNRESOLVED: a create of a selected address has an unknown outcome or is overdue; one that may be in flight at `now`
    counts as `in_flight`. CHANGES: there are changes, or what is in force is not what is desired, or that is not known
    since a gate of the record is closed. A removal that is awaited is no change.
    """
    blocking = [attempt for change in plan.changes for attempt in change.blocking if attempt.blocks]
    unresolved = blocking + [attempt for attempt in plan.undeclared if attempt.blocks]
    verdicts = {in_flight if attempt.in_flight(now) else Verdict.UNRESOLVED for attempt in unresolved}
    if Verdict.UNRESOLVED in verdicts:
        return Verdict.UNRESOLVED
    unmanaged = any(attempt.status is Status.LIVE for attempt in plan.undeclared)
    differs = plan.changes or plan.gates or unmanaged or verdicts or any(map(_differs, plan.targets.values()))
    return Verdict.CHANGES if differs else Verdict.DONE


def verdict_of_status(status: TargetsStatus) -> Verdict:
    """Return what `verdict_of_plan` does for what is left to do; a create in flight is a change like others."""
    return verdict_of_plan(status.plan, status.now, in_flight=Verdict.CHANGES)


def _differs(target: TargetPlan) -> bool:
    return bool(target.surplus or target.duplicates or target.foreign)
