"""How a target stands: its record against what was heard of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from reconciler.model.plan import TargetPlan
from reconciler.model.record import Status
from reconciler.model.standing import AttemptStanding, Heard, Proof, TargetStanding
from reconciler.planning.evidence import heard_of

if TYPE_CHECKING:
    from reconciler.model.record import Attempt, Record

SILENT_AFTER = timedelta(days=30)
"""How long a route may go unheard before it counts as silent."""


def standing_of(record: Record, plan: TargetPlan, now: datetime) -> TargetStanding:
    """How the target of `record` stands at `now` (UTC), with the plan that is left for it."""
    since = (now.astimezone(UTC) - SILENT_AFTER).strftime("%Y-%m-%dT%H:%M:%SZ")
    attempts = [one for one in record.attempts.values() if one.status is not Status.GONE]
    ordered = sorted(attempts, key=lambda one: (one.address, one.since, one.id))
    return TargetStanding(record.target, tuple(_attempt(one, record, since) for one in ordered), plan)


def standing_of_undeclared(record: Record, now: datetime) -> TargetStanding:
    """How the target of `record` stands, which is not declared: there is no plan for it."""
    awaiting = [one for one in record.attempts.values() if one.status is Status.AWAITING_REMOVAL]
    plan = TargetPlan(
        name=record.target,
        digest="",
        head=record.head,
        entries=record.entries,
        changes=(),
        awaiting_removal=tuple(sorted(awaiting, key=lambda one: (one.address, one.id))),
        surplus=(),
        unchanged=0,
    )
    return replace(standing_of(record, plan, now), declared=False)


def _attempt(attempt: Attempt, record: Record, since: str) -> AttemptStanding:
    heard = heard_of(record, attempt)
    return AttemptStanding(attempt, {code: _heard(heard.get(code), since) for code in attempt.codes})


def _heard(at: str | None, since: str) -> Heard:
    if at is None:
        return Heard(Proof.NEVER_SEEN, None)
    return Heard(Proof.PROVEN if at >= since else Proof.SILENT, at)
