"""The status of a target: its record with the evidence that it delivers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reconciler.model.plan import TargetPlan
from reconciler.model.record import Status
from reconciler.model.status import Evidence, ObservedAttempt, Proof, TargetStatus
from reconciler.planning.evidence import evidence_for, own_evidence_for
from reconciler.planning.exchanges import exchanges

if TYPE_CHECKING:
    from reconciler.model.address import TargetName
    from reconciler.model.record import Attempt, Record

SILENT_AFTER = timedelta(days=30)
"""How long nothing may be received of a route before it counts as silent."""

DOUBTED_FOR = timedelta(days=14)
"""How long the operator may still act on a removal request that was withdrawn."""


def status_of(record: Record, plan: TargetPlan, now: datetime) -> TargetStatus:
    """The status of the target of `record` at `now` (UTC), with the plan that is left for it."""
    since = _before(now, SILENT_AFTER)
    attempts = [attempt for attempt in record.attempts.values() if attempt.status is not Status.GONE]
    ordered = sorted(attempts, key=lambda attempt: (attempt.address, attempt.since))  # then as recorded
    observed = tuple(_observed(attempt, record, since) for attempt in ordered)
    doubted_since = _before(now, DOUBTED_FOR)
    withdrawn = tuple(attempt for attempt in ordered if _is_doubtful(attempt, record, doubted_since))
    return TargetStatus(
        record.target, observed, plan, withdrawn=withdrawn, exchanged=exchanges(record.attempts.values(), plan.changes)
    )


def doubted_until(attempt: Attempt) -> str:
    """The last day (UTC) on which it is in doubt whether a live attempt exists; "" if its journal has no such time."""
    try:
        return (datetime.fromisoformat(attempt.withdrawn) + DOUBTED_FOR).astimezone(UTC).date().isoformat()
    except (ValueError, OverflowError):  # a journal may say anything
        return ""


def _before(now: datetime, span: timedelta) -> str:
    return (now.astimezone(UTC) - span).strftime("%Y-%m-%dT%H:%M:%SZ")


def _is_doubtful(attempt: Attempt, record: Record, since: str) -> bool:
    """Whether the request to delete it was withdrawn since then, and no notification has shown since that it exists."""
    if attempt.status is not Status.LIVE or attempt.withdrawn < since:
        return False
    return all(at <= attempt.withdrawn for at in own_evidence_for(record, attempt).values())


def status_of_undeclared(record: Record, now: datetime) -> TargetStatus:
    """The status of the target of `record`, which is not declared: there is no plan for it."""
    awaiting = [attempt for attempt in record.attempts.values() if attempt.status is Status.AWAITING_REMOVAL]
    plan = TargetPlan(
        name=record.target,
        digest="",
        head=record.head,
        entries=record.entries,
        changes=(),
        awaiting_removal=tuple(sorted(awaiting, key=lambda attempt: attempt.address)),
        surplus=(),
        unchanged=0,
    )
    return replace(status_of(record, plan, now), declared=False)


def status_without_record(target: TargetName) -> TargetStatus:
    """The status of a declared target that has no record yet: nothing is known of it."""
    plan = TargetPlan(
        name=target, digest="", head="", entries=0, changes=(), awaiting_removal=(), surplus=(), unchanged=0
    )
    return TargetStatus(target, (), plan, recorded=False)


def _observed(attempt: Attempt, record: Record, since: str) -> ObservedAttempt:
    received = evidence_for(record, attempt)
    return ObservedAttempt(attempt, {code: _evidence(received.get(code), since) for code in attempt.codes})


def _evidence(at: str | None, since: str) -> Evidence:
    if at is None:
        return Evidence(Proof.NEVER_SEEN, None)
    return Evidence(Proof.PROVEN if at >= since else Proof.SILENT, at)
